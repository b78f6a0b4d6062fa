"""Does `logs`, which shows the last lines of nodes or all that come, and `collect`, which gathers all that helps to
look into trouble.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from ..agent import archives
from ..agent.trouble import Trouble
from ..errors import HostError, UsageError
from ..hosts import Host
from ..live import LiveLines
from ..output import OutputError, complain, say
from ..session import Session


def logs(session: Session) -> None:
    one_prints = threading.Lock()

    def show(event: "dict[str, Any]") -> None:
        if "line" in event:
            with one_prints:
                say(f"{event['service']}| {event['line']}")

    def one(host_and_name: "tuple[Host, str]") -> None:
        host, name = host_and_name
        host.call("logs", {"service": name, "lines": session.flags.lines, "follow": session.flags.follow},
                  on_event=show)

    wanted = [(host, name) for host in session.hosts for name in session.services(host)]
    if not session.flags.follow:
        for each in wanted:
            session.on_all("logs", lambda _, each=each: one(each), [each[0]])
        return
    unread: "list[OutputError]" = []

    def follow(each: "tuple[Host, str]") -> None:
        host, name = each
        try:
            one(each)
        except HostError as error:  # the others may be followed for days, so it is told at once
            if session.ssh.closed:  # a signal ends us, and all connections with us
                return
            complain(f"{host.label}: {name}: its log is not followed any more: {error}")
            session.report.add(host.label, "logs", str(error), ok=False, code=error.code)
        except OutputError as error:
            unread.append(error)

    threads = [threading.Thread(target=follow, args=(each,), daemon=True) for each in wanted]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):  # only Ctrl-C ends the lines
        if unread:
            raise unread[0]
        time.sleep(0.2)
    if unread:
        raise unread[0]


def collect(session: Session) -> None:
    """Makes a folder with a folder for each host."""
    folder = Path(session.flags.directory)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"collect {folder}: expected a new directory, or an empty one")
    if session.dry_run:
        for host in session.hosts:
            session.report.add(host.label, "collect",
                               f"would gather logs and states of {', '.join(session.services(host))} in {folder}")
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster.toml").write_bytes(session.inventory.file.read_bytes())
    lines = LiveLines([host.label for host in session.hosts])

    def one(host: Host) -> "dict[str, Any]":
        archive = folder / f".{_file_name(host)}.tar.gz"
        with open(archive, "wb") as file, lines.working(host.label, "gathers", "has sent all"):
            def take(event: "dict[str, Any]") -> None:
                if "chunk" in event:
                    file.write(event["chunk"])
                elif "line" in event:
                    lines.tell(host.label, event["line"])

            result = host.call("collect", {"nodes": [node.places() for node in host.nodes],
                                           "verify": session.flags.verify}, on_event=take)
        try:
            archives.extract(archive, folder / _file_name(host), "what the host sent", "collect again")
        except Trouble as trouble:
            raise HostError(str(trouble)) from trouble
        archive.unlink()
        return result

    for host, result in session.on_all("collect", one).items():
        files = [path for path in (folder / _file_name(host)).rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        troubles = [*result["failed"], *result["unverified"]]
        said = [f"{len(files)} files, {size >> 10} KiB in {folder / _file_name(host)}", *troubles]
        code = 3 if result["unverified"] else 1
        session.report.add(host.label, "collect", "\n".join(said), ok=not troubles, code=code)
    summary = {"cluster": session.inventory.name, "command": sys.argv, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
               "by": os.uname().nodename,
               "outcomes": [vars(each) for each in session.report.outcomes]}
    (folder / "collected.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


def _file_name(host: Host) -> str:
    return "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in host.label)
