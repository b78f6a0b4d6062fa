"""What a figure claims: a sentence, and the check that judges it."""

from dataclasses import dataclass
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
