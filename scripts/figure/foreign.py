"""Reads results of other engines, and our own, as lines of one picture."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .command_line import THROUGHPUT
from .errors import UsageError
from .toml_table import is_number

TIME = "Time (seconds)"  # of BenchBase's CSV of a run over time


@dataclass
class Line:
    label: str
    x_label: str
    y_label: str
    points: "list[tuple[Any, float, float, float]]"  # x, y, smallest, greatest
    paper: bool = False


def read(named: str, x: str, y: str, panel: str) -> "list[Line]":
    """The lines of one file, `LABEL=FILE` or `FILE`. `x` and `y` are keys of reports, `panel` is of a figure's CSV."""
    label, equals, name = named.partition("=")
    if not equals or Path(named).exists():
        label, name = "", named
    file = Path(name)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"'{name}' cannot be read: {getattr(error, 'strerror', None) or error}") from error
    lines = [_report(file, text, label, x, y)] if text.lstrip().startswith("{") else _table(file, text, label, y, panel)
    if not lines:
        raise UsageError(f"'{file}' has no points")
    return lines


def joined(lines: "list[Line]") -> "list[Line]":
    """Reports of the same engine and benchmark become one line, in the order of x."""
    found: "dict[tuple[str, bool], Line]" = {}
    for line in lines:
        if (first := found.setdefault((line.label, line.paper), line)) is not line:
            first.points += line.points
    for line in found.values():
        if all(is_number(point[0]) for point in line.points):
            line.points.sort(key=lambda point: point[0])
    return list(found.values())


def _report(file: Path, text: str, label: str, x: str, y: str) -> Line:
    try:
        report = json.loads(text)
    except ValueError as error:
        raise UsageError(f"'{file}' is no JSON: {error}") from error
    latencies = report.get("Latency Distribution")
    values = report | (latencies if isinstance(latencies, dict) else {})
    for key in (x, y):
        if not isinstance(values.get(key), (int, float, str)):
            raise UsageError(f"'{file}' has no '{key}'; its keys are {', '.join(map(repr, values))}")
    value = _number(file, y, str(values[y]))
    least, most = value, value
    spread = (report.get("granary") or {}).get("throughput") if y == THROUGHPUT else None
    if spread:  # of the repeats of one of our reports
        least, most = min(value, spread["min"]), max(value, spread["max"])
    engine = f"{report.get('DBMS Type', file.stem)} {report.get('Benchmark Type', '')}".strip()
    return Line(label or engine, x, y, [(_place(str(values[x])), value, least, most)])


def _table(file: Path, text: str, label: str, y: str, panel: str) -> "list[Line]":
    reader = csv.DictReader(text.splitlines())
    rows, columns = list(reader), [name.strip() for name in reader.fieldnames or []]
    rows = [{str(key).strip(): value for key, value in row.items()} for row in rows]
    if {"source", "panel", "series", "x", "median", "min", "max"} <= set(columns):
        return _of_figure(file, rows, label, panel)
    if {"series", "x", "y"} <= set(columns):
        return _of_series(file, rows, label, "x", "y", "y", "min", "max")
    if TIME in columns and y in columns:
        for row in rows:
            row["series"] = ""
        return _of_series(file, rows, label or file.stem, TIME, y, y, y, y)
    raise UsageError(
        f"'{file}' is no result: expected JSON as BenchBase's summary.json, the CSV of a figure, or CSV with the "
        f"columns series, x, y or '{TIME}', '{y}'; its columns are {', '.join(map(repr, columns))}")


def _of_figure(file: Path, rows: "list[dict[str, str]]", label: str, panel: str) -> "list[Line]":
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    if panel and panel not in panels:
        raise UsageError(f"'{file}' has no panel '{panel}'; it has {', '.join(panels)}")
    chosen = [row for row in rows if row["panel"] == (panel or panels[0]) and row["median"]]
    lines = []
    for source in dict.fromkeys(row["source"] for row in chosen):
        of_source = [row for row in chosen if row["source"] == source]
        y_label = of_source[0]["panel"]
        found = _of_series(file, of_source, label, "x", "median", y_label, "min", "max")
        for line in found:
            line.paper = source != "granary"
        lines += found
    return lines


def _of_series(file: Path, rows: "list[dict[str, str]]", label: str, x: str, y: str, y_label: str, least: str,
               most: str) -> "list[Line]":
    lines: "dict[str, Line]" = {}
    for number, row in enumerate(rows, 2):
        name = " ".join(part for part in (label, row["series"]) if part)
        value = _number(file, y, row[y], number)
        bounds = [_number(file, key, row[key], number) if row.get(key) else value for key in (least, most)]
        if not bounds[0] <= value <= bounds[1]:
            raise UsageError(f"{_where(file, number)}: {y} is {value:g}, and not within {least} {bounds[0]:g} and "
                             f"{most} {bounds[1]:g}")
        line = lines.setdefault(name, Line(name, x, y_label, []))
        line.points.append((_place(row[x]), value, *bounds))
    return list(lines.values())


def _number(file: Path, column: str, text: "str | None", line: int = 0) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{_where(file, line)}: {column} is '{text}'; expected a number")
    return value


def _where(file: Path, line: int) -> str:
    return f"'{file}', line {line}" if line else f"'{file}'"


def _place(text: str) -> Any:
    """A number, or a name. BenchBase writes its numbers of terminals as text."""
    try:
        return float(text)
    except ValueError:
        return text
