"""Reads the results of figures back, from the files NAME.json of an output directory."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import EnvironmentTrouble
from .load import natural
from .machine import Machine
from .noise import FAIL, NULL, PASS

FORMAT = 1  # the format of NAME.json is counted up when a key gets another meaning


def kept_results(directory: Path) -> "list[dict[str, Any]]":
    """Returns what json_of() made, in the order of the figures' names. Files of another format are left out."""
    found = []
    for file in sorted(directory.glob("*.json"), key=lambda file: natural(file.stem)):
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise EnvironmentTrouble(f"'{file}' cannot be read ({error}); remove it") from error
        if isinstance(result, dict) and result.get("format") == FORMAT and result.get("figure") == file.stem:
            found.append(result)
    return found


def different(texts: "Sequence[str]") -> "list[str]":
    """Returns each text once, in their order, without empty ones."""
    return [text for text in dict.fromkeys(texts) if text]


def machines(results: "Sequence[dict[str, Any]]") -> "list[str]":
    return different([Machine(**result["machine"]).text for result in results])


def builds(results: "Sequence[dict[str, Any]]") -> "list[str]":
    return different([build for result in results for build in result["build"]])


def first_and_last(results: "Sequence[dict[str, Any]]") -> "tuple[str, str] | None":
    """Returns when the first and the last of all runs began; None if there were no runs."""
    times = [time for result in results for time in result["measured"].values() if time]
    return (min(times), max(times)) if times else None


def counts(results: "Sequence[dict[str, Any]]") -> "dict[str, int]":
    verdicts = [claim["result"] for result in results for claim in result["claims"]]
    return {name: verdicts.count(name) for name in (PASS, FAIL, NULL)}
