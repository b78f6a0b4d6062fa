"""Writes a figure's results: CSV, JSON, SVG, PNG. They depend on the results of the runs only, not on the time."""

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

from .claims import check_of
from .kept import FORMAT
from .machine import Machine
from .model import Panel
from .noise import NEVER
from .plot import pictures
from .points import Points
from .store import write_whole
from .verdicts import Judged

CSV_COLUMNS = ("figure", "source", "panel", "series", "x", "unit", "rounds", "median", "min", "max", "command")
# The key has a divisor, and the start of the unit of divided numbers. The value is that start for undivided ones.
UNDIVIDED = {(1e3, "K"): "", (1e6, "Million"): "", (1e6, "M"): "", (1e3, "us"): "ns", (1e3, "ms"): "us",
             (1e6, "ms"): "ns"}


def write_results(directory: Path, points: Points, judged: "list[Judged]", machine: Machine) -> None:
    name = points.figure.name
    write_whole(directory / f"{name}.csv", csv_text(points))
    write_whole(directory / f"{name}.json", json.dumps(json_of(points, judged, machine), indent=1) + "\n")
    svg, png = pictures(points)
    write_whole(directory / f"{name}.svg", svg)
    write_whole(directory / f"{name}.png", png)


def csv_text(points: Points) -> str:
    """Returns a row for each point of ours and of the paper's."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    figure = points.figure
    units = {panel.name: undivided_unit(panel) for panel in figure.panels}
    for point in points.all():
        values = (point.median, min(point.known), max(point.known)) if point.has_median else ("", "", "")
        writer.writerow([figure.name, "granary", point.panel, point.series, point.drawn_x, units[point.panel],
                         len(point.known), *values, f"granary {point.command}"])
    for each in figure.published:
        for x, y in each.points:
            place = [figure.name, figure.paper.id, each.panel, each.series, x, units[each.panel]]
            writer.writerow([*place, "", y, "", "", ""])
    return text.getvalue()


def undivided_unit(panel: Panel) -> str:
    """Returns the unit of the numbers in the file, which are not divided as those in the picture are."""
    if panel.divide == 1:
        return panel.unit
    for (divide, divided), whole in UNDIVIDED.items():
        if panel.divide == divide and panel.unit.startswith(divided):
            unit = whole + panel.unit.removeprefix(divided).lstrip()
            return f"1{unit}" if unit.startswith("/") else unit
    return f"{panel.unit} / {panel.divide:g}"


def json_of(points: Points, judged: "list[Judged]", machine: Machine) -> "dict[str, Any]":
    figure, plan = points.figure, points.plan
    setting = figure.setting(plan.quick)
    return {
        "format": FORMAT,
        "figure": figure.name,
        "title": figure.title,
        "paper": dataclasses.asdict(figure.paper) | {"figure": figure.number, "section": figure.section},
        "about": figure.about,
        "digest": figure.digest,
        "quick": plan.quick,
        "rounds": plan.rounds,
        "variables": setting.variables | plan.overrides,
        "machine": dataclasses.asdict(machine),
        "measured": measured(points),
        "build": sorted({result["build"] for result in points.reports}),
        "environments": environments(points),
        "points": [{"panel": point.panel, "series": point.series, "x": point.x, "shown_x": point.drawn_x,
                    "values": ["never" if value == NEVER else value for value in point.values],
                    "median": point.median if point.has_median else None,
                    "command": f"granary {point.command}", "troubles": point.troubles} for point in points.all()],
        "notes": plan.notes(),
        "left_out": [{"series": name, "x": x, "reason": why} for (name, x), why in plan.left_out.items()]
        + [{"series": name, "x": None, "reason": why} for name, why in plan.left_out_series.items()],
        "failed_runs": [dataclasses.asdict(failure) for failure in points.failures],
        "published": [{"series": each.series, "panel": each.panel, "points": each.points,
                       "typed": [dataclasses.asdict(typing) for typing in each.typings]} for each in figure.published],
        "claims": [{"id": each.claim.id, "text": each.claim.text, "published": each.claim.published,
                    "check": check_of(each.claim),
                    "needs": dataclasses.asdict(each.claim.needs), "result": each.verdict.result,
                    "reason": each.verdict.reason, "why": each.claim.why, "would_need": each.claim.would_need}
                   for each in judged],
        "runs": [{key: result[key] for key in ("words", "cluster", "round", "started", "seconds", "exit_code")}
                 | {"parameters": parameters(result)} for result in points.reports],
    }


def measured(points: Points) -> "dict[str, str | None]":
    """Returns when the first and the last run began."""
    started = sorted(result["started"] for result in points.reports)
    return {"first": started[0] if started else None, "last": started[-1] if started else None}


def parameters(result: "dict[str, Any]") -> Any:
    """Returns all flags of a run, also those that nobody has given, without the places that it was lent."""
    given = ((result["report"] or {}).get("granary") or {}).get("parameters") or {}
    return {key: value for key, value in given.items() if key not in ("json", "cluster", "directory")}


def environments(points: Points) -> "list[Any]":
    """Returns what the reports say of build and machine, each different one once."""
    found = []
    for result in points.reports:
        granary = (result["report"] or {}).get("granary") or {}
        environment = {key: granary[key] for key in ("build", "machine") if key in granary}
        if environment and environment not in found:
            found.append(environment)
    return found
