"""Does `granary figure`: it reads the command line, runs figures or compares results, and ends with an exit code."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from .command_line import parse
from .errors import EnvironmentTrouble, UsageError
from .gallery import write_gallery
from .load import load_all
from .machine import Machine, this_machine
from .model import Figure
from .progress import Progress
from .store import Store

INTERRUPTED = 130


def main(words: "list[str]") -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = _run(_flags(words))
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"granary figure: {error}", file=sys.stderr)
        return 2
    except EnvironmentTrouble as error:
        print(f"granary figure: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("granary figure: interrupted; with --resume and the same flags it goes on", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None:  # the error is a file's, and not that of standard output
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"granary figure: standard output could not be written: {error.strerror}", file=sys.stderr)
        return 3


def _flags(words: "list[str]") -> Namespace:
    """Parses the words. Where parsing ends the program, what it has said must have been written."""
    try:
        return parse(words)
    except SystemExit:
        sys.stdout.flush()
        raise


def _run(flags: Namespace) -> int:
    if flags.does == "compare":
        from .compare import compare  # this needs matplotlib, and the list of figures does not
        return compare(flags)
    figures = load_all(flags.figures)
    if flags.does == "gallery":
        return write_gallery(flags.results, flags.out, figures)
    chosen = _chosen(figures, flags)
    if not chosen:
        return _list(figures)
    machine = this_machine()
    overrides = dict(flags.set)
    _refuse_unknown(overrides, chosen)
    from .runner import Runner
    from .session import Session
    build = _build(flags.granary, machine)
    began = time.monotonic()
    with Store(flags.out) as store:
        runner = Runner(flags.granary, build, store, flags.resume, Progress(flags.noprogress))
        session = Session(machine, runner, flags.quick, overrides)
        code = session.run(chosen)
    session.tell_sum(time.monotonic() - began)
    return code


def _chosen(figures: "Sequence[Figure]", flags: Namespace) -> "list[Figure]":
    if flags.all:
        if flags.names:
            raise UsageError(f"'{flags.names[0]}': --all has all figures already")
        return list(figures)
    known = {figure.name: figure for figure in figures}
    for name in flags.names:
        if name not in known:
            raise UsageError(f"there is no figure '{name}'; there are {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(flags.names)]


def _refuse_unknown(overrides: "dict[str, object]", chosen: "Sequence[Figure]") -> None:
    known = {"rounds"}
    for figure in chosen:
        known |= set(figure.full.variables) | set(figure.quick.variables)
        known |= {name for series in figure.series for name in series.variables}
    for name in overrides:
        if name not in known:
            raise UsageError(f"--set: there is no variable '{name}'; there are {', '.join(sorted(known))}")


def _list(figures: "Sequence[Figure]") -> int:
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        print(f"{figure.name:<{width}}  {figure.paper.name}, {figure.number}: {figure.title}")
    print("\n'granary figure NAME' measures one; 'granary figure --help' says more.")
    return 0


def _build(program: Path, machine: Machine) -> str:
    """Returns a name for what is measured: results of another program, or of another machine, are not taken for its
    own.
    """
    try:
        with program.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True,
                                 timeout=60).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentTrouble(f"'{program}' does not run: {error}") from error
    return f"{version}, {digest}, on {machine.name}"
