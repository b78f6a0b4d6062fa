"""Shows what happened on which host, as aligned text."""

from dataclasses import dataclass, field
from typing import Any, Sequence


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Returns the rows in columns with two spaces between them. The first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


@dataclass
class Outcome:
    """Tells what has become of one thing on one host."""

    host: str
    subject: str
    what: str
    ok: bool = True
    seconds: "float | None" = None
    code: int = 3  # the exit code if it is not ok


@dataclass
class Report:
    """Collects all that a command has done."""

    outcomes: "list[Outcome]" = field(default_factory=list)

    def add(self, host: str, subject: str, what: str, **more: Any) -> None:
        self.outcomes.append(Outcome(host, subject, what, **more))

    def text(self) -> str:
        rows = [["host", "what", "result"]]
        for each in self.outcomes:
            first, *others = (each.what if each.ok else f"FAILED: {each.what}").splitlines() or [""]
            time_taken = f" ({each.seconds:.1f} s)" if each.seconds is not None else ""
            rows.append([each.host, each.subject, first + time_taken])
            rows += [["", "", line] for line in others]
        return aligned(rows)

    def exit_code(self) -> int:
        """Returns 0 if all went well. 3 outweighs 1, since it says that something could not be done at all."""
        return max((each.code for each in self.outcomes if not each.ok), default=0)
