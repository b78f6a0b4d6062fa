"""Has the kinds of check that claims are made of. docs/figure-files.md tells each one's keys.

A check sees data only through an object with three functions. rounds(panel, series, x) returns the figure of each
round, places(panel, series) the x of all points in the order of the axis, and published(panel, series) the paper's
points. The first two raise CannotTell where there are none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from .noise import NEVER, CannotTell, Verdict, all_of, in_rounds, within_bounds
from .toml_table import REQUIRED, TomlTable, is_number


class _Check:
    """Reads its keys from a claim's table, and judges data."""

    series: "tuple[str, ...]"  # the series that the check looks at

    def judge(self, data: Any) -> Verdict:
        raise NotImplementedError


def _bounds(table: TomlTable) -> "tuple[float | None, float | None]":
    least, most = table.number("at_least", None), table.number("at_most", None)
    if least is None and most is None:
        raise table.refuse("at_least", "at_least, at_most or both")
    if least is not None and most is not None and least > most:
        raise table.refuse("at_least", f"at most {most}, which at_most is")
    return least, most


def _place(table: TomlTable, key: str, default: Any = REQUIRED) -> Any:
    value = table.any(key, default, "a place on the x axis")
    if not is_number(value) and not isinstance(value, str):
        raise table.refuse(key, "a place on the x axis, \"first\", \"last\" or \"all\"")
    return value


def _places(data: Any, panel: str, names: "Sequence[str]", at: Any) -> "list[Any]":
    """Returns what `at` stands for: itself, or places that all these series have."""
    if at not in ("first", "last", "all"):
        return [at]
    shared = [x for x in data.places(panel, names[0]) if all(x in data.places(panel, name) for name in names[1:])]
    if not shared:
        raise CannotTell(f"{' and '.join(names)} have no place in common")
    return {"first": shared[:1], "last": shared[-1:], "all": shared}[at]


def _two_places(data: Any, panel: str, name: str) -> "list[Any]":
    """Returns all places of the series, and refuses a series with one place only."""
    places = data.places(panel, name)
    if len(places) < 2:
        raise CannotTell(f"{name} has one place only, {places[0]}")
    return places


def _one_place(data: Any, panel: str, name: str, at: Any) -> Any:
    return _places(data, panel, [name], at)[0]


def _ratios(above: "Sequence[float]", below: "Sequence[float]", name: str) -> "list[float]":
    """Returns the ratios round by round, so that a drift of the machine hits both alike."""
    if NEVER in (*above, *below):
        raise CannotTell(f"{name}: one of them never came")
    if not all(below):
        raise CannotTell(f"{name}: the divisor is 0")
    if min(below) < 0:
        raise CannotTell(f"{name}: the divisor is below 0 in a round, so noise hides it")
    return [a / b for a, b in zip(above, below)]


@dataclass(frozen=True)
class Value(_Check):
    """A figure is within bounds."""

    panel: str
    series: "tuple[str, ...]"
    at: Any
    at_least: "float | None"
    at_most: "float | None"

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Value":
        return cls(panel, (table.text("series"),), _place(table, "at"), *_bounds(table))

    def judge(self, data: Any) -> Verdict:
        name = self.series[0]
        return all_of([within_bounds(f"{name} at {x}", data.rounds(self.panel, name, x), self.at_least, self.at_most)
                       for x in _places(data, self.panel, self.series, self.at)])


