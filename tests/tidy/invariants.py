"""docs/invariants.md: numbered without gaps, in order, each with its code and its tests; and nobody names a number that it lacks."""

import re

ROW = re.compile(r"^\| \[I(\d+)\]", re.MULTILINE)
SECTION = re.compile(r"^## I(\d+) ", re.MULTILINE)
NAMED = re.compile(r"\bI([1-9]\d?)\b")


def broken_in(text):
    """What is wrong with the document, in words."""
    numbers = [int(number) for number in SECTION.findall(text)]
    wanted = list(range(1, len(numbers) + 1))
    if numbers != wanted:
        yield f"its sections are {numbers}, not I1 to I{len(numbers)} in order"
    rows = [int(number) for number in ROW.findall(text)]
    if rows != numbers:
        yield f"its table lists {rows}, its sections are {numbers}"
    for number, section in zip(numbers, re.split(SECTION, text)[2::2]):
        for part in ("Code", "Tests"):
            if f"- *{part}*: " not in section:
                yield f"I{number} has no *{part}*"


def unknown_in(text, most):
    """(line, name) for each invariant that a comment or document names and the document does not have."""
    for at, line in enumerate(text.splitlines(), start=1):
        for number in NAMED.findall(line):
            if int(number) > most:
                yield at, f"I{number}"


def greatest(text):
    return max((int(number) for number in SECTION.findall(text)), default=0)
