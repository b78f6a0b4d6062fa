"""Draws figures with matplotlib: ours in colour with minimum and maximum, the paper's points grey and beneath ours."""

import io
import textwrap
from collections.abc import Sequence
from typing import Any

from .errors import EnvironmentTrouble
from .model import Figure, Panel
from .points import Points

try:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError as error:
    raise EnvironmentTrouble(f"Python's matplotlib is missing ({error}); install the package python3-matplotlib "
                             f"(scripts/setup.sh does), or name a Python that has it in PYTHON") from error

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
MARKERS = "osD^vP*X"
MOST_COLUMNS = 3
GREY = "#a0a0a0"
# Text stays text, and names within the file depend on the figure only, so that equal results make equal files.
STYLE = {"svg.fonttype": "none", "font.size": 9, "axes.grid": True, "grid.color": "#e6e6e6", "axes.axisbelow": True,
         "legend.fontsize": 7, "legend.framealpha": 0.8}


def pictures(points: Points) -> "tuple[str, bytes]":
    """Returns the figure as SVG and as PNG."""
    figure = points.figure
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": figure.name}):
        columns = min(MOST_COLUMNS, len(figure.panels))
        rows = -(-len(figure.panels) // columns)
        picture, axes = pyplot.subplots(rows, columns, squeeze=False, figsize=(5.2 * columns, 3.9 * rows),
                                        layout="constrained")
        try:
            title = f"{figure.paper.name}, {figure.number}: {figure.title}"
            picture.suptitle(textwrap.fill(title, 72 * columns), fontsize=9)
            for panel, axis in zip(figure.panels, axes.flat):
                _draw_panel(points, panel, axis)
            for axis in axes.flat[len(figure.panels):]:
                axis.set_axis_off()
            return written(picture)
        finally:
            pyplot.close(picture)


def written(picture: Any) -> "tuple[str, bytes]":
    svg, png = io.StringIO(), io.BytesIO()
    picture.savefig(svg, format="svg", metadata={"Date": None})
    picture.savefig(png, format="png", dpi=130, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()


def _draw_panel(points: Points, panel: Panel, axis: Any) -> None:
    figure = points.figure
    label(axis, figure.x.label, figure.x.unit, panel.label, panel.unit)
    if figure.x.scale == "log":
        axis.set_xscale("log")
    if panel.scale == "log":
        axis.set_yscale("log")
    papers = _paper_axis(panel, axis)
    published = [each for each in figure.published if each.panel == panel.name]
    ours = [series.name for series in figure.series if points.of(panel.name, series.name)]
    if figure.x.scale == "category":
        _draw_categories(points, panel, axis, papers)
    elif panel.style == "bar":
        _draw_bars(points, panel, axis, papers, _places(points, panel))
    else:
        for number, each in enumerate(published):
            line, = papers.plot([x for x, _ in each.points], [y / panel.divide for _, y in each.points], color=GREY,
                                marker=_marker(figure, each.series, number), markersize=4, linewidth=1, zorder=1,
                                label=f"{each.series} (paper)")
            line.set_gid(f"paper {panel.name} {each.series}")
        for name in ours:
            _draw_line(points, panel, axis, name)
    _set_limits(figure, panel, axis)
    _draw_legend(axis, papers)


def label(axis: Any, x: str, x_unit: str, y: str, y_unit: str) -> None:
    axis.set_xlabel(f"{x} ({x_unit})" if x_unit else x)
    axis.set_ylabel(f"{y} ({y_unit})" if y_unit else y)


def _paper_axis(panel: Panel, axis: Any) -> Any:
    """Returns the axis on which the paper's points are drawn, beneath ours."""
    if not panel.own_axis:
        return axis
    papers = axis.twinx()
    papers.set_ylabel("the paper's", color="#707070")
    papers.tick_params(axis="y", colors="#707070")
    for each in (axis, papers):
        each.grid(False)
    if panel.scale == "log":
        papers.set_yscale("log")
    axis.set_zorder(papers.get_zorder() + 1)
    axis.patch.set_visible(False)
    return papers


def _marker(figure: Figure, name: str, otherwise: int) -> str:
    names = [series.name for series in figure.series]
    return MARKERS[(names.index(name) if name in names else otherwise) % len(MARKERS)]


def colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _number(figure: Figure, name: str) -> int:
    return [series.name for series in figure.series].index(name)


def spread(values: "Sequence[Sequence[float]]", divide: float, middles: "Sequence[float]") -> "list[list[float]]":
    """Returns the lengths of error bars, from the middle to the smallest and to the greatest."""
    return [[(middle - min(each)) / divide for each, middle in zip(values, middles)],
            [(max(each) - middle) / divide for each, middle in zip(values, middles)]]


def _draw_line(points: Points, panel: Panel, axis: Any, name: str) -> None:
    found = points.of(panel.name, name)
    if points.figure.x.along:
        found = sorted(found, key=lambda point: point.x)
    number = _number(points.figure, name)
    medians = [point.median for point in found]
    bars = axis.errorbar([point.drawn_x for point in found], [median / panel.divide for median in medians],
                         yerr=spread([point.known for point in found], panel.divide, medians), color=colour(number),
                         marker=MARKERS[number % len(MARKERS)], markersize=5, capsize=2.5, linewidth=1.6, zorder=3,
                         linestyle="--" if points.figure.series[number].dashed else "-", label=name)
    bars.lines[0].set_gid(f"ours {panel.name} {name}")


def _places(points: Points, panel: Panel) -> "list[Any]":
    """Returns all places of the panel: those of the file in its order, and then all others, ours first."""
    ours = [point.x for series in points.figure.series for point in points.of(panel.name, series.name)]
    theirs = [x for each in points.figure.published if each.panel == panel.name for x, _ in each.points]
    swept = [value.x for value in points.figure.setting(points.plan.quick).values]
    known = set(ours) | set(theirs)
    return list(dict.fromkeys([x for x in swept if x in known] + ours + theirs))


def _draw_categories(points: Points, panel: Panel, axis: Any, papers: Any) -> None:
    places = _places(points, panel)
    if panel.style == "stacked":
        _draw_stacks(points, panel, axis, places)
        return
    if panel.style == "bar":
        _draw_bars(points, panel, axis, papers, places)
        return
    for series in points.figure.series:
        found = {point.x: point for point in points.of(panel.name, series.name)}
        shown = [(place, found[x]) for place, x in enumerate(places) if x in found]
        if shown:
            _draw_marks(panel, axis, series.name, _number(points.figure, series.name), shown)
    for number, each in enumerate(points.figure.published):
        if each.panel == panel.name:
            line, = papers.plot([places.index(x) for x, _ in each.points], [y / panel.divide for _, y in each.points],
                                color=GREY, marker=_marker(points.figure, each.series, number), linestyle="", zorder=1,
                                label=f"{each.series} (paper)")
            line.set_gid(f"paper {panel.name} {each.series}")
    _name_places(axis, places)


def _draw_marks(panel: Panel, axis: Any, name: str, number: int, shown: "list[tuple[int, Any]]") -> None:
    medians = [point.median for _, point in shown]
    bars = axis.errorbar([place for place, _ in shown], [median / panel.divide for median in medians],
                         yerr=spread([point.known for _, point in shown], panel.divide, medians), color=colour(number),
                         marker=MARKERS[number % len(MARKERS)], linestyle="", capsize=2.5, zorder=3, label=name)
    bars.lines[0].set_gid(f"ours {panel.name} {name}")


def _draw_bars(points: Points, panel: Panel, axis: Any, papers: Any, places: "list[Any]") -> None:
    """Draws a group of bars at each place: for each series the paper's, grey, and ours to the right of it. Series that
    only the paper has are hatched, and named.
    """
    figure = points.figure
    published = {each.series: dict(each.points) for each in figure.published if each.panel == panel.name}
    ours = {series.name: {point.x: point for point in points.of(panel.name, series.name)} for series in figure.series}
    groups = [(name, kind) for name in dict.fromkeys([*ours, *published]) for kind in ("paper", "ours")
              if (published if kind == "paper" else ours).get(name)]
    width = 0.8 / max(1, len(groups))
    for each in (axis, papers):
        each.margins(y=0.2)  # this leaves room for the legend
    for at, (name, kind) in enumerate(groups):
        values: "dict[Any, Any]" = published[name] if kind == "paper" else ours[name]
        shown = [(place - 0.4 + (at + 0.5) * width, values[x]) for place, x in enumerate(places) if x in values]
        if kind == "paper":
            bars = papers.bar([place for place, _ in shown], [y / panel.divide for _, y in shown], width,
                              color="#cccccc", edgecolor=GREY, hatch="" if ours.get(name) else "//",
                              label=_label_of_paper(name, groups))
        else:
            medians = [point.median for _, point in shown]
            bars = axis.bar([place for place, _ in shown], [median / panel.divide for median in medians], width,
                            yerr=spread([point.known for _, point in shown], panel.divide, medians), capsize=2.5,
                            color=colour(_number(figure, name)), label=name)
        for each in bars:
            each.set_gid(f"{kind} {panel.name} {name}")
    _name_places(axis, places)


def _draw_stacks(points: Points, panel: Panel, axis: Any, places: "list[Any]") -> None:
    """Draws one bar at each place, made of the medians of all series."""
    tops = [0.0] * len(places)
    for number, series in enumerate(points.figure.series):
        found = {point.x: point.median / panel.divide for point in points.of(panel.name, series.name)}
        shown = [(place, tops[place], found[x]) for place, x in enumerate(places) if x in found]
        bars = axis.bar([place for place, _, _ in shown], [height for _, _, height in shown], 0.6,
                        bottom=[bottom for _, bottom, _ in shown], color=colour(number), label=series.name)
        for each in bars:
            each.set_gid(f"ours {panel.name} {series.name}")
        for place, _, height in shown:
            tops[place] += height
    _name_places(axis, places)


def _label_of_paper(name: str, groups: "list[tuple[str, str]]") -> "str | None":
    """Returns the legend's text for bars of the paper: all that have one of ours beside them share one text, at the
    first.
    """
    if (name, "ours") not in groups:
        return f"{name} (paper)"
    first = next(each for each, kind in groups if kind == "paper" and (each, "ours") in groups)
    return "the paper's, left of ours" if name == first else None


def _name_places(axis: Any, places: "list[Any]") -> None:
    many = len(places) > 4 or any(len(str(x)) > 12 for x in places)
    axis.set_xticks(range(len(places)), [str(x) for x in places], rotation=30 if many else 0,
                    ha="right" if many else "center")


def _set_limits(figure: Figure, panel: Panel, axis: Any) -> None:
    if figure.x.limits and figure.x.scale != "category" and panel.style == "line":
        axis.set_xlim(*figure.x.limits)
    if panel.limits:  # these are the paper's; a point beyond them is shown all the same
        low, high = panel.limits
        axis.set_ylim(min(low, axis.dataLim.ymin), high if axis.dataLim.ymax <= high else 1.05 * axis.dataLim.ymax)
    elif panel.scale == "linear" and axis.dataLim.ymin >= 0:
        axis.set_ylim(bottom=0)


def _draw_legend(axis: Any, papers: Any) -> None:
    handles, labels = axis.get_legend_handles_labels()
    if papers is not axis:
        more = papers.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    if handles:
        axis.legend(handles, labels, ncols=2 if len(handles) > 6 else 1)
