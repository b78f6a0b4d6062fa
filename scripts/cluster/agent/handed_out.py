"""Keeps account of the secrets that deploy puts onto a host. A file that was there before, or that was changed since,
is not ours.

deployed.json has the paths of those that are ours, each with a mark by which we know the file that we made. So has
handed_out.json while a deploy is under way, or once it was interrupted.
"""

import pathlib
from typing import Any

from . import files
from .place import Place
from .trouble import Trouble

KEY = "handed_out"  # deployed.json has them under this key
CLUSTER_KEY = "cluster key"  # what the caller calls it


def refuse_others(place: Place, secrets: "list[dict[str, str]]") -> None:
    """Refuses to replace a file that deploy did not put there, since it may be the key of another cluster."""
    for secret in secrets:
        path = pathlib.Path(secret["path"])
        if not path.exists() or _is_ours(place, path):
            continue
        if not path.is_file() or path.read_bytes() != secret["text"].encode():
            raise Trouble(f"the {secret['what']} '{path}' is there already, with another content, and deploy did not "
                          "put it there, or somebody has changed it since: see whose it is, and remove it there, or "
                          "name another path in the cluster file")


def put(place: Place, secrets: "list[dict[str, str]]") -> "tuple[list[str], dict[str, Any]]":
    """Writes the secrets. Returns what was done, and the marks of the secrets that are ours from now on."""
    before = map(pathlib.Path, _known(place))
    done, known = [], {str(path): _mark(path) for path in before if _is_ours(place, path)}
    for secret in secrets:
        path = pathlib.Path(secret["path"])
        ours = not path.exists() or str(path) in known
        if files.write(path, secret["text"], 0o600, place.directory):
            done.append(f"{secret['what']} '{path}'")
        if ours:
            known[str(path)] = _mark(path)
            files.write_json(place.handed_out_file, known)  # written at once, as a deploy may be interrupted
    return done, known


def remove(place: Place) -> "list[str]":
    """Removes the secrets that are ours, and returns their paths."""
    removed = []
    for path in _known(place):
        if _is_ours(place, pathlib.Path(path)):
            pathlib.Path(path).unlink()
            removed.append(path)
    return removed


def without(deployed: "dict[str, Any]") -> "dict[str, Any]":
    """Returns what of deployed.json may be told. That of an earlier release has hashes, by which passwords could be
    guessed.
    """
    return {key: value for key, value in deployed.items() if key != KEY}


def _known(place: Place) -> "dict[str, Any]":
    if place.owner() != place.cluster:
        return {}
    return place.deployed().get(KEY, {}) | (files.read_json(place.handed_out_file) or {})


def _is_ours(place: Place, path: pathlib.Path) -> bool:
    known = _known(place).get(str(path))
    if known is None or path.is_symlink() or not path.is_file():
        return False
    return files.sha256(path) == known if isinstance(known, str) else _mark(path) == known


def _mark(path: pathlib.Path) -> "dict[str, int]":
    """Returns what tells whether it is still the same file, but nothing of its content: everybody can read
    deployed.json.
    """
    found = path.stat()
    return {"inode": found.st_ino, "modified_ns": found.st_mtime_ns}
