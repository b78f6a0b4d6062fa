"""wipe: removes data; down: removes what deploy installed."""

import sys

from ..errors import UsageError
from ..session import Session


def _confirm(session: Session, what: str) -> None:
    """Asks, unless --yes. Without a terminal nobody can be asked."""
    if session.flags.yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(f"this {what}; say --yes if that is meant, since nobody can be asked here")
    print(f"This {what}. The cluster's name, to go on: ", end="", flush=True)
    if sys.stdin.readline().strip() != session.inventory.name:
        raise UsageError("that is not its name; nothing was removed")


def wipe(session: Session) -> None:
    inventory = session.inventory
    if session.dry_run:
        for host in session.hosts:
            directories = [path for node in host.nodes for path in node.directories()]
            session.report.add(host.label, "wipe", "would remove the data of " + ", ".join([*directories, inventory.run_directory]))
        return
    _confirm(session, f"removes all data of cluster '{inventory.name}': {len(inventory.nodes)} nodes")
    running = session.on_all("wipe", lambda host: host.call("status", {"patience_s": 0.1}))
    for host, result in running.items():
        for name, each in result["services"].items():
            if name.startswith("node-") and each["pid"]:
                session.report.add(host.label, name, f"runs, process {each['pid']}: stop the cluster first; nothing was removed", ok=False)
    if session.report.exit_code():
        return
    results = session.on_all("wipe", lambda host: host.call("wipe", {"nodes": [node.places() for node in host.nodes]}))
    for host, result in results.items():
        for name, each in result.items():
            removed = [f"removed {path}" for path in each["removed"]] or ([] if each["left"] else ["had no data"])
            session.report.add(host.label, name, "\n".join(removed + each["left"]), ok=not each["left"])
    if session.report.exit_code():
        return
    done = session.on_all("wipe", lambda host: host.call("wipe_run_directory", {"run_directory": inventory.run_directory}))
    for host, result in done.items():
        for path in result["removed"]:
            session.report.add(host.label, "run directory", f"removed {path}")


def down(session: Session) -> None:
    if session.dry_run:
        for host in session.hosts:
            session.report.add(host.label, "down", f"would stop {', '.join(session.services(host))}, and remove {host.entry.install_directory}")
        return
    _confirm(session, f"stops cluster '{session.inventory.name}' and removes what deploy installed; data of nodes stay")
    nodes = session.on_all("down", lambda host: host.call("inspect", {"package": {"directory": "-"}}))
    ready = [host for host in nodes]
    session.on_all("down", lambda host: host.call("stop", {"services": [f"node-{node}" for node in nodes[host]["deployed"]["nodes"]]})
                   if nodes[host]["deployed"] else None, ready)  # all nodes of the cluster together, then what they rest on
    for host, result in session.on_all("down", lambda host: host.call("down"), ready).items():
        lines = [f"removed {path}" for path in result["removed"]] + result["left"]
        session.report.add(host.label, "down", "\n".join(lines) or "nothing was installed")
