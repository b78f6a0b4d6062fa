"""Reads results of other engines, and our own, as lines of one picture."""

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .command_line import THROUGHPUT
from .errors import UsageError
from .measure import was_interrupted
from .toml_table import is_number

TIME = "Time (seconds)"  # BenchBase's CSV of a run over time has this column


@dataclass
class Line:
    label: str
    x_label: str
    y_label: str
    points: "list[tuple[Any, float, float, float]]"  # x, y, smallest, greatest
    file: Path
    series: str = ""  # the name that the line has in the file
    paper: bool = False
    report: bool = False  # each file has one point of such a line

    @property
    def name(self) -> str:
        """Returns the label, with a word that tells a paper's points from ours."""
        return f"{self.label} (paper)" if self.paper else self.label

    @property
    def whose(self) -> "tuple[str, bool, Path | None]":
        """Tells which points are of one line. Reports of one engine and benchmark are, whichever files they are in.
        Others are their file's.
        """
        return self.label, self.paper, None if self.report else self.file


@dataclass(frozen=True)
class Choice:
    """Tells what of the files is wanted: keys of reports, a column of BenchBase's CSV over time, a panel of a figure's
    CSV. None stands for what the help says.
    """

    x: "str | None" = None
    y: "str | None" = None
    panel: "str | None" = None

    def refuse_unused(self, lines: "list[Line]") -> None:
        """Refuses a flag that chooses nothing, since it was meant for another file."""
        reports, over_time = any(line.report for line in lines), any(line.x_label == TIME for line in lines)
        figures = any(line.y_label not in ("y", self.y) and not line.report for line in lines)
        for flag, value, used, use in (
            ("x", self.x, reports, "reports"), ("panel", self.panel, figures, "a figure's CSV"),
            ("y", self.y, reports or over_time, "reports and BenchBase's CSV of a run over time")):
            if value is not None and not used:
                raise UsageError(f"--{flag}={value} is of use only with {use}")


def read(named: str, choice: Choice) -> "list[Line]":
    """Returns the lines of one file, which is named as `LABEL=FILE` or `FILE`."""
    label, equals, name = named.partition("=")
    if not equals or Path(named).exists():
        label, name = "", named
    file = Path(name)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"'{name}' cannot be read: {getattr(error, 'strerror', None) or error}") from error
    x, y = choice.x or "terminals", choice.y or THROUGHPUT
    if text.lstrip().startswith("{"):
        lines = [_report(file, text, label, x, y)]
    else:
        lines = _table(file, text, label, y, choice.panel or "")
    if not lines:
        raise UsageError(f"'{file}' has no points")
    return lines


def joined(lines: "list[Line]") -> "list[Line]":
    """Makes one line of the reports of the same engine and benchmark, in the order of x. Lines of several files that
    have the same name are told apart by their files.
    """
    found: "dict[tuple[str, bool, Path | None], Line]" = {}
    for line in lines:
        if (first := found.setdefault(line.whose, line)) is not line:
            if not line.report:
                raise UsageError(f"'{line.file}' is given twice")
            first.points += line.points
    for line in found.values():
        if all(is_number(point[0]) for point in line.points):
            line.points.sort(key=lambda point: point[0])
    _tell_apart(list(found.values()))
    return list(found.values())


def _tell_apart(lines: "list[Line]") -> None:
    known: "dict[tuple[str, bool], set[Path]]" = {}
    for line in lines:
        known.setdefault((line.label, line.paper), set()).add(line.file)
    for line in lines:
        if len(files := known[line.label, line.paper]) > 1:
            line.label = f"{line.label} ({_short_name(line.file, files)})"


def _short_name(file: Path, files: "set[Path]") -> str:
    """Returns as much of the end of the path as tells it from the others."""
    parts = file.resolve().parts
    for count in range(1, len(parts) + 1):
        ends = {each.resolve().parts[-count:] for each in files}
        if len(ends) == len(files):
            return "/".join(parts[-count:])
    return str(file)


def _report(file: Path, text: str, label: str, x: str, y: str) -> Line:
    try:
        report = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"'{file}' is no JSON: {error}") from error
    if was_interrupted(report):
        raise UsageError(f"'{file}' is of a run that was interrupted; run it again")
    latencies = report.get("Latency Distribution")
    values = report | (latencies if isinstance(latencies, dict) else {})
    for key in (x, y):
        if not isinstance(values.get(key), (int, float, str)):
            raise UsageError(f"'{file}' has no '{key}'; its keys are {', '.join(map(repr, values))}")
    value = _number(file, y, str(values[y]))
    least, most = value, value
    ours = report.get("granary")
    spread = ours.get("throughput") if y == THROUGHPUT and isinstance(ours, dict) else None
    if isinstance(spread, dict):  # our reports tell the spread of their repeats
        least = min(value, _number(file, "granary.throughput.min", str(spread.get("min"))))
        most = max(value, _number(file, "granary.throughput.max", str(spread.get("max"))))
    engine = f"{report.get('DBMS Type', file.stem)} {report.get('Benchmark Type', '')}".strip()
    name = label or engine
    return Line(name, x, y, [(_place(file, x, str(values[x])), value, least, most)], file, name, report=True)


def _table(file: Path, text: str, label: str, y: str, panel: str) -> "list[Line]":
    try:
        reader = csv.DictReader(text.splitlines())
        rows, columns = list(reader), [name.strip() for name in reader.fieldnames or []]
    except csv.Error as error:
        raise UsageError(f"'{file}' is no CSV: {error}") from error
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise UsageError(f"'{file}' has the column '{twice[0]}' twice")
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
        line = lines.setdefault(name, Line(name, x, y_label, [], file, row["series"] or ""))
        line.points.append((_place(file, x, row[x], number), value, *bounds))
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


def _place(file: Path, column: str, text: "str | None", line: int = 0) -> Any:
    """Returns a number, or else a name. BenchBase writes its numbers of terminals as text."""
    if not text:
        raise UsageError(f"{_where(file, line)}: {column} is missing")
    try:
        place = float(text)
    except ValueError:
        return text
    if not math.isfinite(place):
        raise UsageError(f"{_where(file, line)}: {column} is '{text}'; expected a number, or a name")
    return place
