"""Sets up a server of a ZooKeeper ensemble to try a cluster with: Debian's package, under a supervisor of ours."""

import os
import pathlib
import socket
from typing import Any

from . import files
from .place import Place
from .trouble import Trouble

JARS = [pathlib.Path("/usr/share/java") / name for name in ("zookeeper.jar", "slf4j-log4j12.jar", "log4j-1.2.jar")]
FOLDER = "zookeeper"
TICK_MS, MOST_MEMORY = 200, "256m"
LOG4J = """\
log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%p %c{1} %m%n
"""


def directory(place: Place, name: str) -> pathlib.Path:
    return place.directory / FOLDER / name.removeprefix("zookeeper-")


def configure(place: Place, server: "dict[str, Any]", ensemble: "list[dict[str, Any]]") -> "dict[str, Any]":
    """Writes one server's configuration. Returns the server with the command that runs it."""
    missing = [str(jar) for jar in JARS if not jar.exists()]
    if missing or not os.access("/usr/bin/java", os.X_OK):
        raise Trouble(f"there is no ZooKeeper on this host ({missing[0] if missing else '/usr/bin/java'} is missing): "
                      "install Debian's packages zookeeper and default-jre-headless")
    own = directory(place, server["name"])
    lines = [f"tickTime={TICK_MS}", f"dataDir={own}/data", f"clientPortAddress={server['address']}",
             f"clientPort={server['port']}",
             "initLimit=50", "syncLimit=25", "maxClientCnxns=0", "4lw.commands.whitelist=srvr"]
    if len(ensemble) > 1:
        lines += [f"server.{each['number']}={_in_brackets(each['address'])}:{each['peer_port']}:{each['election_port']}"
                  for each in ensemble]
    files.make_directory(own / "data", 0o700)
    files.write(own / "data" / "myid", f"{server['number']}\n")
    files.write(own / "zoo.cfg", "\n".join(lines) + "\n")
    files.write(own / "log4j.properties", LOG4J)
    path = ":".join([str(own), *map(str, JARS)])
    return server | {"command": ["/usr/bin/java", f"-Xmx{MOST_MEMORY}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                                 "-Dzookeeper.admin.enableServer=false", "-cp", path,
                                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(own / "zoo.cfg")]}


def _in_brackets(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def remove(place: Place) -> "list[str]":
    """Removes all servers but for what they have stored, as the data of nodes cannot be used without it. Returns the
    directories that stay.
    """
    kept = []
    top = place.directory / FOLDER
    if top.is_symlink() or not top.is_dir():
        files.remove_tree(top)
        return kept
    for server in sorted(top.iterdir()):
        data = server / "data"
        if server.is_symlink() or not (data / "version-2").is_dir():
            files.remove_tree(server)
            continue
        kept.append(str(data))
        for each in sorted(server.iterdir()):
            if each != data:
                files.remove_tree(each)
    files.remove_empty(top)
    return kept


def mode(place: Place, name: str) -> str:
    """Returns "standalone", "leader" or "follower" if the server serves, and otherwise "does not serve"."""
    for server in place.deployed().get("zookeepers", []):
        if server["name"] != name:
            continue
        try:
            with socket.create_connection((server["address"], server["port"]), timeout=0.5) as connection:
                connection.sendall(b"srvr")
                said = b""
                while data := connection.recv(4096):
                    said += data
        except OSError:
            break
        for line in said.decode(errors="replace").splitlines():
            if line.startswith("Mode: "):
                return line[len("Mode: ") :]
    return "does not serve"


def serves(place: Place, name: str) -> bool:
    return mode(place, name) != "does not serve"
