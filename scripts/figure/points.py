"""Makes the points of a figure from the reports of its runs."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .measure import Measure, NotInReport, everything_at, number_at
from .model import Figure, XAxis
from .noise import NEVER, CannotTell
from .plan import Plan, PlannedPoint
from .store import Store
from .template import filled


@dataclass
class Point:
    """Has a figure at a place: one value for each round, None where the round has none, NEVER where it is infinite."""

    panel: str
    series: str
    x: Any
    values: "list[float | None]"
    shown_x: "list[float]" = field(default_factory=list)  # one for each round, where x is measured
    counts: "dict[int, float]" = field(default_factory=dict)  # by round from 0, where the measure has `extra_each`
    command: str = ""
    troubles: "list[str]" = field(default_factory=list)

    @property
    def known(self) -> "list[float]":
        """Returns the finite values."""
        return [value for value in self.values if value is not None and value != NEVER]

    @property
    def has_median(self) -> bool:
        """Tells whether there is a median that can be drawn. It is infinite if half of the rounds or more are NEVER."""
        return len(self.known) > sum(value == NEVER for value in self.values)

    @property
    def median(self) -> float:
        return statistics.median(value for value in self.values if value is not None)

    @property
    def drawn_x(self) -> Any:
        return statistics.median(self.shown_x) if self.shown_x else self.x


@dataclass
class Failure:
    """Tells of a run that did not succeed."""

    series: str
    x: Any
    round: int
    command: str
    exit_code: int
    trouble: str


class Points:
    """Has what claims and pictures see of a figure."""

    def __init__(self, plan: Plan, points: "Sequence[Point]", failures: "Sequence[Failure]" = (),
                 reports: "Sequence[dict[str, Any]]" = ()) -> None:
        self.plan = plan
        self.figure: Figure = plan.figure
        self.failures = list(failures)
        self.reports = list(reports)  # the results of the runs, as in the store
        self._all = {(point.panel, point.series, point.x): point for point in points}
        self._make_extra()
        self._make_relative()

    def all(self) -> "list[Point]":
        return list(self._all.values())

    def of(self, panel: str, series: str) -> "list[Point]":
        """Returns those of a series that can be drawn, in the order in which they were planned."""
        return [point for point in self._all.values()
                if (point.panel, point.series) == (panel, series) and point.has_median]

    def places(self, panel: str, series: str) -> "list[Any]":
        found = [point.x for point in self._all.values() if (point.panel, point.series) == (panel, series)]
        if not found:
            raise CannotTell(self._why_not(series, None))
        return found

    def rounds(self, panel: str, series: str, x: Any) -> "list[float]":
        point = self._all.get((panel, series, x))
        if point is None:
            raise CannotTell(self._why_not(series, x))
        found = [value for value in point.values if value is not None]
        if len(found) < len(point.values):
            trouble = point.troubles[0] if point.troubles else "there is no result"
            raise CannotTell(f"{series} at {x}: {trouble}")
        return found

    def published(self, panel: str, series: str) -> "list[tuple[Any, float]]":
        return [point for each in self.figure.published if (each.panel, each.series) == (panel, series)
                for point in each.points]

    def _why_not(self, series: str, x: Any) -> str:
        if series in self.plan.left_out_series:
            return self.plan.left_out_series[series]
        reasons = [why for (name, place), why in self.plan.left_out.items() if name == series and x in (None, place)]
        if reasons:
            return reasons[0]
        where = "nowhere" if x is None else f"not run at {x}"
        return f"{series} is {where} {'with --quick' if self.plan.quick else 'in this figure'}"

    def _make_extra(self) -> None:
        """Replaces figures of `extra_each` by what each thing that is counted adds to the figure of the series' first
        place. That place has no such point itself.
        """
        for series in self.figure.series:
            for panel, measure in series.measures.items():
                keys = [key for key in self._all if key[:2] == (panel, series.name)]
                if not measure.extra_each or not keys:
                    continue
                first = self._all.pop(keys[0])
                for key in keys[1:]:
                    self._all[key] = _extra(self._all[key], first, measure.extra_each)

    def _make_relative(self) -> None:
        """Replaces figures of `relative_to` by ratios of the figures as they were read."""
        read = dict(self._all)
        for series in self.figure.series:
            for panel, measure in series.measures.items():
                if not measure.relative_to:
                    continue
                divisors = [point for key, point in read.items() if key[:2] == (panel, measure.relative_to)]
                for key, point in read.items():
                    if key[:2] == (panel, series.name):
                        self._all[key] = _relative(point, divisors, measure.relative_to == series.name)


def _relative(point: Point, divisors: "list[Point]", to_itself: bool) -> Point:
    same = [] if to_itself else [each for each in divisors if each.x == point.x]
    if not same and (to_itself or len(divisors) == 1):
        same = divisors[:1]
    if not same:
        return replace(point, values=[None] * len(point.values), troubles=[*point.troubles, "there is no divisor here"])
    values = [a / b if a is not None and b else None for a, b in zip(point.values, same[0].values)]
    return replace(point, values=values, troubles=[*point.troubles, *same[0].troubles])


def _extra(point: Point, first: Point, path: str) -> Point:
    troubles = [*point.troubles, *first.troubles]
    values: "list[float | None]" = []
    for number, (here, there) in enumerate(zip(point.values, first.values)):
        count = point.counts.get(number)
        if count == 0:
            troubles.append(f"'{path}' is 0, so nothing here costs extra")
        values.append((here - there) / count if here is not None and there is not None and count else None)
    return replace(point, values=values, troubles=troubles)


def read_points(plan: Plan, store: Store, build: str) -> Points:
    """Returns the points of all runs that the store has. Runs that it does not have count as not run."""
    made: "dict[tuple[str, str, Any], Point]" = {}
    failures: "list[Failure]" = []
    reports: "dict[str, Any]" = {}
    for planned in plan.points:
        for number in range(1, plan.rounds + 1):
            key = planned.run.key(build, number)
            result = reports[key] if key in reports else store.result(key)
            if result is not None:
                reports[key] = result
            if result is not None and result["exit_code"] != 0:
                failures.append(Failure(planned.series.name, planned.x, number, planned.run.text, result["exit_code"],
                                        result["trouble"]))
            _add_round(plan, planned, number, result, made)
    return Points(plan, list(made.values()), failures, list(reports.values()))


def _add_round(plan: Plan, planned: PlannedPoint, number: int, result: Any,
               made: "dict[tuple[str, str, Any], Point]") -> None:
    failed = result is None or result["exit_code"] != 0
    trouble = "the run is missing" if result is None else f"a run ended with {result['exit_code']}: {result['trouble']}"
    for panel, measure in planned.series.measures.items():
        found: "list[tuple[Any, Any, Any]]" = []  # x, its measured place, y
        count = None
        problem = trouble if failed else ""
        try:
            if not failed:
                found = _found(plan, planned, measure, result["report"])
                count = _count(planned, measure, result["report"])
        except NotInReport as error:
            problem = str(error)
        if problem:
            found = [(planned.x, None, None)]
        for x, shown, value in found:
            new = Point(panel, planned.series.name, x, [None] * plan.rounds, command=planned.run.text)
            point = made.setdefault((panel, planned.series.name, x), new)
            point.values[number - 1] = value
            if shown is not None:
                point.shown_x.append(shown)
            if count is not None:
                point.counts[number - 1] = count
            if problem:
                point.troubles.append(problem)


def _found(plan: Plan, planned: PlannedPoint, measure: Measure, report: Any) -> "list[tuple[Any, Any, Any]]":
    x_axis = plan.figure.x

    def path(text: str) -> str:
        return filled(text, planned.variables, planned.variables["cores"])

    measure = replace(measure, value=path(measure.value), per=tuple(map(path, measure.per)),
                      per_less=tuple(map(path, measure.per_less)), less=path(measure.less))
    if not x_axis.along:
        shown = number_at(report, path(x_axis.measured)) if x_axis.measured else None
        return [(planned.x, shown, measure.of(report))]
    lists = everything_at(report, path(x_axis.along))
    # A list that the report has as null was not measured, so it has no members.
    members = [member for each in lists if each is not None
               for member in (each if isinstance(each, list) else [each])]
    result: "dict[Any, float]" = {}
    for member in members:
        x = _rounded(number_at(report, path(x_axis.measured), member), x_axis.step)
        value = measure.of(report, member)
        result[x] = _worst(x_axis, x, result[x], value) if x in result else value
    return [(x, None, y) for x, y in result.items()]


def _count(planned: PlannedPoint, measure: Measure, report: Any) -> "float | None":
    """Returns how many things cost extra, if the measure is about that."""
    if not measure.extra_each:
        return None
    return number_at(report, filled(measure.extra_each, planned.variables, planned.variables["cores"]))


def _worst(x_axis: XAxis, x: Any, one: float, other: float) -> float:
    """Returns which of two members at one place counts. Neither may hide the other from the claims unnoticed."""
    if not x_axis.together:
        raise NotInReport(f"'{x_axis.along}' has several members at {x}: 'step' is too great, or 'together' missing")
    return max(one, other) if x_axis.together == "greatest" else min(one, other)


def _rounded(x: float, step: float) -> float:
    """Returns the nearest place; of two, the greater, also if x is a little less than half, as 0.15 / 0.3 is. Python's
    round() would take the even one, so that places in turn had more members and fewer.
    """
    place = round(math.floor(x / step + 0.5 + 1e-9) * step, 9)
    return int(place) if place == int(place) else place
