"""Plans what is to be run for a figure on this machine, and what is left out of it."""

import hashlib
import json
import math
from dataclasses import dataclass, field
from typing import Any

from .errors import UsageError
from .machine import Machine, unmet
from .model import Figure, Series, SweptValue
from .template import filled, filled_words, placeholders
from .toml_table import is_number


@dataclass(frozen=True)
class Run:
    """Is a command line that is run once in each round. It still has placeholders of directories and of the cluster
    file.
    """

    words: "tuple[str, ...]"
    cluster: "str | None"  # the table of the figure file, filled, as JSON
    seconds: float  # the seconds that are planned
    before: "tuple[tuple[str, ...], ...]" = ()  # the words of commands that are run before, in the same directories

    def key(self, build: str, number: int) -> str:
        """Names the result of a round. The name is the same for all figures that run this command with this build."""
        text = json.dumps([self.words, self.cluster, build, number, *self.before])
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    @property
    def text(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class PlannedPoint:
    series: Series
    x: Any
    run: Run
    variables: "dict[str, Any]"  # these fill placeholders in paths


@dataclass
class Plan:
    figure: Figure
    quick: bool
    rounds: int
    overrides: "dict[str, Any]"
    points: "list[PlannedPoint]" = field(default_factory=list)
    left_out: "dict[tuple[str, Any], str]" = field(default_factory=dict)  # the value says why (series, x) is left out
    left_out_series: "dict[str, str]" = field(default_factory=dict)

    @property
    def rounds_of_file(self) -> int:
        return self.figure.setting(self.quick).rounds

    @property
    def runs(self) -> "list[Run]":
        """Returns each run once, in the order of the x axis, so that series that are compared run one after another."""
        return list(dict.fromkeys(point.run for point in self.points))

    def notes(self) -> "list[str]":
        """Returns what is left out, and why."""
        notes = [f"{name} ({why})" for name, why in self.left_out_series.items()]
        places = list(dict.fromkeys(str(x) for _, x in self.left_out))
        if places:
            reasons = list(dict.fromkeys(self.left_out.values()))
            few = reasons if len(reasons) < 3 else [reasons[0], "...", reasons[-1]]
            notes.append(f"{self.figure.x.label} {', '.join(places)} ({', '.join(few)})")
        return notes


def plan(figure: Figure, quick: bool, machine: Machine, overrides: "dict[str, Any]") -> Plan:
    setting = figure.setting(quick)
    result = Plan(figure, quick, int(overrides.get("rounds", setting.rounds)), overrides)
    for series in figure.series:
        if reason := unmet(series.needs, machine):
            result.left_out_series[series.name] = reason
    for series, swept in _in_turn(figure, quick):
        if series.name in result.left_out_series:
            continue
        if reason := _too_great(figure, swept, machine):
            result.left_out[series.name, swept.x] = reason
            continue
        given = {"x": swept.x, "cores": machine.cores}
        variables = setting.variables | series.variables | swept.variables | overrides | given
        result.points.append(PlannedPoint(series, swept.x, _run(series, variables, machine), variables))
    return result


def _in_turn(figure: Figure, quick: bool) -> "list[tuple[Series, SweptValue]]":
    values = [(series, figure.values_of(series, figure.setting(quick))) for series in figure.series]
    longest = max(len(each) for _, each in values)
    return [(series, each[i]) for i in range(longest) for series, each in values if i < len(each)]


def _too_great(figure: Figure, swept: SweptValue, machine: Machine) -> str:
    most = figure.x.at_most_per_core
    if most is None or isinstance(swept.x, str) or swept.x <= most * machine.cores:
        return ""
    return f"needs >= {math.ceil(swept.x / most)} cores"


def _run(series: Series, variables: "dict[str, Any]", machine: Machine) -> Run:
    names = set().union(*(placeholders(command) for command in (*series.before, series.command)))
    seconds = sum(_seconds(name, variables[name]) for name in ("seconds", "warmup") if name in names)
    words = filled_words(series.command, variables, machine.cores)
    cluster = None
    if series.cluster is not None:
        cluster = json.dumps(_filled_deep(series.cluster, variables, machine.cores), sort_keys=True)
    before = tuple(tuple(filled_words(command, variables, machine.cores)) for command in series.before)
    return Run(tuple(words), cluster, seconds, before)


def _seconds(name: str, value: Any) -> float:
    """Returns a time of the figure's file, or what --set has given instead."""
    least = 0.01 if name == "seconds" else 0
    if not is_number(value) or not least <= value < math.inf:
        raise UsageError(f"{name} is {value}; expected a number of seconds, at least {least}")
    return float(value)


def _filled_deep(value: Any, variables: "dict[str, Any]", cores: int) -> Any:
    if isinstance(value, dict):
        return {key: _filled_deep(each, variables, cores) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    text = filled(value, variables, cores)
    return int(text) if text != value and text.isdigit() else text
