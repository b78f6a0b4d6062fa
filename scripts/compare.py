#!/usr/bin/env python3
"""Compares two granary command lines by running them in turn.

  scripts/compare.py "bench ycsb --seconds=5" "bench kv --seconds=5"
  scripts/compare.py --rounds=21 --at_least=0.98 "bench tpcc --variant=fast-ids" "bench tpcc"
  scripts/compare.py --program_b=build/old/granary "bench ycsb" "bench ycsb"

Each round runs A and B (or B and A: the order alternates, so that a drift of the machine hits both alike) with
--repeat=1 and compares throughputs. Reported is the median of the ratios A/B with a distribution-free confidence
interval (order statistics, 95 %). With --at_least=X the exit code is 1 unless the lower bound is at least X.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

from figure.noise import ranks_outside

THROUGHPUT = "Throughput (requests/second)"


def run(program, words):
    """Returns the throughput of one measurement."""
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        command = [program, *words, "--repeat=1", "--noprogress", f"--json={path}"]
        try:
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            sys.exit(f"compare.py: cannot run '{program}' (--program): {error.strerror}")
        if done.returncode != 0:
            sys.exit(f"compare.py: '{shlex.join(command)}' ended with {done.returncode}: {done.stderr.strip()}")
        with open(path, encoding="utf-8") as file:
            return json.load(file)[THROUGHPUT]
    finally:
        os.unlink(path)


def interval(ratios):
    """Returns two-sided 95 % bounds of the median; None if there are too few rounds."""
    ordered = sorted(ratios)
    cut = ranks_outside(len(ordered), 0.025)
    return (ordered[cut - 1], ordered[-cut]) if cut else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a", help="words of command line A, in quotes")
    parser.add_argument("b", help="words of command line B, in quotes")
    parser.add_argument("--rounds", type=int, default=11, help="alternations (default 11)")
    parser.add_argument("--program", default="build/release/granary", help="the granary program")
    parser.add_argument("--program_b", help="another one for B")
    parser.add_argument("--at_least", type=float, help="lowest acceptable lower bound of A/B")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds: expected at least 1")

    sides = {"A": (options.program, shlex.split(options.a)),
             "B": (options.program_b or options.program, shlex.split(options.b))}
    rates = {"A": [], "B": []}
    for number in range(options.rounds):
        for side in ("AB", "BA")[number % 2]:
            rates[side].append(run(*sides[side]))
        ratio = rates["A"][-1] / rates["B"][-1]
        print(f"round {number + 1:3} of {options.rounds}   A {rates['A'][-1]:14,.0f} /s   "
              f"B {rates['B'][-1]:14,.0f} /s   A/B {ratio:.4f}", flush=True)

    ratios = [a / b for a, b in zip(rates["A"], rates["B"])]
    bounds = interval(ratios)
    print(f"\nA: {options.a}\nB: {options.b}")
    print(f"median A {statistics.median(rates['A']):,.0f} /s, B {statistics.median(rates['B']):,.0f} /s")
    shown = "too few rounds for an interval (at least 6)"
    if bounds:
        shown = f"95 % interval {bounds[0]:.4f} to {bounds[1]:.4f}"
    print(f"A/B {statistics.median(ratios):.4f}, {shown}")
    if options.at_least is not None:
        holds = bounds is not None and bounds[0] >= options.at_least
        print(f"lower bound at least {options.at_least}: {'holds' if holds else 'FAILED'}")
        return 0 if holds else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
