"""Shows one line for each node or host, which a terminal rewrites; elsewhere, a line for each thing that is told."""

import contextlib
import shutil
import sys
import threading
from typing import Iterator

from .errors import HostError
from .output import note


class LiveLines:
    """Shows on standard error what each of several nodes or hosts said last."""

    def __init__(self, names: "list[str]") -> None:
        self.last = dict.fromkeys(names, "")
        self.width = max(map(len, names), default=0)
        self.drawn = False
        self.on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.one_draws = threading.Lock()

    def tell(self, name: str, line: str) -> None:
        with self.one_draws:
            self.last[name] = line
            if self.on_terminal:
                self._draw()
            else:
                note(f"{name.ljust(self.width)} | {line}")

    @contextlib.contextmanager
    def working(self, name: str, does: str, did: str) -> "Iterator[None]":
        """Tells what a host does as long as the context lasts, and then that it did so, or why not."""
        self.tell(name, does)
        try:
            yield
        except HostError as error:
            self.tell(name, f"failed: {error}")
            raise
        self.tell(name, did)

    def _draw(self) -> None:
        columns = shutil.get_terminal_size().columns - 1
        up = f"\x1b[{len(self.last)}A" if self.drawn else ""
        lines = [f"{name.ljust(self.width)} | {line}"[:columns] for name, line in self.last.items()]
        note(up + "".join(f"\x1b[2K{line}\n" for line in lines), end="")
        self.drawn = True