@dataclass(frozen=True)
class Ratio(_Check):
    """The ratio of two series, at the same place or at two, or of two points of one series, is within bounds."""

    panel: str
    series: "tuple[str, ...]"
    at: Any
    to_at: Any
    at_least: "float | None"
    at_most: "float | None"

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Ratio":
        name = table.text("series")
        other = table.text("to", name)
        at = _place(table, "at")
        to_at = _place(table, "to_at", at)
        if name == other and at == to_at:
            raise table.refuse("to_at", "another place than 'at', or another series in 'to'")
        if at != to_at and "all" in (at, to_at):
            raise table.refuse("at", "one place, since to_at is another")
        return cls(panel, (name, other), at, to_at, *_bounds(table))

    def judge(self, data: Any) -> Verdict:
        name, other = self.series
        if self.at == self.to_at:
            pairs = [(x, x) for x in _places(data, self.panel, self.series, self.at)]
        else:
            pairs = [(_one_place(data, self.panel, name, self.at), _one_place(data, self.panel, other, self.to_at))]
        return all_of([self._judge(data, *pair) for pair in pairs])

    def _judge(self, data: Any, x: Any, to_x: Any) -> Verdict:
        name, other = self.series
        if (name, x) == (other, to_x):
            raise CannotTell(f"{name} has one place only, {x}")
        text = f"{name}/{other} at {x}" if x == to_x else f"{name} at {x} / {other} at {to_x}"
        ratios = _ratios(data.rounds(self.panel, name, x), data.rounds(self.panel, other, to_x), text)
        return within_bounds(text, ratios, self.at_least, self.at_most)


@dataclass(frozen=True)
class Ordering(_Check):
    """Groups of series go from the greatest to the smallest: each series is at least (1 - slack) of each of the next
    group.
    """

    panel: str
    groups: "tuple[tuple[str, ...], ...]"
    at: Any
    slack: float

    @property
    def series(self) -> "tuple[str, ...]":
        return tuple(name for group in self.groups for name in group)

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Ordering":
        groups = [each if isinstance(each, list) else [each] for each in table.items("series")]
        if len(groups) < 2 or not all(group and all(isinstance(name, str) for name in group) for group in groups):
            raise table.refuse("series", "a list of two or more series, or lists of them, the greatest first")
        return cls(panel, tuple(map(tuple, groups)), _place(table, "at"), table.number("slack", 0.0, 0))

    def judge(self, data: Any) -> Verdict:
        verdicts = []
        pairs = [(name, other) for group, next_group in zip(self.groups, self.groups[1:]) for name in group
                 for other in next_group]
        for x in _places(data, self.panel, self.series, self.at):
            for name, other in pairs:
                text = f"{name}/{other} at {x}"
                ratios = _ratios(data.rounds(self.panel, name, x), data.rounds(self.panel, other, x), text)
                verdicts.append(within_bounds(text, ratios, 1 - self.slack, None))
        return all_of(verdicts)


@dataclass(frozen=True)
class Monotone(_Check):
    """A series rises, or falls, from each place to the next; or goes back by no more than `slack`."""

    panel: str
    series: "tuple[str, ...]"
    rising: bool
    slack: float

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Monotone":
        rising = table.choice("direction", ("rising", "falling")) == "rising"
        return cls(panel, (table.text("series"),), rising, table.number("slack", 0.0, 0))

    def judge(self, data: Any) -> Verdict:
        name = self.series[0]
        places = _two_places(data, self.panel, name)
        verdicts = []
        for x, next_x in zip(places, places[1:]):
            here, there = data.rounds(self.panel, name, x), data.rounds(self.panel, name, next_x)
            text = f"{name} at {next_x} / at {x}"
            least, most = (1 - self.slack, None) if self.rising else (None, 1 + self.slack)
            verdicts.append(within_bounds(text, _ratios(there, here, text), least, most))
        return all_of(verdicts)


@dataclass(frozen=True)
class Flat(_Check):
    """No point of a series is more than (1 + within) times another.

    Each two points are compared by their ratio, as it is. The greatest point of a round over its smallest would never
    be below 1, so noise alone would make a flat series look steep.
    """

    panel: str
    series: "tuple[str, ...]"
    within: float

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Flat":
        return cls(panel, (table.text("series"),), table.number("within", least=0))

    def judge(self, data: Any) -> Verdict:
        name = self.series[0]
        most = 1 + self.within
        verdicts = []
        for x, other_x in combinations(_two_places(data, self.panel, name), 2):
            text = f"{name} at {other_x} / at {x}"
            ratios = _ratios(data.rounds(self.panel, name, other_x), data.rounds(self.panel, name, x), text)
            verdicts.append(within_bounds(text, ratios, 1 / most, most))
        return all_of(verdicts)


