"""What a few noisy rounds can tell."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

PASS, FAIL, NULL = "PASS", "FAIL", "NULL"
CANNOT_TELL = "cannot tell"  # how the reason of a NULL begins that more rounds might tell


NEVER = float("inf")  # the time of what has not come within the run


@dataclass(frozen=True)
class Verdict:
    result: str  # PASS, FAIL or NULL, which is "cannot tell"
    reason: str


class CannotTell(Exception):
    """There is nothing to judge; the message says why."""


@dataclass(frozen=True)
class Interval:
    """Where the median of a figure is, as some rounds tell. `coverage`: the share of such intervals that have it, if
    the rounds are independent: 75 % of those from the smallest to the greatest of 3 rounds.
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
    """Four digits, or all of a number that has more before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ranks_outside(count: int, chance: float) -> int:
    """How many of the smallest can be cut off so that the median lies below the next with at most this chance."""
    below, cut = 0.0, 0
    while cut < count // 2:
        below += math.comb(count, cut) / 2**count
        if below > chance:
            break
        cut += 1
    return cut


def interval(values: Sequence[float]) -> Interval:
    """The median's interval by order statistics, whatever the distribution: the smallest that covers 95 %; of fewer
    than 6 rounds, which have none, all.
    """
    ordered = sorted(values)
    cut = max(1, ranks_outside(len(ordered), 0.025))
    outside = 2 * sum(math.comb(len(ordered), below) for below in range(cut)) / 2**len(ordered)
    return Interval(ordered[cut - 1], statistics.median(ordered), ordered[-cut], len(ordered), 1 - outside)


def within_bounds(name: str, values: Sequence[float], at_least: "float | None", at_most: "float | None") -> Verdict:
    """PASS if the whole interval is within the bounds, FAIL if none of it is, and else NULL. A round in which something
    never came that has to come in time is no noise, and so a FAIL.
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
    """Of something that each round shows or does not."""
    count = sum(holds)
    text = f"{name} in {count} of {len(holds)} rounds"
    if count == len(holds):
        return Verdict(PASS, text)
    return Verdict(FAIL, text) if count == 0 else Verdict(NULL, f"{CANNOT_TELL}: {text}")


def all_of(verdicts: Sequence[Verdict]) -> Verdict:
    """FAIL if one of them fails, else NULL if one cannot tell; with the reasons of those that decide."""
    for result in (FAIL, NULL):
        deciding = [each for each in verdicts if each.result == result]
        if deciding:
            return Verdict(result, "; ".join(each.reason for each in deciding[:3]))
    if len(verdicts) > 3:
        return Verdict(PASS, f"{verdicts[0].reason}; and {len(verdicts) - 1} more")
    return Verdict(PASS, "; ".join(each.reason for each in verdicts))
