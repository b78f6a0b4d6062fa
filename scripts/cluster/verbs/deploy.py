"""Does `deploy`: it puts package, cluster file, secrets and directories onto all hosts."""

import os
import stat
from pathlib import Path
from typing import Any

from .. import package as packages
from .. import zookeeper
from ..agent.handed_out import CLUSTER_KEY
from ..errors import UsageError
from ..hosts import Host
from ..live import LiveLines
from ..output import note
from ..session import Session
from . import gone

ROOT = Path(__file__).resolve().parents[3]


def deploy(session: Session) -> None:
    package = packages.find(session.flags.package, ROOT, keep_hash=not session.dry_run)
    secrets = _secrets(session)
    ensemble = zookeeper.ensemble(session) if session.flags.with_zookeeper else []
    there = session.on_all("deploy", lambda host: host.call("inspect", {"package": package.facts()}))
    if session.flags.with_zookeeper is None and any(_has_server(found) for found in there.values()):
        ensemble = _ensemble_of_before(session)
    former = gone.find(session, there)
    note(f"package {package.name}, sha256 {package.sha256[:12]}")
    lines = LiveLines([host.label for host in there])

    def arguments(host: Host) -> "dict[str, Any]":
        directories = [session.inventory.run_directory] + [path for node in host.nodes for path in node.directories()]
        return {"package": package.facts(), "file_text": session.inventory.text, "directories": directories,
                "run_directory": session.inventory.run_directory,
                "secrets": secrets, "modules": host.modules, "nodes": [node.id for node in host.nodes],
                "supervisor": session.flags.supervisor, "while_running": session.flags.while_running,
                "program": session.flags.program, "http": {node.service: node.http for node in host.nodes if node.http},
                "zookeepers": [each for each in ensemble if each["host"] == host.label], "ensemble": ensemble}

    def one(host: Host) -> "dict[str, Any]":
        wanted, found = arguments(host), there[host]
        if session.dry_run:
            return {"found": found}
        if found["has_package"]:
            with lines.working(host.label, "installs", "has installed"):
                return host.call("install", wanted)
        size = package.path.stat().st_size >> 10
        with lines.working(host.label, f"gets {size} KiB and installs", "has installed"):
            with open(package.path, "rb") as payload:
                return host.call("install", wanted, payload=payload)

    results = session.on_all("deploy", one, list(there))
    for host, result in results.items():
        where = f"in {host.entry.install_directory}"
        if session.dry_run:
            sends = "" if result["found"]["has_package"] else f"send {package.path.stat().st_size >> 10} KiB, "
            session.report.add(host.label, "deploy", f"would {sends}install {package.directory} {where}, for nodes "
                               f"{', '.join(str(node.id) for node in host.nodes)}")
        elif result["done"]:
            session.report.add(host.label, "deploy",
                               "\n".join([f"installed {where}, supervisor {result['supervisor']}:", *result["done"]]))
        else:
            session.report.add(host.label, "deploy", f"all is there already {where}; nothing was done")
    if gone.end(session, former, installed=len(results) == len(session.hosts)):
        gone.forget(session, [host for host, result in results.items() if result["keeps_former"]])


def _has_server(found: "dict[str, Any]") -> bool:
    return bool(found["deployed"].get("zookeepers"))


def _ensemble_of_before(session: Session) -> "list[dict[str, Any]]":
    """Returns the servers of the cluster file, which an earlier deploy was told to set up."""
    try:
        return zookeeper.ensemble(session)
    except UsageError as error:
        raise UsageError(f"{error}. An earlier deploy set up servers of ZooKeeper; say --no-zookeeper if the cluster "
                         "is to have none any more") from error


def _secrets(session: Session) -> "list[dict[str, str]]":
    """Returns the cluster key, ZooKeeper's password and tokens for HTTP, which hosts get with mode 0600."""
    found = []
    inventory = session.inventory
    tokens = {("token for HTTP", node.http_token_file) for node in inventory.nodes}
    for what, path in [(CLUSTER_KEY, inventory.key_file), ("ZooKeeper's password", inventory.password_file),
                       *sorted(tokens)]:
        if not path:
            continue
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            hint = "; 'granary cluster key' makes one" if what == CLUSTER_KEY else ""
            raise UsageError(f"the {what} '{path}' cannot be read: {error.strerror}{hint}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"the {what} '{path}' is no text in UTF-8") from error
        if mode & 0o077:
            raise UsageError(f"the {what} '{path}' can be read by others; 'chmod 600 {path}'")
        found.append({"what": what, "path": path, "text": text})
    return found
