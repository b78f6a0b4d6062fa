"""Unpacks a tar archive without trusting it: nothing of it gets out of its folder, or belongs to somebody else."""

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
    """Unpacks files, folders, and links that stay within. Debian 12's tarfile has no filter for that yet. Trouble calls
    the archive by this name, and says the mend if it is damaged.
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
        with gzip.open(archive) as whole:  # to the end, where its checksum is: tarfile does not read as far
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
