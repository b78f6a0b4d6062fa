#!/usr/bin/env python3
"""Checks what the shared library exports.

check_symbols.py --shared libgranary.so --static libgranary.a --headers include/granary

- Each exported symbol belongs to a class or function that a public header marks with GRANARY_EXPORT.
- Each name that is marked is exported.
- Each function of the archive that is in namespace granary itself, where only the public interface is, is exported. So no mark has
  been forgotten: without it, only programs that use the shared library would fail to link.

Prints a line for each violation; exit code 1 if there is any.
"""

import argparse
import pathlib
import re
import subprocess
import sys

MARKED = re.compile(r"\b(?:class|struct) GRANARY_EXPORT (\w+)|GRANARY_EXPORT [\w:<>&* ]*?(\w+)\(")
SYMBOL = re.compile(r"^[0-9a-f]* *([A-Za-z]) (.*)$")
OF_TYPE = re.compile(r"^(?:typeinfo|typeinfo name|vtable) for ")


def symbols(file, *options):
    """(kind, demangled name without the version) of each symbol that the file defines."""
    listed = subprocess.run(["nm", "-C", "--defined-only", *options, file], check=True, capture_output=True, text=True).stdout
    found = (SYMBOL.match(line) for line in listed.splitlines())
    return {(match[1], match[2].split("@@")[0]) for match in found if match}


def top_name(symbol):
    """The class or function in namespace granary that a symbol belongs to, or None."""
    match = re.match(r"granary::(\w+)", OF_TYPE.sub("", symbol))
    return match and match[1]


def violations(exported, archived, marked):
    names = {name for kind, name in exported if kind != "A"}  # A: the version's own
    for name in sorted(names):
        if top_name(name) not in marked:
            yield f"exported, but of nothing that a public header marks with GRANARY_EXPORT: {name}"
    for mark in sorted(marked - {top_name(name) for name in names}):
        yield f"marked with GRANARY_EXPORT, but not exported: {mark}"
    for kind, name in sorted(archived):
        if kind == "T" and re.match(r"granary::(\w+(\[abi:\w+\])?\(|[A-Z])", name) and name not in names:
            yield f"in namespace granary, but not exported (is GRANARY_EXPORT missing, or does it belong into a namespace below?): {name}"


def marked_names(headers):
    text = "\n".join(path.read_text() for path in sorted(pathlib.Path(headers).glob("*.h")) if path.name != "export.h")
    return {match[1] or match[2] for match in MARKED.finditer(text)}


def main():
    parser = argparse.ArgumentParser(description="Checks what the shared library exports.")
    for name in ("--shared", "--static", "--headers"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    exported = symbols(arguments.shared, "--dynamic")
    found = list(violations(exported, symbols(arguments.static), marked_names(arguments.headers)))
    print("\n".join(found) if found else f"{len(exported)} symbols are exported")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
