"""Does `status`, which shows a row for each node, and `check`, which tells whether the hosts could run them."""

import json
import time
from typing import Any

from ..errors import HostError
from ..hosts import Host, on_all
from ..output import say
from ..session import Session
from ..table import aligned


def status(session: Session) -> int:
    """Returns 0 if all nodes serve, 1 if some do not, 3 if a host cannot be asked."""
    http = {node.service: {"address": node.http, "token_file": node.http_token_file}
            for node in session.inventory.nodes if node.http}
    found = session.on_all("status", lambda host: host.call("status", {"http": http}))
    all_serve = all(_ready(each) for result in found.values() for each in result["services"].values())
    if session.flags.json:
        say(json.dumps({"cluster": session.inventory.name, "serves": all_serve and len(found) == len(session.hosts),
                          "hosts": {host.label: result for host, result in found.items()},
                          "failed": {each.host: each.what for each in session.report.outcomes}}, indent=1))
        session.report.outcomes.clear()
    else:
        _show(found)
    if len(found) < len(session.hosts):
        return 3
    return 0 if all_serve else 1


def _ready(each: "dict[str, Any]") -> bool:
    return bool(each["pid"] and each["serves"])


def _show(found: "dict[Host, dict[str, Any]]") -> None:
    rows = [["host", "node", "up for", "process", "version", "supervisor", "node says"]]
    for host, result in found.items():
        for name, each in result["services"].items():
            rows.append([host.label, name, _age(each["since"]), str(each["pid"] or "-"),
                         _version(each, result["deployed"]), _supervisor(each), each["says"] or "-"])
    if len(rows) > 1:
        say(aligned(rows))
    for line in _board_lines(found):
        say(line)


def _board_lines(found: "dict[Host, dict[str, Any]]") -> "list[str]":
    boards = [result["board"] for result in found.values()]
    if not boards:
        return []
    owed = sorted({line for board in boards for line in board["owed"]})
    members = sorted({each for board in boards for each in board["members"]})
    unknown = [boards[0]["unknown"]] if all(board["unknown"] for board in boards) else []
    unknown += sorted({line for board in boards for line in board["warnings"]} - set(unknown))
    if not members and not owed:
        return [f"membership: {each}" for each in unknown]
    said = [f"members {', '.join(map(str, members)) or 'none'}", *(owed or ["nothing is owed"]), *unknown]
    return ["membership: " + "; ".join(said)]


def _age(since: "float | None") -> str:
    if since is None:
        return "-"
    seconds = int(max(0.0, time.time() - since))
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock


def _version(each: "dict[str, Any]", deployed: "dict[str, Any]") -> str:
    package = deployed["package"]
    if each["version"] in (None, package["directory"]):
        return package["version"] if each["version"] else "-"
    return f"{each['version']} (deployed: {package['directory']})"


def _supervisor(each: "dict[str, Any]") -> str:
    words = each["state"] if each["supervisor"] != "gone" else f"{each['state']}, supervisor gone"
    if each["restarts"]:
        words += f", {each['restarts']} restart" + ("s" if each["restarts"] > 1 else "")
    return words + (f": {each['why']}" if each["why"] and each["state"] != "running" else "")


def check(session: Session) -> None:
    """Runs `granary cluster check` for each node of hosts where it is installed. If nothing is installed on a host, it
    only tells that the host answers.
    """

    def one(host: Host) -> "list[tuple[str, list[str], int]]":
        facts = host.call("facts")
        if not host.call("inspect", {"package": {"directory": "-"}})["deployed"]:
            said = f"answers: {facts['name']}, {facts['cpus']} CPUs, {facts['machine']}; nothing is installed yet"
            return [("host", [said], 0)]
        results = []
        for name in session.services(host):
            lines: "list[str]" = []

            def keep(event: "dict[str, Any]", lines: "list[str]" = lines) -> None:
                lines.extend([event["line"]] if event.get("line") else [])

            words = ["cluster", "check", "{FILE}", f"--id={name.removeprefix('node-')}"]
            result = host.call("run", {"words": words}, on_event=keep)
            results.append((name, lines, result["code"]))
        return results

    for host, results in session.on_all("check", one).items():
        for name, lines, code in results:
            shown = lines if code or session.flags.verbose or name == "host" else [_in_short(lines)]
            session.report.add(host.label, name, "\n".join(shown), ok=code == 0, code=1 if code == 1 else 3)
    if session.report.exit_code() and (waiting := _servers_that_do_not_run(session)):
        session.report.add("ZooKeeper", "check", f"{', '.join(waiting)} of 'deploy --with-zookeeper' does not run: "
                           "'start' starts its servers before the nodes; then check again", ok=False, code=1)


def _servers_that_do_not_run(session: Session) -> "list[str]":
    """Returns the names of ZooKeeper's servers that deploy set up and nobody has started, on hosts that answer."""
    names = []
    for _, found in on_all(session.hosts, lambda host: host.call("status", {"patience_s": 0.1})):
        if not isinstance(found, HostError):
            names += [name for name, each in found["services"].items()
                      if name.startswith("zookeeper-") and not each["pid"]]
    return names


def _in_short(lines: "list[str]") -> str:
    warnings = [" ".join(line.split()[1:]) for line in lines if line.strip().startswith("warning")]
    return "ok" if not warnings else "ok; warnings: " + "; ".join(warnings)
