"""Verifies a Promela model with spin: it must hold, or with --broken=NAME (defined for it) must fail.

What a search of all interleavings has found is kept (tests/support/kept.py), and holds as long as neither the model nor spin changes.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kept  # noqa: E402

# Optimizing costs more than it saves.
COMPILE = ["-O0", "-DSAFETY", "-DMEMLIM=3072", "-w", "-o", "pan", "-x", "c", "pan.c"]
# A hash table of 2^20 entries to begin with: it grows as needed, and a larger one costs more than most searches do.
SEARCH = ["./pan", "-m100000", "-w20"]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def run_or_exit(command, folder):
    code, output = run(command, folder)
    if code != 0:
        sys.exit(f"{' '.join(command)} failed:\n{output}")


def search(arguments, folder):
    """What spin says of all interleavings of the model."""
    for model in arguments.model.parent.glob("*.pml"):  # beside each other, as one may include another
        shutil.copy(model, folder)
    define = [f"-D{name}" for name in (*arguments.define, arguments.broken) if name]
    run_or_exit([arguments.spin, *define, "-a", arguments.model.name], folder)
    key = kept.key_of(*COMPILE, *SEARCH, *(file.read_bytes() for file in sorted(folder.glob("pan.*"))))
    output = kept.read("models", key)
    if output is not None:
        return output + "\n(found before)"
    run_or_exit([arguments.compiler, *COMPILE], folder)
    output = run(SEARCH, folder)[1]
    if re.search(r"errors: [1-9]", output) or "errors: 0" in output and "Search not completed" not in output:
        kept.write("models", key, output)
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--spin", default="spin")
    parser.add_argument("--compiler", default="c++", help="one whose driver also takes C")
    parser.add_argument("--define", action="append", default=[], help="a variant of the model")
    parser.add_argument("--broken", help="the rule that is taken away")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        output = search(arguments, pathlib.Path(folder))
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
