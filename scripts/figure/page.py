"""One HTML page of several figures, with everything in it: pictures, verdicts, command lines, machine, dates."""

import re
from html import escape
from pathlib import Path

from .machine import Machine
from .points import Points
from .results import measured
from .store import write_whole
from .verdicts import Judged

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25em .6em; vertical-align: top }
tr { border-bottom: 1px solid #ddd } .PASS { color: #00794f } .FAIL { color: #c0221b } .NULL { color: #777 }
.PASS, .FAIL, .NULL { font-weight: bold } code, pre { font-size: 85%; background: #f5f5f5 }
pre { overflow-x: auto; padding: .6em }
svg { max-width: 100%; height: auto } .small { color: #666; font-size: 90% }
"""

Finished = tuple[Points, "list[Judged]"]


def write_page(directory: Path, finished: "list[Finished]", machine: Machine, build: str) -> Path:
    path = directory / "index.html"
    write_whole(path, page(directory, finished, machine, build))
    return path


def page(directory: Path, finished: "list[Finished]", machine: Machine, build: str) -> str:
    quick = ", with <code>--quick</code>" if any(points.plan.quick for points, _ in finished) else ""
    return (
        f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Granary: figures</title>"
        f"<style>{STYLE}</style></head><body>\n<h1>Figures of the papers, measured with Granary{quick}</h1>\n"
        f"<p>{escape(machine.text)}. {escape(build)}. {_when(finished)} In the pictures Granary's points are in "
        f"colour, the median of all rounds with minimum and maximum; the paper's points are grey. A claim passes or "
        f"fails only if the rounds agree; NULL means that this machine or this run cannot tell.</p>\n"
        f"{_counts(finished)}\n{_table(finished)}\n" +
        "\n".join(_section(directory, points, judged) for points, judged in finished) + "\n</body></html>\n")


def _when(finished: "list[Finished]") -> str:
    found = [each for points, _ in finished for each in measured(points).values() if each]
    return f"Measured from {min(found)} to {max(found)}." if found else ""


def _counts(finished: "list[Finished]") -> str:
    results = [each.verdict.result for _, judged in finished for each in judged]
    counts = ", ".join(f"<span class=\"{name}\">{results.count(name)} {name}</span>"
                       for name in ("PASS", "FAIL", "NULL"))
    return f"<h2>Verdicts</h2>\n<p>{counts}</p>"


def _table(finished: "list[Finished]") -> str:
    rows = []
    for points, judged in finished:
        figure = points.figure
        for each in judged:
            rows.append(
                f"<tr><td><a href=\"#{figure.name}\">{figure.name}</a></td><td>{escape(each.claim.id)}</td>"
                f"<td class=\"{each.verdict.result}\">{each.verdict.result}</td><td>{escape(each.claim.text)}</td>"
                f"<td>{escape(each.claim.published)}</td><td>{escape(each.verdict.reason)}</td></tr>")
    return ("<table><tr><th>figure</th><th>claim</th><th>verdict</th><th>what is claimed</th><th>the paper's</th>"
            "<th>measured</th></tr>\n" + "\n".join(rows) + "</table>")


def _section(directory: Path, points: Points, judged: "list[Judged]") -> str:
    figure = points.figure
    lines = "\n".join(
        f"<li><span class=\"{each.verdict.result}\">{each.verdict.result}</span> {escape(each.claim.id)}: "
        f"{escape(each.claim.text)} ({escape(each.verdict.reason)})</li>" for each in judged)
    commands = "\n".join(dict.fromkeys(f"granary {point.command}" for point in points.all()))
    files = " ".join(f"<a href=\"{figure.name}.{kind}\">{kind.upper()}</a>" for kind in ("csv", "json", "svg", "png"))
    return (
        f"<h2 id=\"{figure.name}\">{figure.name}: {escape(figure.title)}</h2>\n"
        f"<p class=\"small\">{escape(figure.paper.title)} ({escape(figure.paper.venue)}), {escape(figure.number)}, "
        f"section {escape(figure.section)}; measured there on {escape(figure.paper.machine)}. {files}</p>\n"
        f"<p>{escape(figure.about.strip())}</p>\n{_inlined(directory / f'{figure.name}.svg')}\n<ul>{lines}</ul>\n"
        f"{_left_out(points)}<details><summary>Commands, {points.plan.rounds} rounds of each</summary>"
        f"<pre>{escape(commands)}</pre></details>\n"
        f"<p class=\"small\">Source of the paper's points: {_sources(points)}</p>")


def _inlined(path: Path) -> str:
    """The picture without the lines before its first element."""
    return re.sub(r"\A.*?(?=<svg)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def _left_out(points: Points) -> str:
    notes = points.plan.notes()
    text = f"<p class=\"small\">Left out: {escape('; '.join(notes))}.</p>\n" if notes else ""
    if points.failures:
        items = "".join(
            f"<li><code>granary {escape(each.command)}</code> (round {each.round}) ended with {each.exit_code}: "
            f"{escape(each.trouble)}</li>" for each in points.failures)
        text += f"<p class=\"FAIL\">Runs that failed:</p><ul>{items}</ul>\n"
    return text


def _sources(points: Points) -> str:
    found = []
    for each in points.figure.published:
        for typing in each.typings:
            at = f" ({typing.repository}, {typing.path}, commit {typing.commit[:10]})" if typing.repository else ""
            found.append(f"{each.series}: {typing.source}{at}")
    return escape("; ".join(found)) if found else "none"
