"""Knows processes by number, start time and boot, so that it does not signal another process that has the number now.
"""

import os
import signal
import time
from typing import Any, Optional

TICKS = os.sysconf("SC_CLK_TCK")


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
        return file.read().strip()


def start_ticks(pid: int) -> Optional[int]:
    """Returns when the process began, in ticks since boot; None if there is none, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def identity(pid: int) -> "dict[str, Any]":
    """Returns what is written down of a process, in order to know it again."""
    return {"pid": pid, "ticks": start_ticks(pid), "boot": boot_id()}


def lives(who: "Optional[dict[str, Any]]") -> bool:
    """Tells whether the process that was written down still runs."""
    if not who or who.get("ticks") is None or who.get("boot") != boot_id():
        return False
    return start_ticks(who["pid"]) == who["ticks"]


def send(who: "dict[str, Any]", number: signal.Signals) -> bool:
    """Signals exactly this process. Returns whether it ran."""
    try:
        handle = os.pidfd_open(who["pid"])
    except ProcessLookupError:
        return False
    try:
        if not lives(who):  # the handle is there already, and stays this process's
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


def await_end(who: "dict[str, Any]", seconds: float) -> bool:
    """Waits until the process has ended, but no longer than this time. Returns whether it has."""
    until = time.monotonic() + seconds
    while lives(who):
        if time.monotonic() >= until:
            return False
        time.sleep(0.02)
    return True


def up_since(who: "dict[str, Any]") -> float:
    """Returns when the process began, in seconds of the epoch."""
    with open("/proc/uptime", encoding="utf-8") as file:
        booted = time.time() - float(file.read().split()[0])
    return booted + who["ticks"] / TICKS


def program_of(pid: int) -> str:
    """Returns the file that the process runs; empty if that cannot be told."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return ""
