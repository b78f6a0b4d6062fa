"""Gathers what somebody needs who looks into trouble: logs, states, versions, verdicts of `granary log verify`."""

import io
import json
import os
import pathlib
import platform
import subprocess
import tarfile
import tempfile
import threading
from typing import Any, Optional

from . import channel, handed_out, logs, services, systemd
from .place import Place

VERIFY_S = 300
NOT_VERIFIED = """\
Not verified, since the node has not ended in order. `granary log verify` locks its directory, so that meanwhile the node
could not begin again, and no other node could recover it. 'collect --verify' does it all the same.
"""
EMPTY = "There is no database in its data directory: no node has written to it.\n"


def collect(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Sends a tar archive without the cluster key and passwords. Returns in which nodes' data damage was found, and
    which could not be verified.
    """
    deployed = place.require()
    result: "dict[str, list[str]]" = {"failed": [], "unverified": []}
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            tar.add(place.file, arcname="cluster.toml")
            _add_text(tar, "deployed.json", json.dumps(handed_out.without(deployed), indent=1))
            _add_text(tar, "host.json", json.dumps(_host(place), indent=1))
            states = services.all_of(place)
            for name, found in states.items():
                _add_text(tar, f"{name}/status.json", json.dumps(found, indent=1))
                _add_logs(tar, place, name)
            for node in arguments["nodes"] if arguments["verify"] != "none" else []:
                name, directory = f"node-{node['id']}", node["data_directory"]
                if not directory or not os.path.isdir(directory):
                    continue
                if _is_empty(directory):
                    _add_text(tar, f"{name}/log-verify", EMPTY)
                elif arguments["verify"] == "all" or _has_left(states.get(name)):
                    _add_verdict(tar, place, node, result)
                else:
                    _add_text(tar, f"{name}/log-verify", NOT_VERIFIED)
        archive.seek(0)
        channel.send_file(archive)
    return result


def _has_left(found: "Optional[dict[str, Any]]") -> bool:
    """Tells whether the node has ended in order, so that nobody is about to start or to recover it."""
    return bool(found and not found["pid"] and found["state"] == "ended" and found["why"].endswith("exit code 0"))


def _is_empty(directory: str) -> bool:
    """Tells whether no node has written there. A database whose MANIFEST is lost is not empty, but damaged."""
    try:
        return not any(name.startswith(("MANIFEST", "checkpoint-", "log-")) for name in os.listdir(directory))
    except OSError:  # `granary log verify` tells why it cannot be read
        return False


def _host(place: Place) -> "dict[str, Any]":
    return {"name": platform.node(), "system": platform.platform(), "python": platform.python_version(),
            "cpus": os.cpu_count(),
            "load": os.getloadavg(), "granary": _said(place, ["--version"], 30)[1].strip(),
            "rings": _said(place, ["rings"], 30)[1],
            "check": _said(place, ["cluster", "check", str(place.file)], 60)[1]}


def _said(place: Place, words: "list[str]", patience_s: float) -> "tuple[int, str]":
    """Returns the program's exit code and all that it said. It ends when the caller does, since it may lock what a node
    needs.
    """
    try:
        process = subprocess.Popen([str(place.program()), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", **place.run_as())
    except OSError as error:
        return -1, str(error)
    threading.Thread(target=logs.end_with_caller, args=(process,), daemon=True).start()
    try:
        said, _ = process.communicate(timeout=patience_s)
        return process.returncode, said
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return -1, f"timed out after {patience_s} s"


def _add_text(tar: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o644
    tar.addfile(info, io.BytesIO(data))


def _add_logs(tar: tarfile.TarFile, place: Place, name: str) -> None:
    if services.backend(place, name) is systemd:
        done = subprocess.run(["journalctl", f"--unit={systemd.instance(name)}", "--output=short-iso-precise",
                               "--no-pager", "--lines=200000"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        _add_text(tar, f"{name}/log", done.stdout)
        return
    for path in sorted(pathlib.Path(place.service(name)).glob("*")):
        if path.name.startswith("log") or path.name in ("state.json", "job.json", "supervisor.out"):
            data = path.read_bytes()  # one read gives a size and bytes that agree, though the log grows
            info = tarfile.TarInfo(f"{name}/{path.name}")
            info.size, info.mtime = len(data), int(path.stat().st_mtime)
            tar.addfile(info, io.BytesIO(data))


def _add_verdict(tar: tarfile.TarFile, place: Place, node: "dict[str, Any]", result: "dict[str, list[str]]") -> None:
    channel.mention(f"verifies the log of node {node['id']}")
    code, text = _said(place, ["log", "verify", node["data_directory"]], VERIFY_S)
    _add_text(tar, f"node-{node['id']}/log-verify", f"{text}\nexit code {code}\n")
    if code == 4:
        result["failed"].append(f"node-{node['id']}: `granary log verify` finds damage")
    elif code != 0:
        why = (text.strip().splitlines() or [f"exit code {code}"])[-1]
        result["unverified"].append(f"node-{node['id']}: not verified: {why}")