@dataclass(frozen=True)
class Crossing(_Check):
    """The first series is above the second, and falls below it at a place within two others."""

    panel: str
    series: "tuple[str, ...]"
    between: "tuple[float, float]"

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Crossing":
        return cls(panel, (table.text("series"), table.text("to")), table.pair("between"))

    def judge(self, data: Any) -> Verdict:
        places = _numbers(_places(data, self.panel, self.series, "all"))
        above, below = ([data.rounds(self.panel, name, x) for x in places] for name in self.series)
        crossings = [self._crossing(places, a, b) for a, b in zip(zip(*above), zip(*below))]
        found = [x for x in crossings if x is not None]
        where = f" (at {min(found):.3g} to {max(found):.3g})" if found else " (they do not cross)"
        name = f"{self.series[0]} falls below {self.series[1]} within {self.between[0]:g} and {self.between[1]:g}"
        verdict = in_rounds(name, [x is not None and self.between[0] <= x <= self.between[1] for x in crossings])
        return Verdict(verdict.result, verdict.reason + where)

    @staticmethod
    def _crossing(places: "Sequence[float]", above: "Sequence[float]", below: "Sequence[float]") -> "float | None":
        """Returns where the lines between the points cross in one round: the last place if they do several times, and
        None if the first series does not begin above and end below the second.
        """
        differences = [a - b for a, b in zip(above, below)]
        if differences[0] <= 0 or differences[-1] >= 0:
            return None
        last = max(i for i, each in enumerate(differences[:-1]) if each > 0)
        share = differences[last] / (differences[last] - differences[last + 1])
        return places[last] + share * (places[last + 1] - places[last])


@dataclass(frozen=True)
class Peak(_Check):
    """The greatest, or smallest, point of a series is at a place within two others."""

    panel: str
    series: "tuple[str, ...]"
    greatest: bool
    between: "tuple[float, float]"

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "Peak":
        greatest = table.choice("of", ("maximum", "minimum")) == "maximum"
        return cls(panel, (table.text("series"),), greatest, table.pair("between"))

    def judge(self, data: Any) -> Verdict:
        name = self.series[0]
        places = _numbers(data.places(self.panel, name))
        pick: "Callable[..., Any]" = max if self.greatest else min
        rounds = zip(*(data.rounds(self.panel, name, x) for x in places))
        peaks = [places[pick(range(len(places)), key=lambda i, values=values: values[i])] for values in rounds]
        verdict = in_rounds(f"the {'maximum' if self.greatest else 'minimum'} of {name} is within {self.between[0]:g} "
                            f"and {self.between[1]:g}", [self.between[0] <= x <= self.between[1] for x in peaks])
        return Verdict(verdict.result, f"{verdict.reason} (at {min(peaks):g} to {max(peaks):g})")


@dataclass(frozen=True)
class AsPublished(_Check):
    """Each point of a series that the paper has as well is within a tolerance of the paper's."""

    panel: str
    series: "tuple[str, ...]"
    within: "float | None"
    within_share: "float | None"

    @classmethod
    def read(cls, table: TomlTable, panel: str) -> "AsPublished":
        within, share = table.number("within", None, 0), table.number("within_share", None, 0)
        if (within is None) == (share is None):
            raise table.refuse("within", "within (a difference) or within_share (a share of the paper's figure)")
        return cls(panel, (table.text("series"),), within, share)

    def judge(self, data: Any) -> Verdict:
        name = self.series[0]
        places = data.places(self.panel, name)
        shared = [(x, y) for x, y in data.published(self.panel, name) if x in places]
        if not shared:
            raise CannotTell(f"no point of {name} was run at a place of the paper's")
        verdicts = []
        for x, y in shared:
            tolerance = self.within if self.within is not None else self.within_share * abs(y)
            verdicts.append(within_bounds(f"{name} at {x}", data.rounds(self.panel, name, x), y - tolerance,
                                          y + tolerance))
        return all_of(verdicts)


def _numbers(places: "Sequence[Any]") -> "list[float]":
    if not all(is_number(x) for x in places):
        raise CannotTell("the x axis has names, not numbers")
    return list(places)


KINDS: "dict[str, Any]" = {"value": Value, "ratio": Ratio, "ordering": Ordering, "monotone": Monotone, "flat": Flat,
                           "crossing": Crossing, "peak": Peak, "as_published": AsPublished}
