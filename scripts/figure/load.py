"""Reads figure files. A UsageError names the file, the key and what was expected."""

import re
import tomllib
from pathlib import Path
from typing import Any

from . import checks
from .claims import Claim
from .errors import UsageError
from .measure import Measure, check_path
from .model import Figure, Panel, Paper, Published, Series, Setting, SweptValue, Typing, XAxis
from .needs import Needs
from .template import check_command, check_variables, placeholders
from .toml_table import TomlTable, is_number
from .transcript import number_of

FORMAT = 1
PAPERS = "papers.toml"
FEWEST_ROUNDS = 3  # a figure needs so many unless it only counts


def toml_of(file: Path) -> "dict[str, Any]":
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from error


def load_papers(folder: Path) -> "dict[str, Paper]":
    root = TomlTable(str(folder / PAPERS), toml_of(folder / PAPERS))
    papers = {}
    for rank, name in enumerate(root.values):
        table = root.table(name)
        papers[name] = Paper(name, table.text("name"), table.text("title"), table.text("venue"), table.text("machine"),
                             rank)
        table.finish()
    return papers


def load_all(folder: Path) -> "list[Figure]":
    """Returns all figures of a folder, in the order of their files' names, with numbers by value."""
    papers = load_papers(folder)
    files = [file for file in folder.glob("*.toml") if file.name != PAPERS]
    return [load(file, papers) for file in sorted(files, key=lambda file: natural(file.stem))]


def natural(name: str) -> "list[tuple[int, str]]":
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def load(file: Path, papers: "dict[str, Paper]") -> Figure:
    return _Reader(file, papers).read()


def _paths(table: TomlTable, key: str) -> "tuple[str, ...]":
    """Returns what is a path, or a list of them; no path unless the key is given."""
    found = table.any(key, (), "a path, or a list of paths")
    paths = (found,) if isinstance(found, str) else tuple(table.items(key, []))
    if not all(isinstance(path, str) for path in paths):
        raise table.refuse(key, "a path, or a list of paths")
    return paths


