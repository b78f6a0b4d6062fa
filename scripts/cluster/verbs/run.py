"""Does `start`, `stop` and `kill`, which are about the processes of nodes. restart.py does `restart`."""

import hashlib
import time
from typing import Any

from ..errors import HostError, UsageError
from ..hosts import Host, on_all
from ..live import LiveLines
from ..session import Session


def start(session: Session) -> None:
    """Starts ZooKeeper first, if deploy set it up, and then all nodes at once, since they wait for each other."""
    if session.dry_run:
        return would(session, "start")
    if start_zookeeper(session):
        start_nodes(session)
    return None


def start_nodes(session: Session) -> None:
    file = file_hash(session)
    hosts = session.hosts_with_chosen()
    lines = LiveLines([host.label for host in hosts])

    def begin(host: Host) -> "dict[str, Any]":
        names = session.services(host)
        with lines.working(host.label, f"begins {', '.join(names)}", f"has begun {', '.join(names)}"):
            return host.call("start", {"services": names, "file_sha256": file})

    begun = session.on_all("start", begin, hosts)
    if session.flags.no_wait:
        for host, result in begun.items():
            _report(session, host, result)
        return
    began = time.monotonic()
    waiting = {host: [name for name, each in result.items() if each["ok"]] for host, result in begun.items()}

    def wait(host: Host) -> "dict[str, Any]":
        with lines.working(host.label, f"waits for {', '.join(waiting[host])}", "waits no longer"):
            return host.call("await_serving", {"services": waiting[host], "seconds": session.flags.timeout})

    found = session.on_all("start", wait, list(waiting))
    for host, states in found.items():
        for name, each in begun[host].items():
            if not each["ok"]:
                session.report.add(host.label, name, each["what"], ok=False)
            else:
                report_serving(session, host, name, each["what"], states[name], time.monotonic() - began)


def report_serving(session: Session, host: Host, name: str, what: str, state: "dict[str, Any]",
                   seconds: float) -> None:
    if state["serves"]:
        session.report.add(host.label, name, f"{what}; serves", seconds=None if what.startswith("runs") else seconds)
        return
    why = f": {state['why']}" if state["why"] else ""
    lines = [f"{what}; does not serve after {seconds:.0f} s ({state['state']}{why}); its log ends with"]
    try:
        host.call("logs", {"service": name, "lines": 5, "follow": False},
                  on_event=lambda event: lines.append(event["line"]))
    except HostError as error:
        lines.append(str(error))
    session.report.add(host.label, name, "\n".join(lines), ok=False)


def file_hash(session: Session) -> str:
    return hashlib.sha256(session.inventory.text.encode()).hexdigest()


def start_zookeeper(session: Session) -> bool:
    """Starts the servers that deploy set up, and waits until they serve. Returns whether nodes may begin: one server
    that serves is enough, since it does so only as part of a majority. So a host that does not answer keeps no node of
    the others from beginning.
    """
    if session.inventory.membership.get("kind") != "zookeeper":
        return True
    servers, silent = _zookeepers(session)
    wait = {"seconds": session.flags.timeout}
    lines = LiveLines([host.label for host in servers if servers[host]])

    def begin(host: Host) -> "tuple[dict[str, Any], dict[str, Any]]":
        names = {"services": servers[host]}
        with lines.working(host.label, f"begins {', '.join(servers[host])}", "waits no longer"):
            return host.call("start", names), host.call("await_serving", names | wait)

    serving = []
    for host, (result, states) in session.on_all("start", begin, [host for host in servers if servers[host]]).items():
        for name, each in result.items():
            good = each["ok"] and states[name]["serves"]
            serving.append(good)
            serves = "serves" if good else f"does not serve: {states[name]['why']}"
            session.report.add(host.label, name, f"{each['what']}; {serves}", ok=good)
    if any(serving) or not any(servers.values()):
        return True
    if silent:
        raise HostError(f"no ZooKeeper server serves, and {', '.join(sorted(silent))} cannot be asked: "
                        f"{silent[min(silent)]}")
    return False


def _zookeepers(session: Session) -> "tuple[dict[Host, list[str]], dict[str, str]]":
    """Returns the ZooKeeper servers on each host that answers, and by label why the other hosts do not."""
    servers, silent = {}, {}
    for host, found in on_all(session.hosts, lambda host: host.call("inspect", {"package": {"directory": "-"}})):
        if isinstance(found, HostError):
            silent[host.label] = str(found)
        else:
            servers[host] = [each["name"] for each in found["deployed"].get("zookeepers", [])]
    return servers, silent


