"""Secrets that deploy puts onto a host: a file that was there before, or that somebody has changed since, is not ours.

deployed.json has the paths of those that are ours, each with what tells whether it is still the file that we made. So
has handed_out.json, while a deploy is under way, or once it was interrupted.
"""

import pathlib
from typing import Any

from . import files
from .place import Place
from .trouble import Trouble

KEY = "handed_out"  # of deployed.json


def refuse_others(place: Place, secrets: "list[dict[str, str]]") -> None:
    """Refuses to replace what deploy did not put there, as it may be the key of another cluster."""
    for secret in secrets:
        path = pathlib.Path(secret["path"])
        if not path.exists() or _is_ours(place, path):
            continue
        if not path.is_file() or path.read_bytes() != secret["text"].encode():
            raise Trouble(f"the {secret['what']} '{path}' is there already, with another content, and deploy did not "
                          "put it there, or somebody has changed it since: see whose it is, and remove it there, or "
                          "name another path in the cluster file")


def put(place: Place, secrets: "list[dict[str, str]]") -> "tuple[list[str], dict[str, Any]]":
    """Returns what was done, and the secrets that are ours from now on."""
    before = map(pathlib.Path, _known(place))
    done, known = [], {str(path): _mark(path) for path in before if _is_ours(place, path)}
    for secret in secrets:
        path = pathlib.Path(secret["path"])
        ours = not path.exists() or str(path) in known
        if files.write(path, secret["text"], 0o600, place.directory):
            done.append(f"{secret['what']} '{path}'")
        if ours:
            known[str(path)] = _mark(path)
            files.write_json(place.handed_out_file, known)  # at once, as the deploy may be interrupted before its end
    return done, known


def remove(place: Place) -> "list[str]":
    """Removes those that are ours, and returns their paths."""
    removed = []
    for path in _known(place):
        if _is_ours(place, pathlib.Path(path)):
            pathlib.Path(path).unlink()
            removed.append(path)
    return removed


def without(deployed: "dict[str, Any]") -> "dict[str, Any]":
    """What may be told of deployed.json. That of an earlier release has hashes, by which passwords could be guessed."""
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
    """Tells whether it is still the same file, and nothing of its content: deployed.json can be read by everybody."""
    found = path.stat()
    return {"inode": found.st_ino, "modified_ns": found.st_mtime_ns}
