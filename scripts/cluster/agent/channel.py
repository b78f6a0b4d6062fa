"""How a call and its answer travel: one line of JSON in, lines of JSON out.

In:  {"modules": {...}, "verb": NAME, "arguments": {...}}, then the bytes of a file, if the verb takes one.
Out: {"line": TEXT, ...} for what happens meanwhile, {"chunk": BASE64} for a file's bytes, at last {"result": ...} or
     {"error": TEXT}.
"""

import base64
import json
import sys
import threading
from typing import Any, BinaryIO

_one_writes = threading.Lock()


def tell(message: "dict[str, Any]") -> None:
    """Sends one message to the caller. Threads may do so at the same time."""
    with _one_writes:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def send_file(source: BinaryIO) -> None:
    """Sends all bytes of a file."""
    while chunk := source.read(192 * 1024):
        tell({"chunk": base64.b64encode(chunk).decode()})


def payload() -> BinaryIO:
    """The bytes that follow the call."""
    return sys.stdin.buffer