def stop(session: Session) -> None:
    """Stops all nodes at once, and ZooKeeper after them, if asked for."""
    if session.dry_run:
        return would(session, "stop")
    if session.flags.with_zookeeper:
        _refuse_others_that_run(session)
    ended, untold = stop_nodes(session)
    if not session.flags.with_zookeeper:
        return None
    if not ended or (untold and session.chosen_nodes() is not None) or _nodes_run(session.hosts):
        session.report.add("ZooKeeper", "stop", "its servers go on, since nodes have not ended", ok=False)
    else:
        _stop_zookeeper(session)
    return None


def _nodes_run(hosts: "list[Host]") -> bool:
    """Returns whether nodes run on one of these hosts that answers, also nodes that the cluster file no longer has. A
    host that does not answer must not keep ZooKeeper from being stopped for ever.
    """
    found = on_all(hosts, lambda host: host.call("status", {"patience_s": 0.1}))
    return any(runs(each) for _, answer in found if not isinstance(answer, HostError)
               for name, each in answer["services"].items() if name.startswith("node-"))


def runs(found: "dict[str, Any]") -> bool:
    """Tells whether a node runs, or its supervisor is about to start it again."""
    return bool(found["pid"]) or found["state"] == "pausing"


def _stop_zookeeper(session: Session) -> None:
    """Stops the servers that deploy set up, on the hosts that answer."""
    told = {each.host for each in session.report.outcomes if not each.ok}
    servers, silent = _zookeepers(session)
    for label, why in silent.items():
        if label not in told:
            session.report.add(label, "stop", why, ok=False)
    for host, result in _end(session, {host: names for host, names in servers.items() if names}).items():
        _report(session, host, result)


def _refuse_others_that_run(session: Session) -> None:
    """Refuses to end ZooKeeper under nodes that are not to end. Nodes that the cluster file no longer has are among
    them: `stop` does not know them, and they run until the file is deployed.
    """
    for host, answer in on_all(session.hosts, lambda host: host.call("status", {"patience_s": 0.1})):
        named = {node.service for node in host.nodes}
        if isinstance(answer, HostError):
            if others := named - set(session.services(host)):
                raise HostError(f"{host.label}: {answer}; so nobody knows whether {', '.join(sorted(others))} runs, "
                                "which needs ZooKeeper; nothing was stopped")
            continue
        nodes = {name: each for name, each in answer["services"].items() if name.startswith("node-")}
        for name in sorted(set(nodes) - set(session.services(host))):
            if runs(nodes[name]):
                does = "runs" if nodes[name]["pid"] else "is about to begin again"
                why = ("is not one of --nodes" if name in named else
                       "the cluster file no longer has it there: 'deploy --while-running' ends it")
                raise HostError(f"{host.label}: {name} {does}, which needs ZooKeeper, and {why}; nothing was stopped")


def stop_nodes(session: Session) -> "tuple[bool, list[Host]]":
    """Returns whether all nodes have ended on the hosts that could be told to stop them, and the hosts that could not.
    """
    hosts = session.hosts_with_chosen()
    stopped = _end(session, {host: session.services(host) for host in hosts})
    for host, result in stopped.items():
        _report(session, host, result)
    ended = all(each["ended"] for result in stopped.values() for each in result.values())
    return ended, [host for host in hosts if host not in stopped]


def _end(session: Session, services: "dict[Host, list[str]]") -> "dict[Host, Any]":
    lines = LiveLines([host.label for host in services])

    def one(host: Host) -> "dict[str, Any]":
        return end_on(host, services[host], lines)

    return session.on_all("stop", one, list(services))


def end_on(host: Host, names: "list[str]", lines: LiveLines) -> "dict[str, Any]":
    """Tells in the live lines what the host ends, and returns how that went."""
    with lines.working(host.label, f"ends {', '.join(names)}", "waits no longer"):
        return host.call("stop", {"services": names})


def kill(session: Session) -> None:
    node = session.flags.node
    host = session.host_of(node)
    if session.dry_run:
        session.report.add(host.label, f"node-{node}", "would be killed (SIGKILL)")
        return
    session.report.add(host.label, f"node-{node}", host.call("kill", {"services": [f"node-{node}"]})["what"])


def _report(session: Session, host: Host, result: "dict[str, Any]") -> None:
    for name, each in result.items():
        seconds = each["seconds"] if each["seconds"] > 0.1 else None
        session.report.add(host.label, name, each["what"], ok=each["ok"], seconds=seconds,
                           code=1 if each.get("ended") else 3)


def would(session: Session, what: str) -> None:
    for host in session.hosts_with_chosen():
        session.report.add(host.label, ", ".join(session.services(host)), f"would {what}")
    if not session.report.outcomes:
        raise UsageError("no node was chosen")
