"""Judges what a few noisy rounds can tell."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

PASS, FAIL, NULL = "PASS", "FAIL", "NULL"
CANNOT_TELL = "cannot tell"  # the reason of a NULL begins so if more rounds might decide


NEVER = float("inf")  # this stands for the time of what has not come within the run


@dataclass(frozen=True)
class Verdict:
    result: str  # PASS, FAIL or NULL, which is "cannot tell"
    reason: str


class CannotTell(Exception):
    """There is nothing to judge; the message says why."""


@dataclass(frozen=True)
class Interval:
    """Tells where the median of a figure is, by some rounds. `coverage` is the share of such intervals that have the
    median, if the rounds are independent: 75 % of those from the smallest to the greatest of 3 rounds.
    """

    low: float
    median: float
    high: float
    rounds: int
    coverage: float

    def __str__(self) -> str:
        if self.low == self.high:
            return short(self.median)
        return (f"{short(self.median)} ({short(self.low)} to {short(self.high)} in {self.rounds} rounds, "
                f"{self.coverage:.0%})")


def short(value: float) -> str:
    """Returns the number with four digits, or with all of them if it has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ranks_outside(count: int, chance: float) -> int:
    """Returns the greatest rank, counted from 1, for which the median lies below the value of that rank with at most
    this chance; 0 if there is none.
    """
    below, cut = 0.0, 0
    while cut < count // 2:
        below += math.comb(count, cut) / 2**count
        if below > chance:
            break
        cut += 1
    return cut


def interval(values: Sequence[float]) -> Interval:
    """Returns the median's interval by order statistics, whatever the distribution: the smallest that covers 95 %.
    Fewer than 6 rounds have none, so the interval of these has all values.
    """
    ordered = sorted(values)
    cut = max(1, ranks_outside(len(ordered), 0.025))
    outside = 2 * sum(math.comb(len(ordered), below) for below in range(cut)) / 2**len(ordered)
    return Interval(ordered[cut - 1], statistics.median(ordered), ordered[-cut], len(ordered), 1 - outside)


def within_bounds(name: str, values: Sequence[float], at_least: "float | None", at_most: "float | None") -> Verdict:
    """Returns PASS if the whole interval is within the bounds, FAIL if none of it is, and else NULL. If something never
    came in a round, though it has to come in time, that is no noise, and so a FAIL.
    """
    never = sum(value == NEVER for value in values)
    if never and at_most is not None:
        return Verdict(FAIL, f"{name}: never in {never} of {len(values)} rounds; {wanted_text(at_least, at_most)}")
    found = interval(values)
    text = f"{name} = {found}"
    wanted = wanted_text(at_least, at_most)
    low = float("-inf") if at_least is None else at_least
    high = float("inf") if at_most is None else at_most
    if low <= found.low and found.high <= high:
        return Verdict(PASS, f"{text}; {wanted}")
    if found.high < low or found.low > high:
        return Verdict(FAIL, f"{text}; {wanted}")
    return Verdict(NULL, f"{CANNOT_TELL}: {text}, which reaches over a bound; {wanted}")


def wanted_text(at_least: "float | None", at_most: "float | None") -> str:
    if at_most is None:
        return f"wanted at least {short(at_least or 0)}"
    return f"wanted at most {short(at_most)}" if at_least is None else f"wanted {short(at_least)} to {short(at_most)}"


def in_rounds(name: str, holds: Sequence[bool]) -> Verdict:
    """Judges something that each round shows or does not."""
    count = sum(holds)
    text = f"{name} in {count} of {len(holds)} rounds"
    if count == len(holds):
        return Verdict(PASS, text)
    return Verdict(FAIL, text) if count == 0 else Verdict(NULL, f"{CANNOT_TELL}: {text}")


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """Returns FAIL if one of them fails, else NULL if one cannot tell, with the first three reasons that decide."""
    for result in (FAIL, NULL):
        deciding = [each for each in verdicts if each.result == result]
        if deciding:
            return Verdict(result, "; ".join(each.reason for each in deciding[:3]))
    if len(verdicts) > 3:
        return Verdict(PASS, f"{verdicts[0].reason}; and {len(verdicts) - 1} more")
    return Verdict(PASS, "; ".join(each.reason for each in verdicts))
