"""Does `granary figure compare`: it draws results of other engines beside ours."""

import csv
import io
from argparse import Namespace
from typing import Any

from .errors import UsageError
from .foreign import Choice, Line, joined, read
from .noise import short
from .plot import GREY, MARKERS, STYLE, colour, label, matplotlib, pyplot, written
from .store import make_directory, write_whole
from .toml_table import is_number


def compare(flags: Namespace) -> int:
    choice = Choice(flags.x, flags.y, flags.panel)
    lines = joined([line for named in flags.files for line in read(named, choice)])
    choice.refuse_unused(lines)
    _refuse_mixed(lines)
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": "compare"}):
        svg, png = _picture(lines)
    make_directory(flags.out)
    for kind, content in (("svg", svg), ("png", png), ("csv", _csv_text(lines))):
        write_whole(flags.out / f"compare.{kind}", content)
    _tell(lines)
    print(f"{flags.out / 'compare'}.svg, .png, .csv")
    return 0


def _refuse_mixed(lines: "list[Line]") -> None:
    places = {is_number(x) for line in lines for x, *_ in line.points}
    kinds = {line.x_label for line in lines} - {"x"}  # tables do not say what their x is
    if len(places) > 1 or len(kinds) > 1:
        raise UsageError(
            f"the files have different x axes: {', '.join(f'{line.name}: {line.x_label}' for line in lines)}")


def _picture(lines: "list[Line]") -> "tuple[str, bytes]":
    picture, axis = pyplot.subplots(figsize=(5.8, 4), layout="constrained")
    try:
        places = list(dict.fromkeys(x for line in lines for x, *_ in line.points))
        names = not all(map(is_number, places))
        for number, line in enumerate(lines):
            xs = [places.index(x) if names else x for x, *_ in line.points]
            ys = [y for _, y, *_ in line.points]
            spread = [[max(0.0, y - low) for _, y, low, _ in line.points],
                      [max(0.0, high - y) for _, y, _, high in line.points]]
            bars = axis.errorbar(xs, ys, yerr=spread, color=GREY if line.paper else colour(number), capsize=2.5,
                                 marker=MARKERS[number % len(MARKERS)], linestyle="" if names else "-",
                                 label=_plain(line.name),
                                 zorder=1 if line.paper else 3)
            bars.lines[0].set_gid(f"{'paper' if line.paper else 'line'} {line.label}")
        if names:
            axis.set_xticks(range(len(places)), [_plain(str(x)) for x in places])
        label(axis, next((line.x_label for line in lines if line.x_label != "x"), "x"), "", lines[0].y_label, "")
        axis.set_ylim(bottom=0)
        axis.legend()
        return written(picture)
    finally:
        pyplot.close(picture)


def _plain(text: str) -> str:
    """Escapes the signs between which matplotlib expects a formula."""
    return text.replace("$", r"\$")


def _csv_text(lines: "list[Line]") -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("series", "x", "y", "min", "max"))
    for line in lines:
        writer.writerows([(line.name, *point) for point in line.points])
    return text.getvalue()


def _tell(lines: "list[Line]") -> None:
    """Prints a row for each point, with its ratio to the point at the same place of the line that its line is compared
    with.
    """
    width = max(len(line.name) for line in lines)
    for line in lines:
        beside = _compared_with(line, lines)
        first: "dict[Any, float]" = {x: y for x, y, *_ in beside.points}
        for x, y, *_ in line.points:
            ratio = f"   {y / first[x]:.2f} times {beside.name}" if line is not beside and first.get(x) else ""
            print(f"{line.name:<{width}}  {line.x_label} {x:g}  {short(y)}{ratio}" if is_number(x)
                  else f"{line.name:<{width}}  {x}  {short(y)}{ratio}")


def _compared_with(line: Line, lines: "list[Line]") -> Line:
    """Returns the first file's line of the same name, if this one is of another file, and otherwise the first line."""
    if line.file != lines[0].file:
        for other in lines:
            if other.file == lines[0].file and (other.series, other.paper) == (line.series, line.paper):
                return other
    return lines[0]
