"""What the journal has of one life of a node under systemd. It forgets: old lines go when it needs room."""

import json
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class Life:
    """As much of a life as was read; it is read on from there, as it may be long and is asked for often."""

    cursor: str = ""
    begun: bool = False  # the line is there by which systemd tells that it has started the unit
    serves: Optional[bool] = None  # by the last line that tells; None without one
    served_since: Optional[float] = None


_lives: "dict[str, Life]" = {}  # by systemd's name of the life


def look(invocation: str) -> "tuple[Optional[bool], Optional[float]]":
    """Whether the node has said that it serves, and when. None if the journal does not have the beginning of this life
    any more, nor a later line that tells.
    """
    life = _lives.setdefault(invocation, Life())
    for entry in _entries(invocation, life.cursor):
        life.cursor = entry.get("__CURSOR", life.cursor)
        text = entry.get("MESSAGE")
        if not isinstance(text, str):
            continue
        if "INVOCATION_ID" in entry:
            life.begun = life.begun or text.startswith("Start")
        elif " serves" in text and text.startswith("node "):
            life.serves = True
            life.served_since = int(entry.get("__REALTIME_TIMESTAMP", time.time() * 1e6)) / 1e6
        elif "starts again with its data" in text:
            life.serves, life.served_since = False, None
    return (False, None) if life.serves is None and life.begun else (life.serves, life.served_since)


def _entries(invocation: str, cursor: str) -> "list[dict[str, Any]]":
    """The node's own lines, and those that systemd has written about it."""
    done = subprocess.run(["journalctl", f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}",
                           "--output=json", "--output-fields=MESSAGE,INVOCATION_ID", "--no-pager", "--quiet",
                           *([f"--after-cursor={cursor}"] if cursor else [])],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]
