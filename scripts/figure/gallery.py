"""Does `granary figure gallery`: it writes one page in Markdown of all figures whose results are in a directory.
Nothing on it is written by hand: verdicts are from the results, and what a person has to say of them stands with the
claims in the figure files.
"""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .claims import Claim
from .errors import UsageError
from .kept import builds, counts, different, first_and_last, kept_results, machines
from .model import Figure
from .noise import CANNOT_TELL, FAIL, NULL, PASS, short
from .progress import counted
from .store import make_directory, write_whole

COLUMNS = 118
PICTURES = Path("images/figures")
Result = dict[str, Any]  # as results.json_of() makes it
Measured = tuple[Figure, Result]


def write_gallery(results: Path, out: Path, figures: "Sequence[Figure]") -> int:
    """Writes the page and its pictures. Returns the exit code."""
    found = _measured(results, figures)
    make_directory(out / PICTURES)
    for figure, _ in found:
        write_whole(out / PICTURES / f"{figure.name}.svg", _picture(results / f"{figure.name}.svg"))
    write_whole(out / "gallery.md", gallery(found, figures))
    print(f"{out / 'gallery.md'}: {counted(len(found), 'figure')}; {out / PICTURES}")
    return 0


def _picture(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the picture '{path}': {error.strerror}; measure the figure again") from error


def _measured(results: Path, figures: "Sequence[Figure]") -> "list[Measured]":
    """Returns the figures that have results, in the order of the gallery."""
    kept = {result["figure"]: result for result in kept_results(results)}
    found = [(figure, kept[figure.name]) for figure in figures if figure.name in kept]
    if not found:
        raise UsageError(f"'{results}' has no results of any figure; measure first, or name their directory in --from")
    for figure, result in found:
        claims = result.get("claims")
        if not isinstance(claims, list) or [claim.get("id") for claim in claims] != [claim.id for claim in figure.claims]:
            raise UsageError(f"'{results / figure.name}.json' has other claims than {figure.file}; measure it again")
    return sorted(found, key=lambda each: each[0].paper.rank)


def gallery(found: "Sequence[Measured]", figures: "Sequence[Figure]") -> str:
    results = [result for _, result in found]
    missing = [figure.name for figure in figures if figure.name not in [each["figure"] for each in results]]
    paragraphs = ["# Gallery: the papers' figures, measured", _wrapped(_head(results)), _wrapped(_sum(results))]
    if missing:
        paragraphs.append(_wrapped(f"Not measured here: {', '.join(missing)}."))
    if changed := [figure.name for figure, result in found if figure.digest != result.get("digest")]:
        paragraphs.append(_wrapped(f"The files of these figures have changed since they were measured, so that their "
                                   f"claims, or what is run for them, may differ from this page: {', '.join(changed)}."))
    for figure, result in found:
        paragraphs += _section(figure, result)
    return "\n\n".join(paragraphs) + "\n"


def _head(results: "Sequence[Result]") -> str:
    quick = all(result["quick"] for result in results)
    lengths = ""
    if any(result["quick"] for result in results):
        lengths = ("Quick runs take about a second each, with few rounds and few places on the x axis; without "
                   "`--quick` they take hours. ")
        lengths += "" if quick else "Figures whose runs were longer than quick ones say so. "
    return (f"What `granary figure{' --quick' if quick else ''}` has measured{_when(results)} on "
            f"{'; '.join(machines(results))}{_pages(results)}. Build: {'; '.join(builds(results))}. {lengths}"
            "Granary's points are in colour, the median of all rounds with minimum and maximum, the paper's grey. What "
            "a verdict means, and how to measure them on another machine: [figures.md](figures.md). This page is "
            "written by `granary figure gallery`.")


def _when(results: "Sequence[Result]") -> str:
    times = first_and_last(results)
    if times is None:
        return ""
    first, last = ((time[:10], time[11:16]) for time in times)
    return f" from {first[0]} {first[1]} to {last[0] + ' ' if first[0] != last[0] else ''}{last[1]} (UTC)"


def _pages(results: "Sequence[Result]") -> str:
    """Returns in words which pages memory had, as the reports tell."""
    found = [environment.get("machine", {}) for result in results for environment in result["environments"]]
    kinds = different([str(each.get("page_kind") or "") for each in found])
    return f", pages: {', '.join(kinds)}" if kinds else ""


def _sum(results: "Sequence[Result]") -> str:
    number = counts(results)
    return (f"{number[PASS]} claims pass, {number[FAIL]} fail, {number[NULL]} are NULL: this machine, or so few rounds "
            "of so few seconds, cannot tell. Each NULL says what it would need.")


def _section(figure: Figure, result: Result) -> "list[str]":
    said = [f"## {figure.name}", _wrapped(f"{figure.paper.name}, {figure.number}: {figure.title}."),
            f"![{figure.name}]({PICTURES / figure.name}.svg)"]
    said.append("\n".join(
        _wrapped(f"- **{claim['result']}** {claim['id']}: {claim['text']} ({claim['reason']})", "  ")
        for claim in result["claims"]))
    if not result["quick"]:
        said.append(_wrapped(f"Measured in {_lengths(result['rounds'], result['variables'])}."))
    said += [_wrapped(text) for text in _remarks(figure, result)]
    for failure in result["failed_runs"]:
        said.append(_wrapped(f"A run failed: `granary {failure['command']}` (round {failure['round']}) ended with "
                             f"{failure['exit_code']}: {failure['trouble']}"))
    return said


def _remarks(figure: Figure, result: Result) -> "list[str]":
    """Returns what stands with the claims, the same words once, and what a NULL would need that more rounds could
    decide.
    """
    fails: "dict[str, list[str]]" = {}
    doubts: "dict[str, list[str]]" = {}
    needs: "dict[str, list[str]]" = {}
    for claim, judged in zip(figure.claims, result["claims"]):
        if judged["result"] == FAIL and claim.why:
            fails.setdefault(claim.why, []).append(claim.id)
        if judged["result"] == NULL and claim.why and judged["reason"].startswith(CANNOT_TELL):
            doubts.setdefault(claim.why, []).append(claim.id)
        if judged["result"] == NULL and (need := _would_need(claim, judged["reason"], figure, result)):
            needs.setdefault(need, []).append(claim.id)
    return ([f"{_together(ids)} {'fails' if len(ids) == 1 else 'fail'}: {text}" for text, ids in fails.items()] +
            [f"{_together(ids)} {'has' if len(ids) == 1 else 'have'} failed in other runs: {text}"
             for text, ids in doubts.items()] +
            [f"{_together(ids)} would need {text}" for text, ids in needs.items()])


def _would_need(claim: Claim, reason: str, figure: Figure, result: Result) -> str:
    """Returns what goes behind "would need"; "" if the reason says it already."""
    if claim.would_need:
        return claim.would_need
    if not reason.startswith(CANNOT_TELL):
        return ""
    full = figure.full
    if result["rounds"] >= full.rounds and _seconds(result["variables"]) >= _seconds(full.variables):
        return f"more rounds than {result['rounds']} (`--set rounds=N`)."
    return (f"the long runs: {_lengths(full.rounds, full.variables)} instead of "
            f"{_lengths(result['rounds'], result['variables'])}.")


def _seconds(variables: "dict[str, Any]") -> float:
    seconds = variables.get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) else 0.0


def _lengths(rounds: int, variables: "dict[str, Any]") -> str:
    seconds = _seconds(variables)
    return counted(rounds, "round") + (f" of {short(seconds)} s" if seconds else "")


def _together(ids: "Sequence[str]") -> str:
    return ids[0] if len(ids) == 1 else f"{', '.join(ids[:-1])} and {ids[-1]}"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
