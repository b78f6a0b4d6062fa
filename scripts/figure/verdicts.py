"""Judges the claims of a figure."""

from dataclasses import dataclass

from .claims import Claim
from .machine import Machine, unmet
from .noise import CANNOT_TELL, FAIL, NULL, CannotTell, Verdict
from .points import Points


@dataclass(frozen=True)
class Judged:
    claim: Claim
    verdict: Verdict

    @property
    def line(self) -> str:
        return f"{self.verdict.result}  {self.claim.id}  {self.claim.text} ({self.verdict.reason})"


def judge(points: Points, machine: Machine) -> "list[Judged]":
    return [Judged(claim, _verdict(claim, points, machine)) for claim in points.figure.claims]


def _verdict(claim: Claim, points: Points, machine: Machine) -> Verdict:
    if reason := unmet(claim.needs, machine):
        return Verdict(NULL, reason)
    asked, enough = points.plan.rounds, points.plan.rounds_of_file
    if asked < enough:  # what few rounds have in common would look like an effect
        return Verdict(NULL, f"{CANNOT_TELL}: {asked} of the {enough} rounds that the figure asks for")
    try:
        return claim.check.judge(points)
    except CannotTell as why:
        return Verdict(NULL, str(why))


def exit_code(judged: "list[Judged]", points: Points) -> int:
    """Returns 1 if a claim failed or a run failed its own check, 3 if a run failed in another way, and else 0."""
    if any(each.verdict.result == FAIL for each in judged) or any(each.exit_code == 1 for each in points.failures):
        return 1
    return 3 if points.failures else 0
