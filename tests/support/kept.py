"""What tests have found out, kept from run to run below ${XDG_CACHE_HOME:-~/.cache}/granary/tests.

It only saves time: where nothing is kept, or with GRANARY_TEST_ANEW=1, a test finds it out again.
"""

import contextlib
import hashlib
import os
import pathlib
import tempfile


def key_of(*parts):
    """A name for what these texts or bytes determine."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def read(kind, key):
    """The text, or None."""
    if os.environ.get("GRANARY_TEST_ANEW") == "1":
        return None
    try:
        return (_folder(kind) / key).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def write(kind, key, text):
    """Another process sees all of it or nothing. Where it cannot be written, nothing is kept."""
    with contextlib.suppress(OSError):
        folder = _folder(kind)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
            file.write(text)
        pathlib.Path(file.name).replace(folder / key)


def _folder(kind):
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path(os.environ.get("HOME", "/tmp")) / ".cache"
    return pathlib.Path(cache) / "granary" / "tests" / kind
