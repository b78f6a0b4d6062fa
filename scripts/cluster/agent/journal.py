"""Reads what the journal has of one life of a node under systemd. The journal drops old lines when it needs room."""

import json
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Optional


@dataclass
class Life:
    """Keeps what was read of a life. It is read on from there, as a life may be long and is asked for often."""

    cursor: str = ""
    begun: bool = False  # the journal has the line that systemd has started the unit
    serves: Optional[bool] = None  # the last line that tells says so; None without such a line
    served_since: Optional[float] = None


_lives: "dict[str, Life]" = {}  # the key is systemd's name of the life


def look(invocation: str) -> "tuple[Optional[bool], Optional[float]]":
    """Returns whether the node has said that it serves, and when. Both are None if the journal does not have the
    beginning of this life any more, nor a later line that tells.
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
    """Returns the node's own lines, and those that systemd has written about it, after the cursor."""
    done = subprocess.run(["journalctl", f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}",
                           "--output=json", "--output-fields=MESSAGE,INVOCATION_ID", "--no-pager", "--quiet",
                           *([f"--after-cursor={cursor}"] if cursor else [])],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]
