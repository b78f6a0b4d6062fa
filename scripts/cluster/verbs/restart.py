"""Does `restart`, of all nodes together or of one after the other."""

import time
from typing import Any

from ..errors import HostError, UsageError
from ..holding import held
from ..hosts import Event
from ..live import LiveLines
from ..session import Session
from .run import file_hash, report_serving, start_nodes, start_zookeeper, stop_nodes, would

LOOK_S = 0.2


def restart(session: Session) -> None:
    """Restarts all nodes together, or one after the other while the others serve."""
    if session.flags.rolling and session.flags.no_wait:
        raise UsageError("restart --rolling --no-wait: the next node is restarted only once the one before serves")
    _refuse_without_logs(session)
    if session.dry_run:
        return would(session, "restart one after the other" if session.flags.rolling else "restart")
    _refuse_other_file(session)
    if session.report.exit_code():
        return None
    if session.flags.rolling:
        with held(session.hosts):
            return _restart_rolling(session)
    with held(session.hosts_with_chosen()):  # a node that was stopped would stay so if its start were refused
        return _restart_together(session)


def _restart_together(session: Session) -> None:
    """Stops the nodes and starts them, but only if all could be stopped."""
    if start_zookeeper(session) and stop_nodes(session) == (True, []):  # whether nodes could begin is found out first
        start_nodes(session)


def _refuse_without_logs(session: Session) -> None:
    """Refuses to restart some nodes while others serve if no node has a log to come back with: it would wait for all
    others to end, and give up.
    """
    nodes, chosen = session.inventory.nodes, session.chosen_nodes()
    some = session.flags.rolling or (chosen is not None and len(chosen) < len(nodes))
    if some and not any(node.data_directory for node in nodes):
        raise HostError("this cluster keeps no logs (it has no data_directory), so its nodes start together only: use "
                        "'restart' without --rolling and --nodes; nothing was stopped")


def _refuse_other_file(session: Session) -> None:
    """Refuses a restart where the copy that was deployed, by which nodes run, is not this file. `start` would notice
    that only once all nodes are down, and a rolling restart never would.
    """
    file = file_hash(session)
    inspect = {"package": {"directory": "-"}}
    hosts = session.hosts_with_chosen()
    found = session.on_all("restart", lambda host: host.call("inspect", inspect), hosts)
    if len(found) < len(hosts):
        raise HostError("a host does not answer, so nobody knows by which cluster file its nodes run; nothing was "
                        "stopped")
    for host, result in found.items():
        if not result["deployed"]:
            why = "nothing is installed; run 'deploy' first"
        elif result["deployed"]["file_sha256"] != file:
            why = "the cluster file has changed since it was deployed; run 'deploy --while-running' first"
        else:
            continue
        session.report.add(host.label, "restart", f"{why}; nothing was stopped", ok=False)


def _restart_rolling(session: Session) -> None:
    chosen = session.chosen_nodes()
    nodes = [node for node in session.inventory.nodes if chosen is None or node.id in chosen]
    lines = LiveLines([node.service for node in nodes])
    _await_whole(session, "before anything was restarted")
    for node in nodes:
        host, began = session.host_of(node.id), time.monotonic()
        lines.tell(node.service, "is told to end")
        answer = host.call("restart", {"services": [node.service], "seconds": session.flags.timeout},
                           on_event=_shown(lines, node.service))
        stopped = answer["stopped"][node.service]
        result = answer["started"].get(node.service, stopped)
        if not result["ok"]:
            raise HostError(f"{host.label}: {node.service}: {result['what']}; the nodes after it were not restarted")
        seconds, state = time.monotonic() - began, answer["states"][node.service]
        if not stopped["ok"]:
            session.report.add(host.label, node.service, f"did not end in order: {stopped['what']}", ok=False, code=1)
        if not state["serves"]:
            report_serving(session, host, node.service, "restarted", state, seconds)
            session.report.add(host.label, "restart", "the nodes after it were not restarted", ok=False)
            return
        lines.tell(node.service, f"serves after {seconds:.1f} s; waits until the cluster is whole")
        _await_whole(session, f"after {node.service} came back")
        lines.tell(node.service, "serves, and the cluster is whole")
        session.report.add(host.label, node.service, "restarted; serves", seconds=seconds)
        if not stopped["ok"]:  # the others may have the same fault
            session.report.add(host.label, "restart", "the nodes after it were not restarted", ok=False, code=1)
            return


def _shown(lines: LiveLines, name: str) -> Event:
    def show(event: "dict[str, Any]") -> None:
        if "line" in event:
            lines.tell(name, event["line"].removeprefix(f"{name}: "))

    return show


def _await_whole(session: Session, when: str) -> None:
    """Waits until all nodes are members and serve, and nothing of a dead life is owed."""
    until = time.monotonic() + session.flags.timeout
    while (trouble := _not_whole(session)) and time.monotonic() < until:
        time.sleep(LOOK_S)
    if trouble:
        raise HostError(f"{when}, the cluster is not whole: {trouble}; nothing more was restarted")


def _not_whole(session: Session) -> str:
    """Returns what keeps the cluster from being whole; empty if nothing does. A ZooKeeper server may be away."""
    found = session.on_all("restart", lambda host: host.call("status", {"patience_s": 10}))
    if len(found) < len(session.hosts):
        raise HostError("a host does not answer, so nobody knows whether the cluster is whole; nothing more was "
                        "restarted")
    for host, result in found.items():
        for name, each in result["services"].items():
            if name.startswith("node-") and not each["serves"]:
                return f"{name} on {host.label} does not serve ({each['state']})"
        if result["board"]["owed"]:
            return result["board"]["owed"][0]
        if result["board"]["unknown"]:
            return result["board"]["unknown"]
    return ""
