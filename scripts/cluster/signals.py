"""Lets SIGINT, SIGTERM and SIGHUP end a command in order: its connections are closed before the process ends."""

import signal
import threading
from concurrent.futures import Future, wait
from types import FrameType
from typing import Callable, Optional, TypeVar

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Python notices a signal when the main thread's wait ends. A signal that comes just before a wait does not end it, so
# each wait is this short.
LOOKS_S = 0.2
T = TypeVar("T")
_taken: "set[int]" = set()  # the signals that were not ignored when the process was started


class Ended(BaseException):
    """Says that a signal ends the command. `code` is the exit code that tells so."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.code = 128 + number


def raise_ended() -> None:
    """Lets the first of the signals raise Ended in the main thread from now on. A signal that is ignored, as SIGHUP is
    by nohup, stays so.
    """
    def handle(number: int, _frame: Optional[FrameType]) -> None:
        hold_back()  # `timeout` sends its signal twice
        raise Ended(number)

    for each in ENDING:
        if signal.getsignal(each) != signal.SIG_IGN:
            _taken.add(each)
            signal.signal(each, handle)


def hold_back() -> None:
    """Ignores the signals while connections are closed, which takes no longer than a few seconds."""
    for each in _taken:
        signal.signal(each, signal.SIG_IGN)


def end_by_next() -> None:
    """Lets a signal end the process at once from now on, since nothing is left to be closed."""
    for each in _taken:
        signal.signal(each, signal.SIG_DFL)


def apart(action: "Callable[[], T]") -> T:
    """Returns what the action returns, or raises what it raises. The action has a thread of its own, so that a signal
    interrupts nothing but the wait for it. A connection that the action is making would otherwise be left open.
    """
    done: "Future[T]" = Future()

    def work() -> None:
        try:
            done.set_result(action())
        except BaseException as error:  # pylint: disable=broad-except
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    while not done.done():
        wait([done], timeout=LOOKS_S)
    return done.result()
