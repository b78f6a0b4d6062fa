"""Defines the error for what goes wrong on a host in a way that a user can mend."""


class Trouble(Exception):
    """Says in its text what is wrong, with which thing, and what to do. `code` is the exit code that fits."""

    def __init__(self, text: str, code: int = 3) -> None:
        super().__init__(text)
        self.code = code