class _Reader:
    def __init__(self, file: Path, papers: "dict[str, Paper]") -> None:
        self.file = file
        self.papers = papers
        self.root = TomlTable(str(file), toml_of(file))
        self.panels: "tuple[Panel, ...]" = ()
        self.series: "tuple[Series, ...]" = ()
        self.scale = ""
        self.along = ""

    def read(self) -> Figure:
        root = self.root
        if root.whole("format") != FORMAT:
            raise root.refuse("format", f"{FORMAT}")
        paper = root.choice("paper", tuple(self.papers))
        command = root.text("command", "")
        common = self._variables(root.table("with", {}))
        cluster = root.any("cluster", None, "a table")
        x = self._x_axis(root.table("x"))
        full, quick = (self._setting(root.table(key)) for key in ("full", "quick"))
        self.panels = tuple(self._panel(table) for table in root.tables("panel"))
        self._refuse_twins("panel", [panel.name for panel in self.panels])
        self.series = tuple(
            self._series(table, command, common, cluster, full, quick) for table in root.tables("series"))
        self._refuse_twins("series", [series.name for series in self.series])
        self._check_relations()
        published = tuple(self._published(table) for table in root.tables("published", []))
        claims = tuple(self._claim(table) for table in root.tables("claim"))
        self._refuse_twins("claim", [claim.id for claim in claims])
        self._check_rounds(full, quick)
        figure = Figure(self.file, self.file.stem, root.text("title"), self.papers[paper], root.text("figure"),
                        root.text("section"), root.text("about"), full, quick, x, self.panels, self.series, published,
                        claims)
        root.finish()
        return figure

    def _check_rounds(self, full: Setting, quick: Setting) -> None:
        """Refuses one round, or two: they tell nothing of noise, which only figures that count do not have."""
        counts = self.root.any("counts", False, "true or false")
        if not isinstance(counts, bool):
            raise self.root.refuse("counts", "true or false")
        for name, setting in (("full", full), ("quick", quick)):
            if setting.rounds < FEWEST_ROUNDS and not counts:
                raise UsageError(f"{self.file}: {name}: rounds is {setting.rounds}; expected at least {FEWEST_ROUNDS}, "
                                 f"or counts = true if no claim is about time")

    def _refuse_twins(self, what: str, names: "list[str]") -> None:
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"{self.file}: two of [[{what}]] are named '{name}'")

    def _variables(self, table: TomlTable) -> "dict[str, Any]":
        return check_variables(table.where, dict(table.values))

    def _setting(self, table: TomlTable) -> Setting:
        rounds = table.whole("rounds", least=1)
        values = self._swept_values(table, "values")
        rest = {key: value for key, value in table.values.items() if key not in ("rounds", "values")}
        return Setting(rounds, values, check_variables(table.where, rest))

    def _swept_values(self, table: TomlTable, key: str) -> "tuple[SweptValue, ...]":
        result = []
        for value in table.items(key):
            variables: "dict[str, Any]" = {}
            if isinstance(value, dict):
                variables = dict(value)
                value = variables.pop("x", None)
            if not self._is_place(value):
                raise table.refuse(key, "numbers (names if the scale is category), or tables with x and variables")
            result.append(SweptValue(value, check_variables(f"{table.where}: {key}", variables)))
        if len({each.x for each in result}) != len(result):
            raise table.refuse(key, "each place once")
        return tuple(result)

    def _is_place(self, value: Any) -> bool:
        return isinstance(value, str) and value != "" if self.scale == "category" else is_number(value)

    def _x_axis(self, table: TomlTable) -> XAxis:
        self.scale = table.choice("scale", ("linear", "log", "category"), "linear")
        measured, along = table.text("measured", ""), table.text("along", "")
        for path in (measured, along):
            if path:
                check_path(table.where, path)
        self.along = along
        if along and not measured:
            raise table.refuse("measured", "the path of x in each member of the list that 'along' names")
        axis = XAxis(table.text("label"), table.text("unit", ""), self.scale, table.pair("limits", None),
                     table.number("at_most_per_core", None, 0.01), measured, along, table.number("step", 1, 1e-9),
                     table.choice("together", ("", "greatest", "smallest"), ""))
        table.finish()
        return axis

    def _panel(self, table: TomlTable) -> Panel:
        measure = self._measure(table, "y") if "y" in table.values else None
        panel = Panel(table.text("name"), table.text("label"), table.text("unit", ""),
                      table.choice("scale", ("linear", "log"), "linear"), table.pair("limits", None),
                      table.number("divide", 1, 1e-12),
                      table.choice("style", ("line", "bar", "stacked") if self.scale == "category" else ("line", "bar"),
                                   "bar" if self.scale == "category" else "line"),
                      table.choice("paper_axis", ("same", "own"), "same") == "own", measure)
        table.finish()
        return panel

    def _measure(self, table: TomlTable, key: str) -> Measure:
        value = table.any(key, None, "a path, or a table with 'value'")
        if isinstance(value, str):
            return Measure(check_path(f"{table.where}: {key}", value))
        inner = TomlTable(f"{table.where}: {key}", value)
        never = inner.any("never", False, "true or false")
        if not isinstance(never, bool):
            raise inner.refuse("never", "true or false")
        measure = Measure(check_path(inner.where, inner.text("value")), _paths(inner, "per"),
                          inner.number("times", 1.0), inner.number("missing", None), inner.text("relative_to", ""),
                          never, _paths(inner, "per_less"), inner.text("less", ""), inner.text("extra_each", ""))
        for path in filter(None, (*measure.per, *measure.per_less, measure.less, measure.extra_each)):
            check_path(inner.where, path)
        if measure.per_less and not measure.per:
            raise inner.refuse("per_less", "it beside 'per' only")
        if measure.never and (measure.per or measure.less or measure.relative_to):
            raise inner.refuse("never", "it without 'per', 'less' and 'relative_to'")
        if measure.extra_each and (measure.never or measure.relative_to or self.along):
            raise inner.refuse("extra_each", "it without 'never', 'relative_to' and the x axis' 'along'")
        inner.finish()
        return measure

    def _measures(self, table: TomlTable) -> "dict[str, Measure]":
        """Returns the measure of each panel: the one that the series has in y, and else the panel's."""
        result = {panel.name: panel.measure for panel in self.panels if panel.measure}
        own = table.any("y", None, "a path, or a table")
        if isinstance(own, str) or (isinstance(own, dict) and "value" in own):
            result[self.panels[0].name] = self._measure(table, "y")
        elif own is not None:
            inner = table.table("y")
            for name in inner.values:
                self._known_panel(table, "y", name)
                result[name] = self._measure(inner, name)
        if not result:
            raise table.refuse("y", "a path into the report, here or in [[panel]]")
        return result

    def _series(self, table: TomlTable, command: str, common: "dict[str, Any]", cluster: Any, full: Setting,
                quick: Setting) -> Series:
        name = table.text("name")
        table.where = f"{self.file}: series {name}"
        own = self._variables(table.table("with", {}))
        values = self._swept_values(table, "values") if "values" in table.values else None
        variables = common | own
        template = table.text("command", command)
        if not template:
            raise table.refuse("command", "a command line, here or for the whole figure")
        before = tuple(self._command_before(table, each) for each in table.items("before", []))
        for setting in (full, quick):
            for swept in values or setting.values:
                for each in (*before, template):
                    check_command(table.where, each, set(setting.variables) | set(variables) | set(swept.variables))
        cluster = self._cluster(table, cluster)
        if any("cluster" in placeholders(each) for each in (*before, template)) != (cluster is not None):
            raise table.refuse(
                "cluster", "a table cluster, here or for the whole figure, for {cluster} in the command, "
                "and none without")
        series = Series(name, template, variables, cluster, values, self._measures(table),
                        self._needs(table.table("needs", {})), before,
                        table.choice("line", ("solid", "dashed"), "solid") == "dashed")
        table.finish()
        return series

    def _command_before(self, table: TomlTable, command: Any) -> str:
        if not isinstance(command, str) or not command:
            raise table.refuse("before", "a list of command lines")
        return command

    def _cluster(self, table: TomlTable, common: Any) -> "dict[str, Any] | None":
        own = table.any("cluster", common, "a table")
        if own is None or own is False:
            return None
        inner = TomlTable(f"{table.where}: cluster", own)
        nodes = inner.any("nodes", 2, "how many nodes")
        if not (isinstance(nodes, str) or (isinstance(nodes, int) and not isinstance(nodes, bool) and nodes > 0)):
            raise inner.refuse("nodes", "a whole number of at least 1, or a placeholder")
        on_disk = inner.any("on_disk", False, "true or false")
        if not isinstance(on_disk, bool):
            raise inner.refuse("on_disk", "true or false")
        keys = {key: inner.table(key, {}).values for key in ("cluster", "defaults", "clock")}
        inner.finish()
        return {"nodes": nodes, "on_disk": on_disk} | keys

    def _needs(self, table: TomlTable) -> Needs:
        flags = {}
        for key in ("rtm", "rdma"):
            flags[key] = table.any(key, False, "true or false")
            if not isinstance(flags[key], bool):
                raise table.refuse(key, "true or false")
        needs = Needs(table.whole("cores", 0), table.number("memory_gib", 0, 0), table.whole("nodes", 0), **flags,
                      peer=table.text("peer", ""))
        table.finish()
        return needs

    def _known_series(self, table: TomlTable, key: str, name: str) -> str:
        known = [series.name for series in self.series]
        if name not in known:
            raise UsageError(f"{table.where}: {key}: there is no series '{name}'; expected one of {', '.join(known)}")
        return name

    def _known_panel(self, table: TomlTable, key: str, name: str) -> str:
        known = [panel.name for panel in self.panels]
        if name not in known:
            raise UsageError(f"{table.where}: {key}: there is no panel '{name}'; expected one of {', '.join(known)}")
        return name

    def _check_relations(self) -> None:
        for series in self.series:
            for panel, measure in series.measures.items():
                if not measure.relative_to:
                    continue
                table = TomlTable(f"{self.file}: series {series.name}: y", {})
                other = self._known_series(table, "relative_to", measure.relative_to)
                target = next(each for each in self.series if each.name == other).measures.get(panel)
                if target is None or (target.relative_to and other != series.name):
                    raise UsageError(f"{table.where}: relative_to: '{other}' has no figure of its own in panel {panel}")

    def _published(self, table: TomlTable) -> Published:
        name = table.text("series")
        panel = self._known_panel(table, "panel", table.text("panel", self.panels[0].name))
        table.where = f"{self.file}: published {name}"
        typings = tuple(self._typing(each) for each in table.tables("typed"))
        within = table.number("within", 0.05, 0)
        ways = {typing.by for typing in typings}
        if "raw" not in ways and len(ways) < 2:
            raise table.refuse("typed", "one that cites the raw file, or two that were made in different ways")
        table.finish()
        return Published(name, panel, within, typings)

    def _typing(self, table: TomlTable) -> Typing:
        way = table.choice("by", ("raw", "table", "sentence", "text", "picture"))
        times = table.number("times", 1)
        rows = tuple(table.items("rows")) if "rows" in table.values else ()
        if not all(isinstance(row, str) for row in rows):
            raise table.refuse("rows", "a list of rows of the paper's text")
        found = self._points_of_rows(table, rows) if rows else self._points_as_typed(table)
        points = tuple((x, y * times) for x, y in found)
        cited = {key: table.text(key) if way == "raw" else "" for key in ("repository", "path", "commit")}
        typing = Typing(way, table.text("source"), points, **cited, rows=rows)
        table.finish()
        return typing

    def _points_as_typed(self, table: TomlTable) -> "list[tuple[Any, float]]":
        for point in table.items("points"):
            if not (isinstance(point, list) and len(point) == 2 and self._is_place(point[0]) and is_number(point[1])):
                raise UsageError(f"{table.where}: points: found {point!r}; expected [x, y]")
        return [(x, y) for x, y in table.items("points")]

    def _points_of_rows(self, table: TomlTable, rows: "tuple[str, ...]") -> "list[tuple[Any, float]]":
        """Returns the points that `read` finds by row and number; with `inverse`, one divided by the number is the
        point.
        """
        inverse = table.any("inverse", False, "true or false")
        if not isinstance(inverse, bool):
            raise table.refuse("inverse", "true or false")
        points = []
        for place in table.items("read"):
            if not (isinstance(place, list) and len(place) == 3 and self._is_place(place[0]) and
                    all(isinstance(each, int) for each in place[1:])):
                raise UsageError(f"{table.where}: read: found {place!r}; expected [x, row, number]")
            number = number_of(rows, place[1], place[2])
            if not number:
                raise UsageError(f"{table.where}: read: row {place[1]} has no number {place[2]} that is not 0")
            points.append((place[0], 1 / number if inverse else number))
        return points

    def _claim(self, table: TomlTable) -> Claim:
        name = table.text("id")
        table.where = f"{self.file}: claim {name}"
        kind = table.choice("check", tuple(checks.KINDS))
        panel = self._known_panel(table, "panel", table.text("panel", self.panels[0].name))
        check = checks.KINDS[kind].read(table, panel)
        for series in check.series:
            self._known_series(table, "series", series)
            if panel not in next(each for each in self.series if each.name == series).measures:
                raise UsageError(f"{table.where}: series '{series}' has no figure in panel '{panel}'")
        claim = Claim(name, table.text("text"), table.text("published", ""), kind, check,
                      self._needs(table.table("needs", {})), self._sentences(table, "why"),
                      self._sentences(table, "would_need"))
        table.finish()
        return claim

    def _sentences(self, table: TomlTable, key: str) -> str:
        """Returns text that may stand in several lines as one line."""
        return " ".join(table.text(key, "").split())
