"""Shows a line on standard error that says what runs and how long the rest will take."""

import sys
from collections import defaultdict

from .plan import Run

FIRST_GUESS_SECONDS = 2.0  # a run takes these for loading and checking, beside its planned seconds


class Progress:
    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self.on_terminal = sys.stderr.isatty()
        self.left: "list[Run]" = []
        self.count = 0
        self.overheads: "dict[str, list[float]]" = defaultdict(list)

    def begin(self, runs: "list[Run]") -> None:
        self.left, self.count = list(runs), len(runs)

    def show(self, figure: str, run: Run, number: int, rounds: int) -> None:
        at = self.count - len(self.left) + 1
        left = duration(self.seconds_left())
        self._say(f"run {at} of {self.count}, {left} left; {figure}, round {number} of {rounds}: {run.text}")

    def finished(self, run: Run, seconds: float) -> None:
        self.overheads[_kind(run)].append(max(0.0, seconds - run.seconds))
        self.left.remove(run)

    def end(self) -> None:
        if self.on_terminal and not self.silent:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def seconds_left(self) -> float:
        """Returns the planned seconds of what is left, and what such runs took beside them until now."""
        return sum(run.seconds + self._overhead(run) for run in self.left)

    def _overhead(self, run: Run) -> float:
        known = self.overheads.get(_kind(run)) or [each for kind in self.overheads.values() for each in kind]
        return sum(known) / len(known) if known else FIRST_GUESS_SECONDS

    def _say(self, text: str) -> None:
        if self.silent:
            return
        if self.on_terminal:
            print(f"\r\x1b[K{text[:118]}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _kind(run: Run) -> str:
    return " ".join(word for word in run.words if not word.startswith("-"))


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
