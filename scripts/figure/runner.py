"""Runs command lines, one after another, and keeps what they report."""

import ctypes
import json
import os
import re
import signal
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .measure import was_interrupted
from .places import Places
from .plan import Plan, Run
from .progress import Progress
from .store import Store

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Runner:
    """Runs what is planned, and puts results into the store. With `resume`, runs that the store has and that succeeded
    are not run again; without it, only those that this process has run are not. The store forgets first what is to be
    run again: a later call that resumes this one must not take it for a result of this one.
    """

    def __init__(self, program: Path, build: str, store: Store, resume: bool, progress: Progress) -> None:
        self.program = program
        self.build = build
        self.store = store
        self.resume = resume
        self.progress = progress
        self.places = Places(store.directory)
        self.done: "set[str]" = set()

    def expect(self, plans: "list[Plan]") -> None:
        """Tells the progress what is to be run for all of them, where each shared run counts once. The store forgets
        the results that it has of these runs.
        """
        runs = {run.key(self.build, number): run for plan in plans for number, run in self._missing_runs(plan)}
        for key in runs:
            self.store.forget(key)
        self.progress.begin(list(runs.values()))

    def run_all(self, plan: Plan) -> None:
        """Runs round 1 of all runs, then round 2 and so on, so that noise of minutes hits all alike. Every other round
        goes backwards: what a run leaves behind, such as a warm processor or a full page cache, is not always the same
        series' gain or loss.
        """
        try:
            for number, run in self._missing_runs(plan):
                self.progress.show(plan.figure.name, run, number, plan.rounds)
                key = run.key(self.build, number)
                result = self._run(run, number)
                self.store.keep(key, result)
                self.done.add(key)
                self.progress.finished(run, result["seconds"])
        finally:
            self.places.remove()
            self.progress.end()

    def _missing_runs(self, plan: Plan) -> "list[tuple[int, Run]]":
        rounds = range(1, plan.rounds + 1)
        return [(number, run) for number in rounds for run in in_order(plan.runs, number) if self._missing(run, number)]

    def _missing(self, run: Run, number: int) -> bool:
        key = run.key(self.build, number)
        if key in self.done:
            return False
        result = self.store.result(key) if self.resume else None
        return result is None or result["exit_code"] != 0

    def _run(self, run: Run, number: int) -> "dict[str, Any]":
        commands = self.places.make(run)
        commands[-1].append(f"--json={self.places.report}")
        started, began = datetime.now(timezone.utc), time.monotonic()
        for words in commands:
            code, last_line = self._execute([*words, "--repeat=1", f"--seed={number}", "--noprogress"], run.seconds)
            if code != 0:
                break
        report, trouble = self._report() if code == 0 else (None, last_line)
        return {"words": list(run.words), "before": [list(words) for words in run.before],
                "cluster": json.loads(run.cluster) if run.cluster else None, "round": number,
                "build": self.build, "started": started.isoformat(timespec="seconds"),
                "seconds": round(time.monotonic() - began, 3), "exit_code": code if report or code else 3,
                "trouble": trouble, "report": report}

    def _execute(self, words: "list[str]", planned_seconds: float) -> "tuple[int | None, str]":
        """Returns the command's exit code, or None if it took too long, and the last line that it said."""
        with subprocess.Popen([str(self.program), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, cwd=self.places.on_disk, start_new_session=True,
                              preexec_fn=_end_with_parent) as process:
            try:
                _, said = process.communicate(timeout=600 + 10 * planned_seconds)
                code = process.returncode
            except subprocess.TimeoutExpired:
                _, said = _end(process)
                code = None
            except BaseException:  # this is KeyboardInterrupt, for example
                _end(process)
                raise
        return code, _last_line(said) if code is not None else "it took too long, and was killed"

    def _report(self) -> "tuple[Any, str]":
        try:
            report = json.loads(self.places.report.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            return None, f"it wrote no report: {error}"
        return (None, "it was interrupted") if was_interrupted(report) else (report, "")


def in_order(runs: "list[Run]", number: int) -> "list[Run]":
    """Returns the runs in the order in which the round of this number takes them."""
    return runs if number % 2 == 1 else runs[::-1]


def _end_with_parent() -> None:
    """Lets the child in which it is called be killed when this process is, so that it does not disturb what is measured
    next.
    """
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]") -> "tuple[bytes, bytes]":
    """Ends the process and all that it has started."""
    for number, seconds in ((signal.SIGTERM, 5), (signal.SIGKILL, 60)):
        try:
            os.killpg(process.pid, number)
            return process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    return process.communicate()


def _last_line(said: bytes) -> str:
    """Returns what the command said last; of a cluster's node that has failed, what that node said."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    if not lines:
        return "it said nothing"
    node = re.match(r"granary: (node \d+) ended with exit code", lines[-1])
    of_node = [line for line in lines if node and line.startswith(f"{node.group(1)}: ")]
    return of_node[-1] if of_node else lines[-1]
