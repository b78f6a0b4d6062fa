"""Runs nodes as instances of granary@.service, where systemd runs the host. own.py has the same functions."""

import os
import pathlib
import pwd
import re
import subprocess
import time
from typing import Any

from . import files, journal, processes, supervisor
from .place import Place
from .trouble import Trouble

NAME = "systemd"
UNIT = "granary@.service"
STOP_S = 30  # how long systemd waits for the end of a node that it has told to end
LATE_S = 10  # the journal may still get lines of a younger life, and has not forgotten them

UNIT_TEXT = """\
# Written by scripts/cluster.sh deploy: cluster {cluster}, installed in {directory}
[Unit]
Description=Granary cluster {cluster}, node %i
Documentation=file:{directory}/current/share/doc/granary/docs/operations.md
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={directory}/current/bin/{program} --cluster={directory}/cluster.toml --id=%i
WorkingDirectory={directory}
{user}{run}Restart=on-failure
RestartForceExitStatus=6
# Wrong usage, damaged data, a disk fault: somebody has to look.
RestartPreventExitStatus=2 4 5
RestartSec=2
TimeoutStopSec={stop_s}
LimitMEMLOCK=infinity
LimitNOFILE=65536
OOMScoreAdjust=-500

[Install]
WantedBy=multi-user.target
"""


def is_here() -> bool:
    """Tells whether systemd runs this host, and we may give it units."""
    return os.path.isdir("/run/systemd/system") and os.geteuid() == 0


def unit_path() -> pathlib.Path:
    """Returns the unit's path. Tests name the directory in GRANARY_UNIT_DIRECTORY."""
    return pathlib.Path(os.environ.get("GRANARY_UNIT_DIRECTORY", "/etc/systemd/system")) / UNIT


def refuse_others(place: Place) -> None:
    """Refuses a place that a unit cannot name, and a unit of somebody else, which would be replaced."""
    if not re.fullmatch(r"[\w/.+@:,=~-]+", str(place.directory)):
        raise Trouble(f"install_directory '{place.directory}' cannot be written into a unit of systemd: name one of "
                      "letters, digits and /._+-, or say --supervisor=own", 2)
    path = unit_path()
    if path.exists() and f"installed in {place.directory}\n" not in path.read_text():
        raise Trouble(f"'{path}' is not of cluster '{place.cluster}'; a host has one cluster by systemd, others by "
                      "--supervisor=own")


def unit_text(place: Place, program: str, run_directory: str) -> str:
    owner = place.directory.stat().st_uid
    user = f"User={pwd.getpwuid(owner).pw_name}\n" if owner != 0 else ""
    return UNIT_TEXT.format(cluster=place.cluster, directory=place.directory, user=user,
                            stop_s=STOP_S, run=_makes_run_directory(run_directory) if user else "",
                            program=program or "granary node")


def _makes_run_directory(path: str) -> str:
    """Returns the lines by which systemd makes the directory for the nodes' user if it is below /run: all is gone there
    once the host was started again, and only root may make it. It stays when a node ends, since all nodes share it.
    """
    match = re.fullmatch(r"(?:/var)?/run/((?!user/)[\w./+-]+)", path)
    if match is None:
        return ""
    return f"RuntimeDirectory={match[1]}\nRuntimeDirectoryMode=0700\nRuntimeDirectoryPreserve=yes\n"


def install(place: Place, nodes: "list[int]", program: str, run_directory: str) -> bool:
    """Puts the unit into place, and enables the nodes at boot. Returns whether the unit has changed."""
    path = unit_path()
    changed = files.write(path, unit_text(place, program, run_directory))
    if changed:
        call("daemon-reload")
    call("enable", "--quiet", *(instance(f"node-{node}") for node in nodes))
    return changed


def remove(place: Place, nodes: "list[int]") -> bool:
    """Takes the unit away if it is this cluster's. Returns whether it was."""
    path = unit_path()
    if not path.exists() or f"installed in {place.directory}\n" not in path.read_text():
        return False
    call("disable", "--quiet", *(instance(f"node-{node}") for node in nodes))
    path.unlink()
    call("daemon-reload")
    return True


