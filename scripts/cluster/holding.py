"""Holds hosts while a command makes calls that belong together, so that no other command comes between them."""

import contextlib
import threading
from typing import Any, Iterator, Optional

from .errors import HostError
from .hosts import Host

PULSE_S = 0.5  # a host lets go after SILENCE_S of agent/lock.py


class _Pulse:
    """Is what a host that is held gets to read: a byte now and then, until it need not be held any longer."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def read(self, _size: int, /) -> bytes:
        return b"" if self.over.wait(PULSE_S) else b"."


class _Hold:
    """Holds one host by a call that lasts."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.pulse = _Pulse()
        self.error: Optional[HostError] = None
        self.begun = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            self.host.call("hold", payload=self.pulse, on_event=self._look)
        except HostError as error:
            self.error = error
        finally:
            self.begun.set()

    def _look(self, event: "dict[str, Any]") -> None:
        if "holder" in event:
            self.host.holder = event["holder"]
            self.begun.set()

    def await_begun(self) -> None:
        self.begun.wait()
        if self.error is not None:
            raise HostError(f"{self.host.label}: {self.error}", self.error.code)


@contextlib.contextmanager
def held(hosts: "list[Host]") -> "Iterator[None]":
    """Holds hosts as long as the context lasts. Our calls of a host name the process that holds it."""
    holds = [_Hold(host) for host in hosts]
    try:
        for each in holds:
            each.await_begun()
        yield
    finally:
        for each in holds:
            each.pulse.over.set()
        for each in holds:
            each.thread.join()
            each.host.holder = 0
