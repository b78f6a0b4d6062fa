"""Reads a paper's numbers from rows of its text, which the figure file has as they stand there."""

import re
from collections.abc import Sequence

# The numbers 3, 670, 355 and 1. 348 have blanks where a transcript puts them. A dash stands for a number that is not
# there, and is counted as one.
NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:, ?\d{3})+(?!\d)|\d+(?:\. ?\d+)?)|(?<!\S)[\u2013-](?!\S)")


def number_of(rows: "Sequence[str]", row: int, number: int) -> "float | None":
    """Returns the number at a place, both counted from 1; None if there is none."""
    if not 1 <= row <= len(rows):
        return None
    found = NUMBER.findall(rows[row - 1])
    if not 1 <= number <= len(found) or not found[number - 1][0].isdigit():
        return None
    return float(re.sub(r"[ ,]", "", found[number - 1]))
