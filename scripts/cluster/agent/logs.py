"""Sends the last lines of a service's log, and those that come."""

import os
import pathlib
import subprocess
import threading
import time
from typing import Iterator, Optional, TextIO

from . import systemd
from .channel import tell
from .place import Place


def last_lines(place: Place, name: str, count: int) -> "list[str]":
    """Returns the last lines of the log, and before them those of the former log if there are too few."""
    lines: "list[str]" = []
    path = place.service(name) / "log"
    for each in [path, path.with_name("log.1")]:
        if len(lines) >= count or not each.exists():
            break
        lines = each.read_text(errors="replace").splitlines() + lines
    return lines[-count:] if count else []


def follow(place: Place, name: str) -> Iterator[str]:
    """Returns the lines that are written from now on, without end; an empty one while nothing is written."""
    path = place.service(name) / "log"
    file = None
    if path.exists():
        file = open(path, encoding="utf-8", errors="replace")
        file.seek(0, os.SEEK_END)
    return _lines(path, file)


def _lines(path: pathlib.Path, file: Optional[TextIO]) -> Iterator[str]:
    """Yields the lines of a file that may be rotated away, which is then read to its end first."""
    partial = ""
    while True:
        while file is not None and (text := file.readline()):
            partial += text
            if partial.endswith("\n"):
                yield partial.rstrip("\n")
                partial = ""
        if path.exists() and (file is None or os.fstat(file.fileno()).st_ino != path.stat().st_ino):
            file = open(path, encoding="utf-8", errors="replace")
            continue
        yield ""  # lets the caller notice when nobody reads any more
        time.sleep(0.1)


def show(place: Place, name: str, count: int, following: bool, by_systemd: bool) -> None:
    """Sends the lines of a service to the caller."""
    if by_systemd and name.startswith("node-"):
        show_journal(name, count, following)
        return
    lines = follow(place, name) if following else iter(())  # it is opened first, so that no line is missed
    for line in last_lines(place, name, count):
        tell({"line": line, "service": name})
    for line in lines:
        tell({"line": line, "service": name} if line else {"alive": True})


def show_journal(name: str, count: int, following: bool) -> None:
    command = ["journalctl", f"--unit={systemd.instance(name)}", "--output=short-iso-precise", "--no-pager", "--quiet",
               f"--lines={count}"]
    with subprocess.Popen(command + (["--follow"] if following else []), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, errors="replace") as process:
        if following:
            threading.Thread(target=end_with_caller, args=(process,), daemon=True).start()
        try:
            for line in process.stdout:
                tell({"line": line.rstrip("\n"), "service": name})
        finally:
            process.terminate()


def end_with_caller(process: subprocess.Popen) -> None:
    """Ends a process, which may be silent for long, once nobody reads any more what we tell."""
    while process.poll() is None:
        try:
            tell({"alive": True})
        except OSError:
            process.terminate()
            return
        time.sleep(0.5)
