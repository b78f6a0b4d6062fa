"""Keeps the results of runs, one file each, below `runs` of the output directory. A file is there whole or not at all.
"""

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from .errors import EnvironmentTrouble, UsageError

FORMAT = 1


class Store:
    """Is used by one process at a time, from when it is made to the end of its `with`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        make_directory(directory / "runs")
        try:
            self._lock = (directory / "lock").open("w", encoding="utf-8")
        except OSError as error:
            raise EnvironmentTrouble(f"'{directory}': {error.strerror}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise UsageError(
                f"another 'granary figure' works in '{directory}'; choose another --out, or wait") from error

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def path(self, key: str) -> Path:
        return self.directory / "runs" / f"{key}.json"

    def result(self, key: str) -> "dict[str, Any] | None":
        """Returns the result of a run; None if there is none, or if another version has written it."""
        try:
            result = json.loads(self.path(key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise EnvironmentTrouble(f"'{self.path(key)}' cannot be read ({error}); remove it") from error
        return result if isinstance(result, dict) and result.get("format") == FORMAT else None

    def forget(self, key: str) -> None:
        try:
            self.path(key).unlink(missing_ok=True)
        except OSError as error:
            raise EnvironmentTrouble(f"'{self.path(key)}' cannot be removed: {error.strerror}") from error

    def keep(self, key: str, result: "dict[str, Any]") -> None:
        write_whole(self.path(key), json.dumps({"format": FORMAT} | result, indent=1))


def make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentTrouble(f"'{path}' cannot be made: {error.strerror}") from error


def _remove(path: Path) -> None:
    """Removes a file as far as the system allows it: another error is already told."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: "str | bytes") -> None:
    """Replaces a file so that another process sees it as it was or as it will be, also after a crash. It removes a part
    that could not be written as a whole.
    """
    data = content.encode() if isinstance(content, str) else content
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        _remove(partial)
        raise EnvironmentTrouble(f"'{path}' cannot be written: {error.strerror}") from error
