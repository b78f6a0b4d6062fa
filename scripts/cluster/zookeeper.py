"""Plans an ensemble to try a cluster with, on the hosts that the cluster file names as ZooKeeper's servers."""

import ipaddress
import socket
from typing import Any

from .errors import UsageError
from .hosts import Host
from .inventory import is_this_host
from .session import Session

PEER_PORT, ELECTION_PORT = 1000, 2000  # these are added to the port for clients


def ensemble(session: Session) -> "list[dict[str, Any]]":
    """Returns the servers of [membership], each with the host that runs it. Their ports among themselves lie 1000 and
    2000 above that for clients.
    """
    membership = session.inventory.membership
    if membership.get("kind") != "zookeeper":
        raise UsageError(f"--with-zookeeper: {session.inventory.file} has membership \"local\"; write kind = "
                         "\"zookeeper\" and servers = [...] with one server or three")
    places = membership.get("servers") or []
    if len(places) not in (1, 3, 5):
        raise UsageError(f"--with-zookeeper: [membership] names {len(places)} servers; an ensemble has 3, or 5, or 1 "
                         "to try")
    servers = []
    for number, place in enumerate(places, start=1):
        name, port_text = _split(place)
        if not name or not port_text.isdigit() or int(port_text) + ELECTION_PORT > 65535:
            raise UsageError(f"--with-zookeeper: server '{place}': expected host:port, with a port up to "
                             f"{65535 - ELECTION_PORT}")
        host = _host_for(session, name)
        servers.append({"name": f"zookeeper-{number}", "number": number, "host": host.label, "address": _address(name),
                        "port": int(port_text), "peer_port": int(port_text) + PEER_PORT,
                        "election_port": int(port_text) + ELECTION_PORT})
    return servers


def _split(place: str) -> "tuple[str, str]":
    """Returns name or address, and port. An address of IPv6 has brackets, which are left out; without them, the name is
    empty.
    """
    name, _, port_text = place.rpartition(":")
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1], port_text
    return "" if ":" in name else name, port_text


def _host_for(session: Session, name: str) -> Host:
    for host in session.hosts:
        words = {host.entry.access.address} | {word for node in host.nodes for word in (node.host, node.address)}
        if any(_is_same(name, word) for word in words):
            return host
    for host in session.hosts:
        if is_this_host(name) and not host.entry.access.address:
            return host
    known = ", ".join(host.label for host in session.hosts)
    raise UsageError(f"--with-zookeeper: server '{name}' is on none of the cluster's hosts ({known}); name it by a "
                     "node's host or address")


def _is_same(name: str, other: str) -> bool:
    """Tells whether both name one host. An address of IPv6 is the same one in another form, too."""
    try:
        return ipaddress.ip_address(name) == ipaddress.ip_address(other)
    except ValueError:  # one of them is no address
        return name == other


def _address(name: str) -> str:
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        raise UsageError(f"--with-zookeeper: server '{name}' has no address here: {error}") from error
