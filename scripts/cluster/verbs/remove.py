"""Does `wipe`, which removes data, and `down`, which removes what deploy installed."""

import sys
from typing import Any

from ..errors import UsageError
from ..hosts import Host
from ..live import LiveLines
from ..output import say
from ..session import Session
from .run import end_on, runs


def _confirm(session: Session, what: str) -> None:
    """Asks, unless --yes is given, and refuses without a terminal, where nobody can be asked."""
    if session.flags.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"this {what}; say --yes if that is meant, since nobody can be asked here")
    say(f"This {what}. The cluster's name, to go on: ", end="")
    if sys.stdin.readline().strip() != session.inventory.name:
        raise UsageError("that is not its name; nothing was removed")


def wipe(session: Session) -> None:
    """Does each step only once the one before went well on all hosts: a node's data and the membership belong together.
    """
    inventory = session.inventory
    if session.dry_run:
        for host in session.hosts:
            directories = [path for node in host.nodes for path in node.directories()]
            what = ", ".join([*directories, inventory.run_directory])
            session.report.add(host.label, "wipe", f"would remove the data of {what}")
        return
    _confirm(session, f"removes all data of cluster '{inventory.name}': {len(inventory.nodes)} nodes")
    for step in (_refuse_running, _wipe_nodes, _wipe_membership):
        step(session)
        if session.report.exit_code():
            return


def _refuse_running(session: Session) -> None:
    for host, result in session.on_all("wipe", lambda host: host.call("status", {"patience_s": 0.1})).items():
        for name, each in result["services"].items():
            if name.startswith("node-") and runs(each):
                does = f"runs, process {each['pid']}" if each["pid"] else "is about to begin again"
                session.report.add(host.label, name, f"{does}: stop the cluster first; nothing was removed", ok=False)


def _wipe_nodes(session: Session) -> None:
    def one(host: Host) -> "dict[str, Any]":
        return host.call("wipe", {"nodes": [node.places() for node in host.nodes]})

    for host, result in session.on_all("wipe", one).items():
        for name, each in result.items():
            removed = [f"removed {path}" for path in each["removed"]] or ([] if each["left"] else ["had no data"])
            session.report.add(host.label, name, "\n".join(removed + each["left"]), ok=not each["left"])


def _wipe_membership(session: Session) -> None:
    """Removes what the membership knows of the cluster, since it would refuse nodes without data."""
    inventory = session.inventory
    where = {"run_directory": inventory.run_directory}
    for host, result in session.on_all("wipe", lambda host: host.call("wipe_run_directory", where)).items():
        for path in result["removed"]:
            session.report.add(host.label, "run directory", f"removed {path}")
    if inventory.membership.get("kind") != "zookeeper":
        return
    removed = False
    for host, result in session.on_all("wipe", lambda host: host.call("wipe_zookeeper")).items():
        for path in result["removed"]:
            session.report.add(host.label, "ZooKeeper", f"removed {path}")
            removed = True
    if not removed:
        place = inventory.membership.get("chroot") or "/"
        session.report.add("ZooKeeper", "membership",
                           f"what '{place}' has of the cluster stays, since deploy did not set up the ensemble.\n"
                           f"Remove it there (zkCli.sh: deleteall {place}) before the next start")


def down(session: Session) -> None:
    if session.dry_run:
        for host in session.hosts:
            nodes = ", ".join(session.services(host))
            session.report.add(host.label, "down", f"would stop {nodes}, and remove {host.entry.install_directory}")
        return
    _confirm(session, f"stops cluster '{session.inventory.name}' and removes what deploy installed; data of nodes stay")
    found = session.on_all("down", lambda host: host.call("inspect", {"package": {"directory": "-"}}))
    hosts = list(found)
    lines = LiveLines([host.label for host in hosts])

    def stop_nodes(host: Host) -> None:
        deployed = found[host]["deployed"]
        if deployed:
            end_on(host, [f"node-{node}" for node in deployed["nodes"]], lines)

    def remove(host: Host) -> "dict[str, Any]":
        with lines.working(host.label, "removes what was installed", "is done"):
            return host.call("down")

    session.on_all("down", stop_nodes, hosts)  # all nodes end before any host takes away what they rest on
    for host, result in session.on_all("down", remove, hosts).items():
        said = [f"removed {path}" for path in result["removed"]] + result["left"]
        session.report.add(host.label, "down", "\n".join(said) or "nothing was installed")
