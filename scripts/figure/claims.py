"""Defines what a figure claims: a sentence, and the check that judges it."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from .needs import Needs


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    published: str  # it says in words what the paper has
    kind: str
    check: Any
    needs: Needs
    why: str = ""  # it says in Markdown what a person knows of a FAIL
    would_need: str = ""  # it says what a NULL would need, if that is more than the verdict says


def without_words(claim: Claim) -> Claim:
    """Returns the claim without what a person says of its verdicts."""
    return replace(claim, why="", would_need="")


def check_of(claim: Claim) -> "dict[str, Any]":
    """Returns the claim's check with its keys, as results have it."""
    return {"kind": claim.kind} | asdict(claim.check)
