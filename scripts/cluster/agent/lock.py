"""Lets one cluster.sh at a time change what an install directory has, and what runs there.

The file `lock` there is locked while a call works. The file `held` is locked while a command lasts whose calls belong
together, as those of `restart`. The kernel lets go of both when their process ends.
"""

import contextlib
import fcntl
import os

from . import files
from .channel import caller_speaks, tell
from .place import Place
from .trouble import Trouble

# The verbs that change something. A host does them to their end although nobody waits for the answer any more.
CHANGING = ("install", "start", "stop", "restart", "end_former", "forget_former", "wipe", "wipe_run_directory",
            "wipe_zookeeper", "down")
SILENCE_S = 20.0  # the caller of `hold` speaks far more often; see PULSE_S in holding.py
_kept: "dict[str, int]" = {}  # the handles of the files that this process has locked


def take(place: Place, holder: int) -> None:
    """Keeps others from working here until this process ends, and refuses if another one does or holds the place.
    `holder` is the process that holds it for our caller. A place that is not the cluster's yet has no lock.
    """
    if "lock" in _kept or place.owner() != place.cluster:
        return
    if other := _lock(place, "lock"):
        raise _works(other)
    other = _lock(place, "held")
    if other == 0:
        _let_go("held")
    elif other != holder:
        _let_go("lock")
        raise _works(other)


def hold(place: Place) -> None:
    """Holds the place, tells our number, which is the holder's, and goes on until the caller ends or is silent for
    long, as behind a network that was cut: the connection may last for minutes then.
    """
    take(place, holder=0)
    _lock(place, "held")
    if "held" in _kept and _number(_kept["held"]) != os.getpid():  # our caller's own calls would be refused
        raise Trouble(f"'{place.directory / 'held'}' cannot be written; is the disk full?")
    _let_go("lock")  # the calls of the command that we hold the place for take it
    tell({"holder": os.getpid()})
    while caller_speaks(SILENCE_S):
        pass


def _works(other: int) -> Trouble:
    known = f" (process {other} of this host)" if other > 0 else ""
    return Trouble(f"another cluster.sh works here{known}; wait until it has ended")


def _lock(place: Place, name: str) -> int:
    """Locks a file, which has our number then. Returns 0, or the process that has it locked, or -1 if its number is not
    known. Where no file can be made or locked, as on a disk with a fault, nothing is locked: nodes there must be
    stopped all the same.
    """
    path = place.directory / name
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = _number(handle)
        os.close(handle)
        return other
    except OSError:  # the file system has no locks
        os.close(handle)
        return 0
    _kept[name] = handle
    with contextlib.suppress(OSError):  # the disk may be full
        number = str(os.getpid()).encode()
        os.pwrite(handle, number, 0)  # over the former one, which a full disk has room for
        os.ftruncate(handle, len(number))
        files.give_to_owner(path)
    return 0


def _number(handle: int) -> int:
    """Returns the number of a process that a file has; -1 if it has none."""
    text = os.pread(handle, 20, 0)
    return int(text) if text.isdigit() else -1


def _let_go(name: str) -> None:
    if name in _kept:
        os.close(_kept.pop(name))
