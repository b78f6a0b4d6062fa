"""Shows one line for each node, which is rewritten, on a terminal; elsewhere a line for each thing that is told."""

import shutil
import sys
import threading


class LiveLines:
    """Shows on standard error what each of several nodes said last."""

    def __init__(self, names: "list[str]") -> None:
        self.last = dict.fromkeys(names, "")
        self.width = max(map(len, names))
        self.drawn = False
        self.on_terminal = sys.stderr.isatty()
        self.one_draws = threading.Lock()

    def tell(self, name: str, line: str) -> None:
        with self.one_draws:
            self.last[name] = line
            if self.on_terminal:
                self._draw()
            else:
                print(f"{name.ljust(self.width)} | {line}", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        columns = shutil.get_terminal_size().columns - 1
        up = f"\x1b[{len(self.last)}A" if self.drawn else ""
        lines = [f"{name.ljust(self.width)} | {line}"[:columns] for name, line in self.last.items()]
        print(up + "".join(f"\x1b[2K{line}\n" for line in lines), end="", file=sys.stderr, flush=True)
        self.drawn = True
