"""Reads figures from a run's report, by paths into its JSON.

A path is a list of steps between slashes. It starts in the report's object `granary`; with a slash in front, in the
whole report. A step is a key, or a place in a list (0, 1, ...), or `*` for all members, whose numbers are added up, or
`key=value&key=value` for the member of a list that has these values. As in JSON Pointer, `~1` stands for a slash, and
`~0` for `~`.
"""

from dataclasses import dataclass
from typing import Any

from .errors import UsageError
from .noise import NEVER
from .toml_table import is_number


class NotInReport(Exception):
    """The report does not have what a path names."""


@dataclass(frozen=True)
class Measure:
    """Makes a figure of a run: the difference of `value` and `less`, divided by the difference of `per` and `per_less`,
    if there are any, and multiplied by `times`. With `relative_to`, it is divided by the same figure of that series in the same round. With
    `extra_each`, the figure of the series' first place is subtracted, and the rest is divided by the number at that
    path.
    """

    value: str
    per: "tuple[str, ...]" = ()  # the numbers of several paths are added up
    times: float = 1.0
    missing: "float | None" = None  # this counts if the report does not have `value`
    relative_to: str = ""
    never: bool = False  # null in the report means that what is timed never came: worse than any time
    per_less: "tuple[str, ...]" = ()  # the numbers of several paths are added up
    less: str = ""
    extra_each: str = ""  # this path tells how many things cost extra

    def of(self, report: Any, start: Any = None) -> float:
        """Returns the figure of a report. Paths without a slash in front begin at `start`, if one is given."""
        try:
            if self.never and None in everything_at(report, self.value, start):
                return NEVER
            value = number_at(report, self.value, start)
        except NotInReport:
            if self.missing is None:
                raise
            value = self.missing
        if self.less:
            value -= number_at(report, self.less, start)
        if self.per:
            divisor = _sum_at(report, self.per, start) - _sum_at(report, self.per_less, start)
            if divisor == 0:
                less = f" less '{' + '.join(self.per_less)}'" if self.per_less else ""
                raise NotInReport(f"'{' + '.join(self.per)}'{less} is 0")
            value /= divisor
        return value * self.times


def _sum_at(report: Any, paths: "tuple[str, ...]", start: Any) -> float:
    return sum(number_at(report, path, start) for path in paths)


def number_at(report: Any, path: str, start: Any = None) -> float:
    found = everything_at(report, path, start)
    for value in found:
        if not is_number(value):
            raise NotInReport(f"'{path}' is {value!r}, which is no number")
    return float(sum(found))


def everything_at(report: Any, path: str, start: Any = None) -> "list[Any]":
    """Returns all values that the path names: one, or with `*` any number of them."""
    if path.startswith("/"):
        here, steps = [report], path[1:].split("/")
    else:
        here, steps = [report.get("granary", report) if start is None else start], path.split("/")
    for step in steps:
        here = [value for each in here for value in _followed(each, step.replace("~1", "/").replace("~0", "~"), path)]
    return here


def _followed(value: Any, step: str, path: str) -> "list[Any]":
    if step == "*" and isinstance(value, (dict, list)):
        return list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict) and step in value:
        return [value[step]]
    if isinstance(value, list) and step.isdigit() and int(step) < len(value):
        return [value[int(step)]]
    if isinstance(value, list) and "=" in step:
        wanted = [condition.partition("=")[::2] for condition in step.split("&")]
        matching = [each for each in value if all(_is(each, key, text) for key, text in wanted)]
        if len(matching) == 1:
            return matching
        raise NotInReport(f"'{path}': {len(matching)} members have '{step}'")
    raise NotInReport(f"'{path}': there is no '{step}'")


def _is(member: Any, key: str, text: str) -> bool:
    value = member.get(key) if isinstance(member, dict) else None
    if is_number(value):
        try:
            return float(text) == value
        except ValueError:
            return False
    return value is not None and str(value) == text


def check_path(where: str, path: str) -> str:
    """Returns the path, and raises a UsageError if it can lead nowhere."""
    if not path or any(not step for step in path.removeprefix("/").split("/")):
        raise UsageError(f"{where}: '{path}' is no path into a report; expected steps between slashes, such as "
                         f"'throughput/median'")
    return path


def was_interrupted(report: Any) -> bool:
    """Tells whether a signal has ended the run before it was whole. Its figures are then of less than was asked for."""
    ours = report.get("granary") if isinstance(report, dict) else None
    return isinstance(report, dict) and (report.get("Final State") == "INTERRUPTED" or
                                         isinstance(ours, dict) and ours.get("interrupted") is True)
