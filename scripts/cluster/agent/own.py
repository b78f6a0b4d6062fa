"""Runs services under supervisors of our own, on hosts without systemd. systemd.py has the same functions."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

from . import files, processes
from .place import Place
from .trouble import Trouble

SUPERVISOR_GRACE_S = 5
NAME = "own"
UNKNOWN_END = ("its supervisor could not note how, as state.json beside its log could not be written. Is the disk full? "
               "The log may tell more")


def start(place: Place, name: str, job: "dict[str, Any]") -> str:
    """Starts a service and returns what happened. It does not wait until the service serves."""
    directory = place.service(name)
    found = status(place, name)
    if found["supervisor"] == "runs":
        if found["state"] == "ending":
            raise Trouble(f"{name} is being ended; wait until it has")
        return "runs already"
    if found["pid"]:
        return "runs already, without a supervisor: 'restart' gives it one"
    files.make_directory(directory, 0o755, place.directory)  # the folder above may be root's for a moment
    files.write_json(directory / "job.json", job)
    process = _begin_supervisor(place, directory)
    until = time.monotonic() + 10
    while not _has_begun(directory, process.pid):
        if process.poll() is not None or time.monotonic() > until:
            said = (directory / "supervisor.out").read_text(errors="replace").strip()
            raise Trouble(f"the supervisor of {name} does not begin: "
                          f"{said.splitlines()[-1] if said else 'it says nothing'}")
        time.sleep(0.01)
    return "started"


def _begin_supervisor(place: Place, directory: pathlib.Path) -> subprocess.Popen:
    """Starts the supervisor with the rights of the directory's owner from its first instruction on, since it loads
    Python modules from there, and the owner decides which. Our limits are raised already (main.py), while we may still
    do that; the supervisor inherits them.
    """
    handle = os.open(directory / "supervisor.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "wb") as output:
        command = [_python(place), "-B", "-m", "agent.supervisor", str(directory)]
        return subprocess.Popen(command, cwd=place.directory, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                start_new_session=True, umask=0o022, env=os.environ | {"PYTHONPATH": str(place.directory)},
                                **place.run_as())


def _python(place: Place) -> str:
    """Returns the interpreter that runs us, or the system's where the directory's owner may not run ours, as below
    /root.
    """
    try:
        subprocess.run([sys.executable, "-I", "-c", ""], check=True, cwd="/", capture_output=True, **place.run_as())
        return sys.executable
    except (OSError, subprocess.CalledProcessError):
        return shutil.which("python3", path=os.defpath) or sys.executable


def _has_begun(directory: pathlib.Path, pid: int) -> bool:
    state = files.read_json(directory / "state.json") or {}
    return state.get("supervisor", {}).get("pid") == pid


def stop(place: Place, name: str) -> "tuple[str, bool]":
    """Ends a service in order, and then its supervisor. Returns what happened, and False if it did not end in order."""
    state = files.read_json(place.service(name) / "state.json") or {}
    job = files.read_json(place.service(name) / "job.json") or {"stop_s": 30}
    keeper, process = state.get("supervisor"), state.get("process")
    if processes.lives(keeper):
        processes.send(keeper, signal.SIGTERM)
        if not processes.await_end(keeper, job["stop_s"] + SUPERVISOR_GRACE_S):
            raise Trouble(f"{name}: its supervisor, process {keeper['pid']}, does not end")
        state = files.read_json(place.service(name) / "state.json") or {}
        if state.get("state") not in ("ended", "failed"):
            raise Trouble(f"{name} has ended, but {UNKNOWN_END}")
        why = state.get("why") or "ended"
        return why, _is_in_order(name, why)
    if processes.lives(process):
        processes.send(process, signal.SIGTERM)
        if processes.await_end(process, job["stop_s"]):
            why, in_order = "ended, without a supervisor", True
        else:
            processes.send(process, signal.SIGKILL)
            processes.await_end(process, SUPERVISOR_GRACE_S)
            why, in_order = f"killed after {job['stop_s']} s, without a supervisor", False
        files.write_json(place.service(name) / "state.json", state | {"state": "ended", "process": None, "why": why})
        return why, in_order
    return "did not run", True


def _is_in_order(name: str, why: str) -> bool:
    """Tells whether the words of a supervisor are about an end in order. The JVM of a ZooKeeper server has no other end
    than by the signal. A service that waited to begin again did not run.
    """
    good = ("exit code 0", "exit code 143", "SIGTERM") if name.startswith("zookeeper-") else ("exit code 0",)
    return why.startswith("told to, after ") or why.endswith(good)


def kill(place: Place, name: str) -> str:
    """Sends SIGKILL to the service's process, which ends it like a crash. A supervisor that lives starts it again."""
    state = files.read_json(place.service(name) / "state.json") or {}
    process = state.get("process")
    if not processes.lives(process) or not processes.send(process, signal.SIGKILL):
        raise Trouble(f"{name} does not run")
    again = "its supervisor starts it again" if processes.lives(state.get("supervisor")) else "nobody starts it again"
    return f"process {process['pid']} killed; {again}"


def status(place: Place, name: str) -> "dict[str, Any]":
    """Returns what is known of a service without asking it."""
    directory = place.service(name)
    state = files.read_json(directory / "state.json") or {}
    process = state.get("process")
    runs = processes.lives(process)
    supervised = processes.lives(state.get("supervisor"))
    found = {"supervisor": "runs" if supervised else "gone" if runs else "none",
             "state": state.get("state", "never started"),
             "pid": process["pid"] if runs else None, "since": processes.up_since(process) if runs else None,
             "version": place.version_of(processes.program_of(process["pid"])) if runs else None,
             "restarts": state.get("restarts", 0), "why": state.get("why", ""),
             "serves": bool(runs and state.get("serves")),
             "served_since": state.get("served_since") if runs and state.get("serves") else None}
    if runs and not supervised:
        found["state"] = "running"
    elif not runs and not supervised and found["state"] in ("running", "pausing", "ending"):
        found.update(state="dead", why="ended, its supervisor, too: the host was started again, or both were killed, or "
                     "how it ended could not be noted (is the disk full?)")
    return found
