"""Finds the release package: granary-VERSION-linux-x86_64.tar.gz with one folder of that name, and its hash beside it.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from .agent import archives
from .agent.trouble import Trouble
from .errors import UsageError

NAME = re.compile(r"(granary-(\d[\w.+~-]*)-linux-x86_64)\.tar\.gz")
HOW_TO_MAKE = "cmake --preset release && cmake --build --preset release --target package"


@dataclass(frozen=True)
class Package:
    """Is a package whose hash is the one that the file beside it says."""

    path: Path
    name: str
    version: str
    sha256: str

    @property
    def directory(self) -> str:
        """Returns the package's name on a host. Two builds of one version differ by their hash."""
        return f"{self.name}-{self.sha256[:12]}"

    def facts(self) -> "dict[str, Any]":
        return {"name": self.name, "version": self.version, "sha256": self.sha256, "directory": self.directory,
                "bytes": self.path.stat().st_size}


def find(given: Optional[str], root: Path, keep_hash: bool) -> Package:
    """Returns the package that was named, or the newest of the release build; see load()."""
    if given is not None:
        path = Path(given)
        if not path.is_file():
            raise UsageError(f"--package={given}: there is no such file")
        return load(path, keep_hash)
    build = root / "build" / "release"
    found = [path for folder in (build, build / "packages") for path in folder.glob("granary-*.tar.gz")
             if NAME.fullmatch(path.name)]
    if not found:
        raise UsageError(f"there is no release package in '{build}'; make one by '{HOW_TO_MAKE}', or name one by "
                         "--package=FILE")
    return load(max(found, key=lambda path: path.stat().st_mtime), keep_hash)


def load(path: Path, keep_hash: bool = True) -> Package:
    """Checks the name and the hash. It makes a hash file that is missing, if the hash is to be kept."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise UsageError(f"'{path}' is no release package: its name should be granary-VERSION-linux-x86_64.tar.gz")
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    beside = path.with_name(path.name + ".sha256")
    if beside.exists():
        said = beside.read_text(encoding="utf-8").split()
        if not said or said[0].lower() != digest:
            raise UsageError(f"'{path}' has the hash {digest}, and '{beside}' says {said[0] if said else 'nothing'}: "
                             "one of them is damaged")
    else:
        try:
            archives.check(path, str(path), archives.BUILD_AGAIN)  # only a good package may have its hash kept
        except Trouble as trouble:
            raise UsageError(str(trouble)) from trouble
        try:
            if keep_hash:
                beside.write_text(f"{digest}  {path.name}\n", encoding="utf-8")
        except OSError:  # the folder may be one that can only be read
            pass
    return Package(path, match[1], match[2], digest)