def end_former(place: Place, nodes: "list[int]") -> "list[str]":
    """Ends instances of our unit that are none of these nodes, as the cluster file no longer has them, and lets them
    not begin at boot. It asks systemd which there are, since deployed.json of earlier releases has forgotten them.
    Returns the names of the services.
    """
    path = unit_path()
    if not path.exists() or f"installed in {place.directory}\n" not in path.read_text():
        return []
    listed = call("list-units", "--all", "--plain", "--no-legend", "--full", instance("*"))
    enabled = [each.name for each in path.parent.glob(f"*.wants/{instance('*')}")]
    found = set(re.findall(r"^\W*(granary@\d+\.service)", listed, re.MULTILINE)) | set(enabled)
    former = sorted(found - {instance(f"node-{node}") for node in nodes})
    names = [f"node-{each.removeprefix('granary@').removesuffix('.service')}" for each in former]
    if former:
        call("stop", *former)
        for name in names:
            _forget_failure(place, name)  # otherwise those that had failed would be listed again
        call("disable", "--quiet", *former)
    return names


def call(*words: str) -> str:
    done = subprocess.run(["systemctl", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Trouble(f"systemctl {' '.join(words)}: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return done.stdout


def instance(name: str) -> str:
    return f"granary@{name.removeprefix('node-')}.service"


def start(place: Place, name: str, _job: "dict[str, Any]") -> str:
    if status(place, name)["pid"]:
        return "runs already"
    _forget_failure(place, name)
    call("start", "--no-block", instance(name))
    return "started"


def _forget_failure(place: Place, name: str) -> None:
    """Lets systemd forget that a node has failed. It refuses that for a unit that is not loaded: an instance that is
    neither enabled nor running, and has not failed.
    """
    if status(place, name)["state"] == "failed":
        call("reset-failed", instance(name))


def stop(place: Place, name: str) -> "tuple[str, bool]":
    found = status(place, name)
    if found["state"] in ("ended", "never started"):
        return "did not run", True
    call("stop", instance(name))
    return _end_of(name) if found["pid"] else ("ended", True)


def _end_of(name: str) -> "tuple[str, bool]":
    """Returns how the node's process has ended, and whether that was in order."""
    said = _show(name, "Result", "ExecMainCode", "ExecMainStatus")
    if said.get("Result") == "timeout":
        return f"killed after {STOP_S} s", False
    number = int(said.get("ExecMainStatus") or 0)
    killed = said.get("ExecMainCode") in ("2", "3")  # CLD_KILLED and CLD_DUMPED: the status is the signal's number
    return f"ended, {supervisor.describe_end(-number if killed else number)}", number == 0


def _show(name: str, *properties: str) -> "dict[str, str]":
    shown = call("show", instance(name), f"--property={','.join(properties)}")
    return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)


def kill(place: Place, name: str) -> str:
    if not status(place, name)["pid"]:
        raise Trouble(f"{name} does not run")
    call("kill", "--signal=KILL", "--kill-who=main", instance(name))
    return "killed; systemd starts it again"


STATES = {"active": "running", "activating": "pausing", "deactivating": "ending", "failed": "failed",
          "inactive": "ended"}


def status(place: Place, name: str) -> "dict[str, Any]":
    """Returns what systemd knows of a node. `serves` is None if systemd and the journal cannot tell."""
    said = _show(name, "ActiveState", "SubState", "MainPID", "NRestarts", "ExecMainStatus", "InvocationID", "Job")
    pid = int(said.get("MainPID") or 0)
    who = processes.identity(pid) if pid else None
    runs = processes.lives(who)
    state = STATES.get(said.get("ActiveState", ""), said.get("ActiveState", "unknown"))
    since = processes.up_since(who) if runs else None
    serves, served_since = journal.look(said.get("InvocationID", "")) if runs else (False, None)
    if serves is None and time.time() - since < LATE_S:
        serves = False
    why = "" if state == "running" else f"{said.get('SubState')}, exit code {said.get('ExecMainStatus')}"
    if state in ("ended", "failed") and int(said.get("Job") or 0):  # `start` does not wait for systemd's job
        state, why = "pausing", "systemd has yet to start it"
    return {"supervisor": "runs", "state": state, "pid": pid or None,
            "since": since,
            "version": place.version_of(processes.program_of(pid)) if runs else None,
            "restarts": int(said.get("NRestarts") or 0), "why": why, "serves": serves,
            "served_since": served_since}
