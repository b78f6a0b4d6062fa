"""Unpacks a tar archive without trusting it: no member leaves the folder, or belongs to another user."""

import contextlib
import gzip
import os
import pathlib
import tarfile
import zlib
from typing import Iterator

from .trouble import Trouble

BUILD_AGAIN = "download or build it again"


def extract(archive: pathlib.Path, folder: pathlib.Path, name: str, mend: str) -> None:
    """Unpacks files, folders, and links that stay within `folder`, and refuses all else. Debian 12's tarfile has no
    filter for that yet. Messages call the archive by this name, and tell `mend` if it is damaged.
    """
    with _opened(archive, name, mend) as tar:
        for member in tar.getmembers():
            if not _stays_inside(member):
                raise Trouble(f"'{name}' has '{member.name}', which is no plain file or folder within it", 2)
            member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
            tar.extract(member, folder)


def check(archive: pathlib.Path, name: str, mend: str) -> None:
    """Refuses an archive that is damaged."""
    with _opened(archive, name, mend) as tar:
        tar.getmembers()


@contextlib.contextmanager
def _opened(archive: pathlib.Path, name: str, mend: str) -> "Iterator[tarfile.TarFile]":
    try:
        with gzip.open(archive) as whole:  # the checksum is at the end, which tarfile does not read
            while whole.read(1 << 20):
                pass
        with tarfile.open(archive, "r:gz") as tar:
            yield tar
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, ValueError) as error:
        raise Trouble(f"'{name}' is damaged ({error}): {mend}", 2) from error


def _stays_inside(member: tarfile.TarInfo) -> bool:
    names = [member.name] + ([member.linkname] if member.issym() else [])
    inside = all(not name.startswith("/") and ".." not in pathlib.PurePosixPath(name).parts for name in names)
    return inside and (member.isfile() or member.isdir() or member.issym())
