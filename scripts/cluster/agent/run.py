"""Runs the installed program for the caller, who sees its lines as they come."""

import base64
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
from typing import Any, Optional

from . import files
from .channel import tell
from .place import Place

GRACE_S = 30


def run(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Runs the program with `words`, in which {FOLDER} stands for a new folder and {FILE} for the cluster file. The
    folder has the files of `inputs`, and those of `outputs` are returned from it.

    The program ends when the caller does. Returns its exit code and the files, by name.
    """
    place.require()
    with tempfile.TemporaryDirectory(prefix="granary-run-") as folder:
        files.give_to_owner(pathlib.Path(folder), place.directory)
        for name, content in arguments.get("inputs", {}).items():
            files.write(pathlib.Path(folder) / name, base64.b64decode(content))
        words = [word.replace("{FOLDER}", folder).replace("{FILE}", str(place.file)) for word in arguments["words"]]
        process = subprocess.Popen([str(place.program()), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", cwd=place.directory,
                                   **place.run_as())
        ending = _end_with_caller(process)
        readers = [threading.Thread(target=_pass_on, args=(process.stdout, "out")),
                   threading.Thread(target=_pass_on, args=(process.stderr, "err"))]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        code = process.wait()
        if code < 0:  # A signal has ended it: a shell tells such a code, too, and callers take the greatest.
            code = 128 - code
        ending.set()
        outputs = {name: _content(pathlib.Path(folder) / name) for name in arguments.get("outputs", [])}
    return {"code": code, "outputs": outputs}


def _pass_on(stream: Any, name: str) -> None:
    for line in stream:
        try:
            tell({"line": line.rstrip("\n"), "stream": name})
        except OSError:  # nobody listens any more, but the program must not block
            continue


def _content(path: pathlib.Path) -> Optional[str]:
    return base64.b64encode(path.read_bytes()).decode() if path.is_file() else None


def _end_with_caller(process: subprocess.Popen) -> threading.Event:
    """Looks whether anybody reads what we say. It ends the program in order when nobody does, or when we are told to
    end. Setting the event that it returns ends the look.
    """
    over = threading.Event()

    def end(*_: Any) -> None:
        if process.poll() is None:
            process.terminate()

    def watch() -> None:
        while not over.wait(1.0):
            try:
                tell({"alive": True})
            except OSError:
                end()
                if not over.wait(GRACE_S) and process.poll() is None:
                    process.kill()
                return

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    threading.Thread(target=watch, daemon=True).start()
    return over


def facts(_place: Place, _arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Returns what can be asked of a host where nothing is installed yet."""
    return {"name": os.uname().nodename, "machine": os.uname().machine, "user": os.geteuid(), "cpus": os.cpu_count()}
