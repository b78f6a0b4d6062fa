"""Carries a call and its answer: one line of JSON comes in, and lines of JSON go out.

In:  {"modules": {...}, "verb": NAME, "arguments": {...}}, then the bytes of a file, if the verb takes one, or
     any byte now and then, if it lasts as long as the caller does.
Out: {"line": TEXT, ...} for what happens meanwhile, {"chunk": BASE64} for a file's bytes, {"alive": true} to find out
     whether the caller still reads, at last {"result": ...} or {"error": TEXT, "code": EXIT_CODE}.
"""

import base64
import json
import os
import select
import sys
import threading
from typing import Any, BinaryIO

_one_writes = threading.Lock()


def tell(message: "dict[str, Any]") -> None:
    """Sends one message to the caller. Several threads may do so at the same time."""
    with _one_writes:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def mention(line: str) -> None:
    """Tells what is under way. Nothing goes wrong if nobody listens any more."""
    try:
        tell({"line": line})
    except OSError:
        pass


def send_file(source: BinaryIO) -> None:
    """Sends all bytes of a file."""
    while chunk := source.read(192 * 1024):
        tell({"chunk": base64.b64encode(chunk).decode()})


def payload() -> BinaryIO:
    """Returns the stream of the bytes that follow the call."""
    return sys.stdin.buffer


def caller_speaks(patience_s: float) -> bool:
    """Waits until something follows the call. Returns False if nothing comes within that time, or at the caller's end.
    """
    return bool(select.select([sys.stdin], [], [], patience_s)[0] and os.read(sys.stdin.fileno(), 4096))
