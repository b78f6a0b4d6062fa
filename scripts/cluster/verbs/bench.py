"""Does `bench`: a benchmark on all nodes.

On one host `granary cluster run` does all. On several, each node runs by itself, and `granary cluster merge` adds up.
"""

import base64
import re
import sys
import threading
from pathlib import Path
from typing import Any

from ..errors import HostError, UsageError
from ..hosts import Host
from ..live import LiveLines
from ..output import say
from ..session import Session

OF_A_NODE = re.compile(r"node (\d+): (.*)")
REPORT = "report.json"


def bench(session: Session) -> "int | None":
    name, flags = session.flags.name, list(session.flags.rest)
    json_file = _take_json(flags)
    if not re.fullmatch(r"[a-z_]+", name):
        raise UsageError(f"bench {name}: expected the name of a benchmark, such as smallbank")
    several = len(session.hosts) > 1
    if session.dry_run:
        for host in session.hosts:
            what = "granary bench" if several else "granary cluster run"
            session.report.add(host.label, "bench",
                               f"would run '{what} {' '.join([name, *flags])}' for {', '.join(session.services(host))}")
        return None
    if json_file:
        _see_that_it_can_be_written(json_file)
    _refuse_running(session)
    if session.report.exit_code():
        return None
    return _on_several(session, name, flags, json_file) if several else _on_one(session, name, flags, json_file)


def _take_json(flags: "list[str]") -> "Path | None":
    """Takes --json=FILE from the flags, since the file is one of this host, and returns it."""
    given = [flag for flag in flags if flag.startswith("--json")]
    for flag in given:
        flags.remove(flag)
        if not flag.startswith("--json=") or flag == "--json=":
            raise UsageError(f"'{flag}': expected --json=FILE")
    return Path(given[-1].partition("=")[2]) if given else None


def _see_that_it_can_be_written(path: Path) -> None:
    """Opens the file now, since a failure after the run would lose the result."""
    was_there = path.exists()
    with open(path, "ab"):
        pass
    if not was_there:
        path.unlink()


def _refuse_running(session: Session) -> None:
    for host, result in session.on_all("bench", lambda host: host.call("status", {"patience_s": 0.1})).items():
        for name, each in result["services"].items():
            if name.startswith("node-") and (each["pid"] or each["state"] == "pausing"):
                why = "runs as a node of the cluster: 'stop' first, since a benchmark's nodes take its place"
                session.report.add(host.label, name, why, ok=False)


def _on_one(session: Session, name: str, flags: "list[str]", json_file: "Path | None") -> int:
    (host,) = session.hosts
    lines = LiveLines(session.services(host))

    def show(event: "dict[str, Any]") -> None:
        match = OF_A_NODE.fullmatch(event.get("line", ""))
        if match and event["stream"] == "err":
            lines.tell(f"node-{match[1]}", match[2])
        else:
            _print(event)

    words = ["cluster", "run", name, "--cluster={FILE}", *flags] + (["--json={FOLDER}/" + REPORT] if json_file else [])
    result = host.call("run", {"words": words, "outputs": [REPORT] if json_file else []}, on_event=show)
    if json_file and result["outputs"][REPORT]:
        json_file.write_bytes(base64.b64decode(result["outputs"][REPORT]))
    return result["code"]


def _print(event: "dict[str, Any]") -> None:
    if "line" not in event:
        return
    if event["stream"] == "out":
        say(event["line"])
    else:
        print(event["line"], file=sys.stderr, flush=True)


def _on_several(session: Session, name: str, flags: "list[str]", json_file: "Path | None") -> "int | None":
    wanted = [(host, node) for host in session.hosts for node in host.nodes]
    reports: "dict[str, str]" = {}
    lines = LiveLines([node.service for _, node in wanted])
    codes: "dict[str, int]" = {}

    def one(host: Host, service: str) -> None:
        words = ["bench", name, "--cluster={FILE}", f"--node={service.removeprefix('node-')}", *flags,
                 "--json={FOLDER}/" + REPORT]
        said: "list[str]" = []

        def show(event: "dict[str, Any]") -> None:
            if "line" in event and event["stream"] == "err":
                said.append(event["line"])
                lines.tell(service, event["line"])

        try:
            result = host.call("run", {"words": words, "outputs": [REPORT]}, on_event=show)
        except HostError as error:
            session.report.add(host.label, service, str(error), ok=False, code=error.code)
            return
        codes[service] = result["code"]
        if result["outputs"][REPORT]:
            reports[f"{service}.json"] = result["outputs"][REPORT]
        elif not result["code"]:
            session.report.add(host.label, service, "reported nothing, though it ended with exit code 0", ok=False)
        if result["code"]:
            session.report.add(host.label, service, "\n".join([f"exit code {result['code']}", *said[-2:]]), ok=False,
                               code=result["code"])

    threads = [threading.Thread(target=one, args=(host, node.service)) for host, node in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(reports) < len(wanted):
        return None
    # A check that failed on a node is judged again over all nodes. Everything else that went wrong there stays.
    session.report.outcomes[:] = [each for each in session.report.outcomes if each.code != 1]
    return max(_merge(session, name, reports, json_file), *codes.values())


def _merge(session: Session, name: str, reports: "dict[str, str]", json_file: "Path | None") -> int:
    host = session.hosts[0]
    words = ["cluster", "merge", name, "--cluster={FILE}",
             "--reports=" + ",".join("{FOLDER}/" + each for each in sorted(reports)),
             "--json={FOLDER}/" + REPORT]
    result = host.call("run", {"words": words, "inputs": reports, "outputs": [REPORT]}, on_event=_print)
    if json_file and result["outputs"][REPORT]:
        json_file.write_bytes(base64.b64decode(result["outputs"][REPORT]))
    return result["code"]
