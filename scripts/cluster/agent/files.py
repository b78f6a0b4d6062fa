"""Writes files whole or not at all, and removes files of which the callers know that they are ours."""

import hashlib
import json
import os
import pathlib
from typing import Any, Optional

Path = pathlib.Path


def write(path: Path, content: "str | bytes", mode: int = 0o644, owner_of: Optional[Path] = None) -> bool:
    """Puts a file into place at once, with this mode from its first byte on. Returns whether that changed anything."""
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o7777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        give_to_owner(partial, owner_of)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return True


def write_json(path: Path, value: Any) -> bool:
    return write(path, json.dumps(value, indent=1) + "\n")


def read_json(path: Path) -> Optional[Any]:
    """Returns what the file has; None if there is no such file, or if it is no JSON."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def make_directory(path: Path, mode: int, owner_of: Optional[Path] = None) -> bool:
    """Makes a directory and those above it. Returns whether it was missing; a directory that exists keeps its mode."""
    if path.is_dir():
        return False
    missing = [path]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    path.mkdir(parents=True, exist_ok=True)
    os.chmod(path, mode)
    for made in reversed(missing):
        give_to_owner(made, owner_of)
    return True


def give_to_owner(path: Path, owner_of: Optional[Path] = None) -> None:
    """Gives what root has made to the owner of another path, or of the directory above: nodes may run as that user."""
    if os.geteuid() != 0:
        return
    owner = (owner_of or path.parent).stat()
    if owner.st_uid != 0 and not owner.st_mode & 0o1000:  # a directory for everybody, such as /tmp, decides nothing
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def remove_tree(path: Path) -> None:
    """Removes a file, or a directory and all below it, and follows no symbolic link. The caller knows that it is ours.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for each in sorted(path.iterdir()):
        remove_tree(each)
    path.rmdir()


def remove_empty(path: Path) -> bool:
    """Removes a directory if nothing is in it. Returns whether it is gone."""
    try:
        path.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
