"""Describes this machine, as far as figures depend on it."""

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

from .needs import Needs


@dataclass(frozen=True)
class Machine:
    cores: int  # the number that this process may use
    memory_gib: float
    cpu: str
    rtm: bool
    kernel: str
    id: str = ""  # a digest of what tells machines of one kind apart; "" where there is no such thing

    @property
    def name(self) -> str:
        """Returns what tells this machine from others, so that results of another one are not taken for its own."""
        known = f"{self.cpu} with {self.cores} cores, {self.memory_gib:.1f} GiB, {self.kernel}"
        return f"{known}, machine {self.id}" if self.id else known

    @property
    def text(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.memory_gib:.0f} GiB, {self.kernel}"


def this_machine() -> Machine:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    facts = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in lines}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Machine(len(os.sched_getaffinity(0)), memory, facts.get("model name", platform.machine()),
                   "rtm" in facts.get("flags", "").split(), f"{platform.system()} {platform.release()}", _machine_id())


def _machine_id() -> str:
    """Returns a digest of /etc/machine-id, which itself is not to be shown to others."""
    try:
        found = Path("/etc/machine-id").read_bytes().strip()
    except OSError:
        return ""
    return hashlib.sha256(b"granary figure " + found).hexdigest()[:8] if found else ""


def unmet(needs: Needs, machine: Machine) -> str:
    """Returns what the machine lacks, as "needs ..."; "" if it lacks nothing."""
    lacking = []
    if needs.cores > machine.cores:
        lacking.append(f">= {needs.cores} cores")
    if needs.memory_gib > machine.memory_gib:
        lacking.append(f">= {needs.memory_gib:g} GiB of memory")
    if needs.nodes > 1:
        lacking.append(f">= {needs.nodes} hosts")
    if needs.rtm and not machine.rtm:
        lacking.append("Intel RTM")
    if needs.rdma:
        lacking.append("nodes over RDMA devices")
    if needs.peer:
        lacking.append(f"results of {needs.peer} from this machine, which are compared by granary figure compare")
    return f"needs {' and '.join(lacking)}" if lacking else ""
