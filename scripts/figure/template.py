"""Fills command lines that have placeholders with the values of variables."""

import re
import shlex
from typing import Any

from .errors import UsageError

PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
# Every command may have these. x is the place on the axis, cores the machine's number of cores, and cluster a cluster
# file that is written for the run. directory and memory_directory are new directories, on the disk of --out and in
# memory, which are removed after the run.
GIVEN = ("x", "cores", "cluster", "directory", "memory_directory")
SCALES = {"per_core", "cores_each"}  # N for each core, or one for each N cores
WORDS = ("bench", "cluster")  # a command begins with one of these


def check_variables(where: str, variables: "dict[str, Any]") -> "dict[str, Any]":
    """Returns the variables, and raises a UsageError if one cannot fill a placeholder."""
    for name, value in variables.items():
        if not PLACEHOLDER.fullmatch(f"{{{name}}}") or name in GIVEN:
            raise UsageError(f"{where}: '{name}' cannot be a variable; expected small letters and underscores, and not "
                             f"one of {', '.join(GIVEN)}")
        if isinstance(value, dict):
            _check_per_core(f"{where}: {name}", value)
        elif isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise UsageError(f"{where}: {name} is {value!r}; expected a number, text, {{per_core = N}} or "
                             f"{{cores_each = N}}")
    return variables


def _check_per_core(where: str, value: "dict[str, Any]") -> None:
    numbers = all(isinstance(each, int) and each > 0 and not isinstance(each, bool) for each in value.values())
    if len(set(value) & SCALES) != 1 or not set(value) <= SCALES | {"at_least", "at_most"} or not numbers:
        raise UsageError(f"{where} is {value!r}; expected per_core or cores_each, and perhaps at_least and at_most, "
                         f"whole numbers")


def check_command(where: str, command: str, variables: "set[str]") -> str:
    """Returns the command, and raises a UsageError if it does not begin with a word of ours or has an unknown
    placeholder.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{where}: '{command}': {error}") from error
    if not words or words[0] not in WORDS:
        raise UsageError(f"{where}: '{command}' is no command of granary; expected 'bench ...' or 'cluster run ...'")
    for name in PLACEHOLDER.findall(command):
        if name not in variables and name not in GIVEN:
            raise UsageError(f"{where}: '{command}': nothing has a value for {{{name}}}; known are "
                             f"{', '.join(sorted(variables | set(GIVEN)))}")
    return command


def placeholders(command: str) -> "set[str]":
    return set(PLACEHOLDER.findall(command))


def filled_words(command: str, variables: "dict[str, Any]", cores: int) -> "list[str]":
    """Returns the command's words; placeholders without a variable stay as they are. A word that is one placeholder may
    become several words, or none.
    """
    words = []
    for word in shlex.split(command):
        value = filled(word, variables, cores)
        words += shlex.split(value) if PLACEHOLDER.fullmatch(word) else [value]
    return words


def filled(text: str, variables: "dict[str, Any]", cores: int) -> str:
    def value_of(match: "re.Match[str]") -> str:
        name = match.group(1)
        return plain(variables[name], cores) if name in variables else match.group(0)

    return PLACEHOLDER.sub(value_of, text)


def plain(value: Any, cores: int) -> str:
    """Returns a variable's value as a word. {per_core = N} is N for each core of the machine, {cores_each = N} one for
    each N cores.
    """
    if isinstance(value, dict):
        scaled = value["per_core"] * cores if "per_core" in value else cores // value["cores_each"]
        return str(max(value.get("at_least", 1), min(scaled, value.get("at_most", 1 << 30))))
    return f"{value:g}" if isinstance(value, float) else str(value)
