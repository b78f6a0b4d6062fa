"""Writes a log of lines with the time before each, into files of bounded size: log, log.1 (older), ... log.N."""

import datetime
import pathlib
import re
from typing import IO, Optional

HAS_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z ")


class RotatingLog:
    """Is written by one process."""

    def __init__(self, path: pathlib.Path, most_bytes: int, kept: int) -> None:
        self.path = path
        self.most_bytes = most_bytes
        self.kept = kept
        self.partial = b""
        self.file: Optional[IO[bytes]] = None

    def write(self, line: str) -> None:
        """Adds one line, with the time before it unless it has one, as the notices of a node do."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        data = f"{line}\n".encode() if HAS_TIME.match(line) else f"{now} {line}\n".encode()
        try:
            if self.file is None:
                self.file = open(self.path, "ab")
            if self.file.tell() and self.file.tell() + len(data) > self.most_bytes:
                self._rotate()
            self.file.write(data)
            self.file.flush()
        except OSError:  # the disk may be full; the node and its supervisor go on
            self.file = None

    def feed(self, data: bytes) -> "list[str]":
        """Takes output as it comes, and writes the lines that are whole now. Returns these lines."""
        *whole, self.partial = (self.partial + data).split(b"\n")
        if len(self.partial) > 64 * 1024:
            whole.append(self.partial)
            self.partial = b""
        lines = [line.decode(errors="replace") for line in whole]
        for line in lines:
            self.write(line)
        return lines

    def end_line(self) -> None:
        """Writes the line that was begun, since its end will not come."""
        if self.partial:
            self.feed(b"\n")

    def _rotate(self) -> None:
        self.file.close()
        for number in range(self.kept - 1, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.replace(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        self.file = open(self.path, "ab")
