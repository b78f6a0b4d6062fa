"""Removes what nodes have stored, from directories that are empty or whose own files say that they are this node's.

The file that says so is removed last, so that another try can end a wipe that was interrupted.
"""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
from typing import Any, Optional

from . import files, services, zookeeper
from .place import Place
from .trouble import Trouble

# A process that is killed while it creates a file leaves it with ".new" at the end of its name.
OURS = re.compile(
    r"(MANIFEST|MEMBER|OWNER)(\..*)?|LOCK|checkpoint-.*|spare-l.*|(log-g\d+-l\d+-s\d+\.glog|ring-\d+)(\.new)?"
)
RUN_FILES = re.compile(r"node-\d+\.(sock|lock)|recovery|membership")
DEFAULT_RINGS = "/dev/shm"


def wipe(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Removes the data of nodes. Returns for each node what was removed, and what was left and why."""
    place.require()
    for name, found in services.all_of(place).items():
        if name.startswith("node-") and services.goes_on(found):
            does = f"runs, process {found['pid']}" if found["pid"] else "is about to begin again"
            raise Trouble(f"{name} {does}: stop the cluster first")
    with contextlib.ExitStack() as locks:  # all nodes' locks are taken before any data is removed
        for node in arguments["nodes"]:
            _lock(place.cluster, node, locks)
        return {f"node-{node['id']}": _wipe_node(place, node) for node in arguments["nodes"]}


def _lock(cluster: str, node: "dict[str, Any]", locks: contextlib.ExitStack) -> None:
    """Takes the lock that each process takes to open the node's data, and keeps it until `locks` are closed. No
    supervisor knows of a node that was started by hand, but the lock does.
    """
    path = pathlib.Path(node["data_directory"])
    if not node["data_directory"] or _why_not(path, "MEMBER", f"node {node['id']} of {cluster}") != "":
        return
    try:
        lock = os.open(path / "LOCK", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EISDIR, errno.ENXIO):  # without a file nobody holds it
            return
        raise
    locks.callback(os.close, lock)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Trouble(f"'{path}' is open: a process that this cluster's supervisor does not know has it; stop it first; "
                      "nothing was removed") from None


def wipe_zookeeper(place: Place) -> "dict[str, Any]":
    """Ends the ZooKeeper servers that deploy set up, and removes what they know, so that the cluster is a new one."""
    removed = []
    for server in place.deployed().get("zookeepers", []):
        stopped = services.stop(place, {"services": [server["name"]]})[server["name"]]
        if not stopped["ended"]:
            raise Trouble(f"{server['name']}: {stopped['what']}; what it has stored stays")
        path = zookeeper.directory(place, server["name"]) / "data" / "version-2"
        if path.is_dir():
            files.remove_tree(path)
            removed.append(str(path))
    return {"removed": removed}


def wipe_run_directory(directory: str, cluster: str) -> "list[str]":
    """Removes the sockets, the locks and the local membership of a cluster, of which no node may run."""
    path = pathlib.Path(directory)
    if not path.is_dir() or not _is_membership_of(path / "membership", cluster):
        return []
    for each in sorted(path.iterdir()):
        if RUN_FILES.fullmatch(each.name):
            files.remove_tree(each)
    return [str(path) if files.remove_empty(path) else f"what nodes left in {path}"]


def _is_membership_of(path: pathlib.Path, cluster: str) -> bool:
    """Tells whether all configurations in this directory, if there are any, are of this cluster."""
    if not path.exists():
        return True
    configurations = [files.read_json(each) for each in path.glob("configuration.*")]
    ours = (isinstance(each, dict) and each.get("cluster") == cluster for each in configurations)
    return not path.is_symlink() and all(ours)


def _wipe_node(place: Place, node: "dict[str, Any]") -> "dict[str, Any]":
    done: "dict[str, Any]" = {"removed": [], "left": []}
    data = node["data_directory"]
    if not data:
        return done
    real = os.path.realpath(data)
    user = (os.stat(real) if os.path.isdir(real) else place.directory.stat()).st_uid
    for directory in node["log_directories"]:
        _empty(pathlib.Path(directory), "OWNER", f"directory {real}", done)
    _wipe_rings(pathlib.Path(node["reliable_directory"] or DEFAULT_RINGS), real, user, done)
    _empty(pathlib.Path(data), "MEMBER", f"node {node['id']} of {place.cluster}", done)
    return done


def _wipe_rings(directory: pathlib.Path, data: str, user: int, done: "dict[str, Any]") -> None:
    """Removes the rings of these data. Every user may make directories in /dev/shm, so only those of the data's owner
    and our own are believed. The others stay, and are named.
    """
    for each in sorted(directory.glob("granary-*")):
        if each.is_symlink() or not _says(each / "OWNER", f"directory {data}"):
            continue
        owner = each.stat().st_uid
        if owner in (user, os.geteuid()):
            _empty(each, "OWNER", f"directory {data}", done)
        else:
            done["left"].append(f"'{each}' is left: it belongs to user {owner}, and the data to user {user}")


def _says(path: pathlib.Path, line: str) -> bool:
    try:
        return line in path.read_text(errors="replace").splitlines()
    except OSError:
        return False


def _empty(path: pathlib.Path, word: str, line: str, done: "dict[str, Any]") -> None:
    """Removes our files from a directory if it is empty or its file `word` has this line, and then the directory, if
    nothing else is in it.
    """
    why = _why_not(path, word, line)
    if why == "":
        for each in sorted(path.iterdir(), key=lambda entry: (entry.name == word, entry.name == "LOCK")):
            if OURS.fullmatch(each.name):
                files.remove_tree(each)
    elif why is not None:
        done["left"].append(why)
        return
    else:
        return
    if files.remove_empty(path):
        done["removed"].append(str(path))
    else:
        others = ", ".join(sorted(each.name for each in path.iterdir())[:5])
        done["left"].append(f"'{path}' also has what is not ours: {others}")


def _why_not(path: pathlib.Path, word: str, line: str) -> Optional[str]:
    """Returns "" if the directory may be emptied, None if there is nothing to do, and otherwise why it must stay."""
    if not path.is_dir():
        return None
    if not any(path.iterdir()) or _says(path / word, line):
        return ""
    return f"'{path}' is left: it has no {word} with '{line}', so it may be somebody else's"
