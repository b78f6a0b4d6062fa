"""Runs figures one after another, and writes and tells their results."""

from pathlib import Path

from . import verdicts
from .machine import Machine
from .model import Figure
from .noise import FAIL, NULL, PASS
from .page import write_page
from .plan import Plan, plan
from .points import Points, read_points
from .progress import counted, duration
from .results import write_results
from .runner import Runner


class Session:
    def __init__(self, machine: Machine, runner: Runner, quick: bool, overrides: "dict[str, object]") -> None:
        self.machine = machine
        self.runner = runner
        self.quick = quick
        self.overrides = overrides
        self.finished: "list[tuple[Points, list[verdicts.Judged]]]" = []

    @property
    def directory(self) -> Path:
        return self.runner.store.directory

    def run(self, figures: "list[Figure]") -> int:
        """Runs the figures. Returns the exit code of all."""
        plans = [plan(figure, self.quick, self.machine, self.overrides) for figure in figures]
        self.runner.expect(plans)
        codes = [self._run(each) for each in plans]
        return 1 if 1 in codes else max(codes)

    def _run(self, planned: Plan) -> int:
        self.runner.run_all(planned)
        points = read_points(planned, self.runner.store, self.runner.build)
        judged = verdicts.judge(points, self.machine)
        write_results(self.directory, points, judged, self.machine)
        self.finished.append((points, judged))
        page = write_page(self.directory)
        self._tell(points, judged, page)
        return verdicts.exit_code(judged, points)

    def _tell(self, points: Points, judged: "list[verdicts.Judged]", page: Path) -> None:
        figure = points.figure
        print(f"{figure.name}: {figure.title}")
        for each in judged:
            print(f"  {each.line}")
        for failure in points.failures:
            print(
                f"  a run failed: 'granary {failure.command}' (round {failure.round}) ended with {failure.exit_code}: "
                f"{failure.trouble}")
        for note in points.plan.notes():
            print(f"  left out: {note}")
        print(f"  {self.directory / figure.name}.svg, .png, .csv, .json; {page}", flush=True)

    def tell_sum(self, seconds: float) -> None:
        results = [each.verdict.result for _, judged in self.finished for each in judged]
        print(f"{counted(len(self.finished), 'figure')} in {duration(seconds)}: {results.count(PASS)} claims pass, "
              f"{results.count(FAIL)} fail, {results.count(NULL)} are NULL")
