"""Defines what a figure is: docs/figure-files.md has the keys. Values are checked by load.py."""

import hashlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .claims import Claim, without_words
from .measure import Measure
from .needs import Needs


@dataclass(frozen=True)
class Paper:
    """Is a paper of papers.toml."""

    id: str
    name: str
    title: str
    venue: str
    machine: str
    rank: int = 0  # the place of the paper in papers.toml


@dataclass(frozen=True)
class SweptValue:
    """Is a place on the x axis, with the variables that have another value there."""

    x: Any
    variables: "dict[str, Any]" = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """Is [full] or [quick]: it says how often, at which places, and how long a figure is run."""

    rounds: int
    values: "tuple[SweptValue, ...]"
    variables: "dict[str, Any]"


@dataclass(frozen=True)
class XAxis:
    label: str
    unit: str
    scale: str  # linear, log, category
    limits: "tuple[float, float] | None"
    at_most_per_core: "float | None"  # greater values are left out
    measured: str  # path in the report of what is shown on this axis; "" if the swept value is
    along: str  # path of a list in the report, whose members are the points of one run; "" if a run is a point
    step: float  # with `along`: places are rounded to multiples of it
    together: str = ""  # with `along`: which of several members at one place counts, greatest or smallest; "": an error


@dataclass(frozen=True)
class Panel:
    name: str
    label: str
    unit: str
    scale: str
    limits: "tuple[float, float] | None"
    divide: float  # figures are divided by it to be shown in `unit`
    style: str  # line, bar or stacked
    own_axis: bool  # the paper's points have a y axis of their own, on the right
    measure: "Measure | None"


@dataclass(frozen=True)
class Series:
    name: str
    command: str
    variables: "dict[str, Any]"
    cluster: "dict[str, Any] | None"
    values: "tuple[SweptValue, ...] | None"  # these values replace the setting's
    measures: "dict[str, Measure]"  # by panel
    needs: Needs
    before: "tuple[str, ...]" = ()  # commands that are run before, for reports that `command` reads
    dashed: bool = False  # a dashed line is not measured, but for example a model's


@dataclass(frozen=True)
class Typing:
    """Has the paper's points as they were typed in once."""

    by: str  # raw, table, sentence, text, picture
    source: str
    points: "tuple[tuple[Any, float], ...]"
    repository: str = ""
    path: str = ""
    commit: str = ""
    rows: "tuple[str, ...]" = ()  # rows of the paper's text as they are, from which the points were read


@dataclass(frozen=True)
class Published:
    """Has the paper's points of one series. The first typing is drawn; the others must agree with it."""

    series: str
    panel: str
    within: float  # the typings may differ by this share
    typings: "tuple[Typing, ...]"

    @property
    def points(self) -> "tuple[tuple[Any, float], ...]":
        return self.typings[0].points


@dataclass(frozen=True)
class Figure:
    file: Path
    name: str
    title: str
    paper: Paper
    number: str
    section: str
    about: str
    full: Setting
    quick: Setting
    x: XAxis
    panels: "tuple[Panel, ...]"
    series: "tuple[Series, ...]"
    published: "tuple[Published, ...]"
    claims: "tuple[Claim, ...]"

    @property
    def digest(self) -> str:
        """Returns what tells whether something else is run, drawn or claimed than when a figure was measured. What a
        person says of the verdicts does not count, nor where the file is.
        """
        claims = tuple(without_words(claim) for claim in self.claims)
        text = repr(replace(self, file=Path(), paper=replace(self.paper, rank=0), claims=claims))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def setting(self, quick: bool) -> Setting:
        return self.quick if quick else self.full

    def values_of(self, series: Series, setting: Setting) -> "tuple[SweptValue, ...]":
        return setting.values if series.values is None else series.values
