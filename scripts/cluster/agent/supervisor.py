"""Keeps one process running: `python3 -m agent.supervisor DIRECTORY`, where DIRECTORY/job.json says which.

It starts the command, writes its output to a log, starts it again after growing pauses when it ends unexpectedly, and
ends it in order on SIGTERM. state.json tells how that goes. A lock on supervisor.lock lets a directory have one
supervisor at a time.
"""

import fcntl
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any, Optional

from . import files, processes
from .rotating_log import RotatingLog

LONGEST_PAUSE_S = 16
RAN_LONG_S = 60  # once a process has run so long, failures are counted anew


def raise_limits() -> None:
    """Raises the limits of locked memory, for RDMA and huge regions, and of open files as far as the system lets us."""
    for limit, wanted in ((resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY), (resource.RLIMIT_NOFILE, 65536)):
        hard = resource.getrlimit(limit)[1]
        try:
            resource.setrlimit(limit, (wanted, wanted))
        except (ValueError, OSError):
            resource.setrlimit(limit, (hard, hard))


def become_owner_of(directory: pathlib.Path) -> None:
    """Gives up root's rights for those of the user to whom the cluster's files belong: a cluster.sh of an earlier
    release starts supervisors as root. This release starts them as that user.
    """
    owner = directory.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.setgroups([])
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)


def describe_end(code: int) -> str:
    """Returns the end in words, such as "exit code 3" or "SIGKILL"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


class Supervisor:
    """Does one job, as services.job() has it. Its `serves` and `serves_not` are patterns of lines that the process
    prints.
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.job: "dict[str, Any]" = files.read_json(directory / "job.json")
        self.log = RotatingLog(directory / "log", self.job["log_bytes"], self.job["log_files"])
        self.process: Optional[subprocess.Popen] = None
        self.told_to_end = False
        self.failures = 0
        self.state: "dict[str, Any]" = {"supervisor": processes.identity(os.getpid()), "restarts": 0}
        self.wakeups, writer = socket.socketpair()
        for end in (self.wakeups, writer):
            end.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self.writer = writer
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._told_to_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Runs one life of the process after the other, until the job is over."""
        while self._live():
            pass

    def _told_to_end(self, *_: Any) -> None:
        self.told_to_end = True

    def _note(self, **changes: Any) -> None:
        self.state.update(changes, at=time.time())
        try:
            files.write_json(self.directory / "state.json", self.state)
        except OSError as error:
            self.log.write(f"supervisor: state.json cannot be written: {error}")

    def _live(self) -> bool:
        """Runs one life of the process. Returns whether there is to be another."""
        began = time.monotonic()
        try:
            self.process = subprocess.Popen(self.job["command"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, cwd=self.job["directory"], start_new_session=True)
        except OSError as error:
            self.log.write(f"supervisor: {self.job['command'][0]} cannot be started: {error}")
            self._note(state="failed", process=None, serves=False, why=f"cannot be started: {error}")
            return False
        self.log.write(f"supervisor: process {self.process.pid} begins: {' '.join(self.job['command'])}")
        self._note(state="running", process=processes.identity(self.process.pid), serves=False, why="",
                   since=time.time())
        killed = self._watch()
        code = self.process.wait()
        self.log.end_line()
        self.log.write(f"supervisor: process {self.process.pid} has ended: {describe_end(code)}")
        if time.monotonic() - began >= RAN_LONG_S:
            self.failures = 0
        return self._decide(code, killed)

    def _watch(self) -> bool:
        """Passes output to the log until the process has ended. Returns whether it had to be killed."""
        output = self.process.stdout
        os.set_blocking(output.fileno(), False)
        deadline, killed, open_ = None, False, True
        while self.process.poll() is None:
            if self.told_to_end and deadline is None:
                self._note(state="ending", serves=False)
                self.process.terminate()
                deadline = time.monotonic() + self.job["stop_s"]
            if deadline is not None and not killed and time.monotonic() >= deadline:
                self.log.write(f"supervisor: process {self.process.pid} has not ended within {self.job['stop_s']} s: "
                               "SIGKILL")
                self.process.kill()
                killed = True
            open_ = self._wait(output if open_ else None, 1.0) and open_
        while open_ and self._wait(output, 0.0):
            if not select.select([output], [], [], 0.0)[0]:
                break
        output.close()
        return killed

    def _wait(self, output: Any, seconds: float) -> bool:
        """Waits for output or a signal. Returns False once the output has ended."""
        ready, _, _ = select.select([self.wakeups] + ([output] if output else []), [], [], seconds)
        if self.wakeups in ready:
            self.wakeups.recv(4096)
        if output in ready:
            data = os.read(output.fileno(), 65536)
            for line in self.log.feed(data):
                self._look(line)
            return bool(data)
        return True

    def _look(self, line: str) -> None:
        """Notes whether the node serves, which its own words tell."""
        if self.told_to_end:
            return
        if self.job["serves"] and re.search(self.job["serves"], line):
            self._note(serves=True, served_since=time.time())
        elif self.job["serves_not"] and re.search(self.job["serves_not"], line):
            self._note(serves=False)

    def _decide(self, code: int, killed: bool) -> bool:
        end = describe_end(code)
        self._note(process=None, serves=False, last_end=end)
        if self.told_to_end:
            self._note(state="ended", why=f"killed after {self.job['stop_s']} s" if killed else f"told to, {end}")
            return False
        if code == 0:
            self._note(state="ended", why="it ended by itself, exit code 0")
            return False
        if code in self.job["final_codes"]:
            self._note(state="failed", why=f"{end}: somebody has to look at its log")
            return False
        self.failures += 1
        if self.failures > self.job["tries"]:
            self._note(state="failed", why=f"{end}, after {self.job['tries']} tries")
            return False
        return self._pause(end)

    def _pause(self, end: str) -> bool:
        seconds = min(2 ** (self.failures - 1), LONGEST_PAUSE_S)
        tries = f"try {self.failures} of {self.job['tries']}"
        self._note(state="pausing", why=f"{end}; begins again in {seconds} s, {tries}")
        until = time.monotonic() + seconds
        while not self.told_to_end and (left := until - time.monotonic()) > 0:
            self._wait(None, left)
        if self.told_to_end:
            self._note(state="ended", why=f"told to, after {end}")
            return False
        self._note(restarts=self.state["restarts"] + 1)
        return True


def main(directory: str) -> int:
    path = pathlib.Path(directory)
    raise_limits()
    become_owner_of(path)
    lock = os.open(path / "supervisor.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another supervisor has '{directory}'", file=sys.stderr)
        return 3
    Supervisor(path).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
