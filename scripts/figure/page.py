"""Writes one HTML page of all figures whose results are in a directory, with everything in it: pictures, verdicts,
command lines, machine, dates.
"""

import re
from html import escape
from pathlib import Path
from typing import Any

from .kept import builds, counts, first_and_last, kept_results, machines
from .noise import CANNOT_TELL, FAIL, NULL
from .store import write_whole

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25em .6em; vertical-align: top }
tr { border-bottom: 1px solid #ddd } .PASS { color: #00794f } .FAIL { color: #c0221b } .NULL { color: #777 }
.PASS, .FAIL, .NULL { font-weight: bold } code, pre { font-size: 85%; background: #f5f5f5 }
pre { overflow-x: auto; padding: .6em }
svg { max-width: 100%; height: auto } .small { color: #666; font-size: 90% }
"""

Result = dict[str, Any]  # as results.json_of() makes it


def write_page(directory: Path) -> Path:
    path = directory / "index.html"
    write_whole(path, page(directory, kept_results(directory)))
    return path


def page(directory: Path, results: "list[Result]") -> str:
    quick = ", with <code>--quick</code>" if results and all(result["quick"] for result in results) else ""
    where = escape(f"{'; '.join(machines(results))}. {'; '.join(builds(results))}. {_when(results)}")
    return (
        f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Granary: figures</title>"
        f"<style>{STYLE}</style></head><body>\n<h1>Figures of the papers, measured with Granary{quick}</h1>\n"
        f"<p>{where} In the pictures Granary's points are in colour, the median of all rounds with minimum and "
        f"maximum; the paper's points are grey. A claim passes or fails only if the rounds agree; NULL means that this "
        f"machine or this run cannot tell.</p>\n"
        f"{_counts(results)}\n{_table(results)}\n" +
        "\n".join(_section(directory, result) for result in results) + "\n</body></html>\n")


def _when(results: "list[Result]") -> str:
    times = first_and_last(results)
    return f"Measured from {times[0]} to {times[1]}." if times else ""


def _counts(results: "list[Result]") -> str:
    found = ", ".join(f"<span class=\"{name}\">{count} {name}</span>" for name, count in counts(results).items())
    return f"<h2>Verdicts</h2>\n<p>{found}</p>"


def _table(results: "list[Result]") -> str:
    rows = []
    for result in results:
        for claim in result["claims"]:
            rows.append(
                f"<tr><td><a href=\"#{result['figure']}\">{result['figure']}</a></td><td>{escape(claim['id'])}</td>"
                f"<td class=\"{claim['result']}\">{claim['result']}</td><td>{escape(claim['text'])}</td>"
                f"<td>{escape(claim['published'])}</td><td>{escape(claim['reason'])}</td></tr>")
    return ("<table><tr><th>figure</th><th>claim</th><th>verdict</th><th>what is claimed</th><th>the paper's</th>"
            "<th>measured</th></tr>\n" + "\n".join(rows) + "</table>")


def _section(directory: Path, result: Result) -> str:
    name, paper = result["figure"], result["paper"]
    lines = "\n".join(
        f"<li><span class=\"{claim['result']}\">{claim['result']}</span> {escape(claim['id'])}: "
        f"{escape(claim['text'])} ({escape(claim['reason'])}){_remark(claim)}</li>" for claim in result["claims"])
    commands = "\n".join(dict.fromkeys(point["command"] for point in result["points"]))
    files = " ".join(f"<a href=\"{name}.{kind}\">{kind.upper()}</a>" for kind in ("csv", "json", "svg", "png"))
    return (
        f"<h2 id=\"{name}\">{name}: {escape(result['title'])}</h2>\n"
        f"<p class=\"small\">{escape(paper['title'])} ({escape(paper['venue'])}), {escape(paper['figure'])}, "
        f"section {escape(paper['section'])}; measured there on {escape(paper['machine'])}. {files}</p>\n"
        f"<p>{escape(result['about'].strip())}</p>\n{_inlined(directory / f'{name}.svg')}\n<ul>{lines}</ul>\n"
        f"{_left_out(result)}<details><summary>Commands, {result['rounds']} rounds of each</summary>"
        f"<pre>{escape(commands)}</pre></details>\n"
        f"<p class=\"small\">{escape(_when([result]))} {escape('; '.join(builds([result])))}. "
        f"Source of the paper's points: {_sources(result)}</p>")


def _remark(claim: "dict[str, Any]") -> str:
    """Returns what stands with the claim for its verdict. It is Markdown, of which links are shown as their text."""
    doubts = claim["why"] if claim["reason"].startswith(CANNOT_TELL) else ""
    said = {FAIL: claim["why"],
            NULL: " ".join(filter(None, [doubts and f"It has failed in other runs: {doubts}",
                                         claim["would_need"] and f"It would need {claim['would_need']}"]))}
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", said.get(claim["result"], ""))
    return f"<br><span class=\"small\">{escape(text[:1].upper() + text[1:])}</span>" if text else ""


def _inlined(path: Path) -> str:
    """Returns the picture without the lines before its first element."""
    return re.sub(r"\A.*?(?=<svg)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def _left_out(result: Result) -> str:
    notes = result["notes"]
    text = f"<p class=\"small\">Left out: {escape('; '.join(notes))}.</p>\n" if notes else ""
    if result["failed_runs"]:
        items = "".join(
            f"<li><code>granary {escape(each['command'])}</code> (round {each['round']}) ended with "
            f"{each['exit_code']}: {escape(each['trouble'])}</li>" for each in result["failed_runs"])
        text += f"<p class=\"FAIL\">Runs that failed:</p><ul>{items}</ul>\n"
    return text


def _sources(result: Result) -> str:
    found = []
    for each in result["published"]:
        for typing in each["typed"]:
            at = (f" ({typing['repository']}, {typing['path']}, commit {typing['commit'][:10]})"
                  if typing["repository"] else "")
            found.append(f"{each['series']}: {typing['source']}{at}")
    return escape("; ".join(found)) if found else "none"
