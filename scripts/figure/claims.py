"""What a figure claims: a sentence, and the check that judges it."""

from dataclasses import asdict, dataclass
from typing import Any

from .needs import Needs


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    published: str  # what the paper has, in words
    kind: str
    check: Any
    needs: Needs
    why: str = ""  # what a person has to say of a FAIL, in Markdown
    would_need: str = ""  # what a NULL would need, if there is more to say than the verdict does


def check_of(claim: Claim) -> "dict[str, Any]":
    """The claim's check with its keys, as results have it."""
    return {"kind": claim.kind} | asdict(claim.check)
