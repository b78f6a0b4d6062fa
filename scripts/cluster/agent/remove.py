"""Takes away what deploy has installed. Data stay, also those of ZooKeeper's servers; data.py removes them."""

from typing import Any

from . import files, handed_out, install, own, services, systemd, zookeeper
from .place import MARKER, Place
from .trouble import Trouble

INSTALLED = ("services", "current", "versions", "agent", "cluster.toml", "former.json", "deployed.json",
             "handed_out.json", "held", "lock")


def down(place: Place, arguments: "dict[str, Any]") -> "dict[str, Any]":
    """Ends all services, then removes what is installed. Returns what was removed and what was left: nothing if nothing
    is installed.
    """
    owner = place.owner()
    if owner is None:
        return {"removed": [], "left": []}
    if owner != place.cluster:
        raise Trouble(f"'{place.directory}' has cluster '{owner}' installed, not '{place.cluster}'")
    if place.deployed():
        nodes = [f"node-{node}" for node in place.deployed().get("nodes", [])]
        stopped = services.stop(place, {"services": nodes}) | services.stop(place, {})
        bad = [f"{name}: {each['what']}" for name, each in stopped.items() if not each["ended"]]
        if bad:
            raise Trouble("; ".join(bad))
        if place.deployed().get("supervisor") == systemd.NAME:
            systemd.end_former(place, place.deployed().get("nodes", []))
            systemd.remove(place, place.deployed().get("nodes", []))
    _end_orphans(place)
    removed = handed_out.remove(place)
    left = [f"'{path}' stays, since nodes with data are refused by a membership that has forgotten them; 'wipe' before "
            "'down' removes both" for path in zookeeper.remove(place)]
    install.remove_partial(place)
    for name in INSTALLED:
        files.remove_tree(place.directory / name)
    ours = (MARKER, zookeeper.FOLDER) if left else (MARKER,)
    others = sorted(each.name for each in place.directory.iterdir() if each.name not in ours)
    if others:
        left.append(f"'{place.directory}' stays: deploy did not put there {', '.join(others[:5])}")
    if left:  # the directory stays this cluster's, so that it can be deployed there again
        return {"removed": [f"what was installed in {place.directory}", *removed], "left": left}
    (place.directory / MARKER).unlink()
    files.remove_empty(place.directory)
    return {"removed": [str(place.directory), *removed], "left": []}


def _end_orphans(place: Place) -> None:
    """Ends services of an earlier cluster file that still run."""
    if not place.services.is_dir():
        return
    for each in sorted(place.services.iterdir()):
        found = own.status(place, each.name)
        if found["pid"] or found["supervisor"] == "runs":
            own.stop(place, each.name)
