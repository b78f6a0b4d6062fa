"""Verifies a Promela model with spin: it must hold, or with --broken=NAME (defined for it) must fail."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--compiler", default="c++", help="one whose driver also takes C")
    parser.add_argument("--define", action="append", default=[], help="a variant of the model")
    parser.add_argument("--broken", help="the rule that is taken away")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        define = [f"-D{name}" for name in (*arguments.define, arguments.broken) if name]
        for command in (
            [arguments.spin, *define, "-a", str(arguments.model.resolve())],
            # Optimizing costs more than it saves.
            [arguments.compiler, "-O0", "-DSAFETY", "-DMEMLIM=3072", "-w", "-o", "pan", "-x", "c", "pan.c"],
        ):
            code, output = run(command, folder)
            if code != 0:
                sys.exit(f"{' '.join(command)} failed:\n{output}")
        # A hash table of 2^20 entries to begin with: it grows as needed, and a larger one costs more than most searches do.
        _, output = run(["./pan", "-m100000", "-w20"], folder)
    print(output)
    errors = re.search(r"errors: (\d+)", output)
    if errors is None or "Search not completed" in output and errors.group(1) == "0":
        sys.exit("the search was not completed")
    failed = errors.group(1) != "0"
    if failed and not arguments.broken:
        sys.exit("the model fails")
    if not failed and arguments.broken:
        sys.exit(f"nobody notices that {arguments.broken} takes a rule away")


if __name__ == "__main__":
    main()
