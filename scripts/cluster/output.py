"""Reports on standard output, and tells if that does not take what is reported."""

import os
import sys
from typing import NoReturn

CLOSED = "standard output is closed, so nothing could be reported; direct it to a file, or to /dev/null"


class OutputError(Exception):
    """Says that standard output did not take what was to be reported. `code` is 3, or the exit code of a command that
    failed.
    """

    code = 3

    def __init__(self, error: OSError) -> None:
        super().__init__("standard output could not be written, so what was to be reported there is not whole: "
                         f"{error.strerror}")


def say(text: str, end: str = "\n") -> None:
    """Prints at once, so that what cannot be written is known before anything more is done."""
    try:
        print(text, end=end, flush=True)
    except OSError as error:
        raise OutputError(error) from error


def complain(text: str) -> None:
    """Tells what went wrong on standard error, if anybody reads that."""
    note(f"cluster.sh: {text}")


def note(text: str, end: str = "\n") -> None:
    """Tells what is under way on standard error, if anybody reads that."""
    if sys.stderr is None:  # it was closed when we were started
        return
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        pass


def end_at_once(code: int) -> NoReturn:
    """Ends the process although threads may wait for hosts that have nothing to say. It gives up what standard output
    has not taken until now.
    """
    os._exit(code)
