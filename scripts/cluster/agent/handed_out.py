"""Secrets that deploy puts onto a host: a file that was there before, or that somebody has changed since, is not ours.

deployed.json has the paths of those that are ours, each with what tells whether it is still the file that we made.
"""

import hashlib
import pathlib
from typing import Any

from . import files
from .place import Place
from .trouble import Trouble


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
    done, known = [], dict(place.deployed().get("handed_out", {}))
    for secret in secrets:
        path = pathlib.Path(secret["path"])
        ours = not path.exists() or str(path) in known
        if files.write(path, secret["text"], 0o600, place.directory):
            done.append(f"{secret['what']} '{path}'")
        if ours:
            known[str(path)] = _mark(path)
    return done, known


def remove(place: Place) -> "list[str]":
    """Removes those that are ours, and returns their paths."""
    removed = []
    for path in place.deployed().get("handed_out", {}):
        if _is_ours(place, pathlib.Path(path)):
            pathlib.Path(path).unlink()
            removed.append(path)
    return removed


def _is_ours(place: Place, path: pathlib.Path) -> bool:
    known = place.deployed().get("handed_out", {}).get(str(path))
    return known is not None and path.is_file() and not path.is_symlink() and _mark(path) == known


def _mark(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
