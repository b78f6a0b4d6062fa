"""Reads the cluster file as a list of hosts: how each is reached, and which nodes it has. docs/cluster-file.md has the
keys.

Whether a node would take the file is not judged here; `granary cluster check` does that.
"""

import copy
import os
import socket
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import toml_text
from .errors import UsageError

# These keys have paths as values, which count from the file's folder.
PATHS = {"cluster": ("run_directory", "key_file"), "membership": ("password_file",), "clock": ("pmc_socket",),
         "node": ("data_directory", "reliable_directory", "log_directories", "install_directory", "http_token_file")}
# In [defaults], these keys name the directories above all nodes' own.
OF_EACH_NODE = ("data_directory", "reliable_directory", "log_directories")
TEXTS = ("host", "address", "ssh_host", "ssh_user", "install_directory", "data_directory", "reliable_directory", "http",
         "http_token_file")
HEADING = """Written by scripts/cluster.sh deploy from {file}.
Its paths are absolute, since they counted from that file's folder. Change that file, and deploy again."""


@dataclass(frozen=True)
class Node:
    """Is one node, with its own values and those that it has from [defaults]."""

    id: int
    host: str
    address: str
    data_directory: str
    reliable_directory: str
    log_directories: "tuple[str, ...]"
    http: str
    http_token_file: str

    @property
    def service(self) -> str:
        return f"node-{self.id}"

    def directories(self) -> "list[str]":
        return [each for each in (self.data_directory, self.reliable_directory, *self.log_directories) if each]

    def places(self) -> "dict[str, Any]":
        """Returns what a host has to know to find the node's data."""
        return {"id": self.id, "data_directory": self.data_directory, "reliable_directory": self.reliable_directory,
                "log_directories": list(self.log_directories)}


@dataclass(frozen=True)
class Access:
    """Tells how a host is reached: by ssh, or, without an address, directly since it is this one."""

    address: str = ""
    user: str = ""
    port: int = 22

    @property
    def label(self) -> str:
        return (self.address if self.port == 22 else f"{self.address}:{self.port}") if self.address else "localhost"


@dataclass
class HostEntry:
    """Is a host, with what of the cluster is there."""

    access: Access
    install_directory: str
    nodes: "list[Node]" = field(default_factory=list)


@dataclass
class Inventory:
    """Has what cluster.sh knows of a cluster."""

    file: Path
    name: str
    run_directory: str
    key_file: str
    password_file: str
    membership: "dict[str, Any]"
    hosts: "list[HostEntry]"
    text: str  # the text of the file that hosts get

    @property
    def nodes(self) -> "list[Node]":
        return sorted((node for host in self.hosts for node in host.nodes), key=lambda node: node.id)

    def host_of(self, node_id: int) -> HostEntry:
        for host in self.hosts:
            if any(node.id == node_id for node in host.nodes):
                return host
        raise UsageError(f"'{self.file}' has no node {node_id}; it has "
                         f"{', '.join(str(node.id) for node in self.nodes)}")


def is_this_host(name: str) -> bool:
    return name in ("localhost", "::1", socket.gethostname(), socket.getfqdn()) or name.startswith("127.")


def load(path: str) -> Inventory:
    """Reads a cluster file. A UsageError says what is wrong with it."""
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"there is no cluster file '{path}'")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    return parse(text, file)


def parse(text: str, file: Path) -> Inventory:
    """Reads the text of a cluster file."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from error
    return _Reader(file, tables).read()


class _Reader:
    def __init__(self, file: Path, tables: "dict[str, Any]") -> None:
        self.file = file
        self.folder = Path(os.path.abspath(file)).parent
        self.tables = self._with_absolute_paths(tables)

    def read(self) -> Inventory:
        cluster, membership = self._table("cluster"), self._table("membership")
        name = self._text(cluster, "name", "[cluster]")
        if not name:
            raise UsageError(f"{self.file}: [cluster] has no name")
        self.default_install = str(self.folder / f"{name}.installed")
        hosts: "dict[Access, HostEntry]" = {}
        nodes = self.tables.get("node")
        if not isinstance(nodes, list) or not nodes:
            raise UsageError(f"{self.file}: there are no nodes; add a section [[node]] for each")
        for table in nodes:
            self._add(hosts, table)
        ids = [node.id for host in hosts.values() for node in host.nodes]
        if len(set(ids)) != len(ids):
            raise UsageError(f"{self.file}: two nodes have the same id")
        try:
            text = toml_text.text_of(self.tables, HEADING.format(file=self.folder / self.file.name))
        except ValueError as error:
            raise UsageError(f"{self.file}: {error}") from error
        return Inventory(file=self.file, name=name, run_directory=self._text(cluster, "run_directory", "[cluster]"),
                         key_file=self._text(cluster, "key_file", "[cluster]"),
                         password_file=self._text(membership, "password_file", "[membership]"), membership=membership,
                         hosts=list(hosts.values()), text=text)

    def _add(self, hosts: "dict[Access, HostEntry]", table: "dict[str, Any]") -> None:
        values = self._table("defaults") | table
        number = values.get("id")
        if not isinstance(number, int) or isinstance(number, bool) or "id" not in table:
            raise UsageError(f"{self.file}: a [[node]] has no id of its own, a whole number from 1 to 4095")
        where = f"node {number}"
        texts = {key: self._text(values, key, where) for key in TEXTS}
        access = self._access(texts, values.get("ssh_port", 22), where)
        install = texts["install_directory"]
        if access.address and not install:
            raise UsageError(f"{self.file}: node {number} is reached by ssh, so it needs an install_directory, such as "
                             "\"/opt/granary\"")
        entry = hosts.setdefault(access, HostEntry(access, install or self.default_install))
        if entry.install_directory != (install or self.default_install):
            raise UsageError(f"{self.file}: nodes {entry.nodes[0].id} and {number} of {access.label} have different "
                             f"values of install_directory")
        for other in hosts.values():
            first = other.nodes[0] if other.nodes else None
            if other is not entry and first and other.install_directory == entry.install_directory:
                self._refuse_two_ways(first, other.access, number, texts["host"], access)
        own = {key: values[key] if key in table else _below(values[key], number)
               for key in OF_EACH_NODE if key in values}
        entry.nodes.append(Node(id=number, host=texts["host"] or "localhost", address=texts["address"],
                                http=texts["http"], http_token_file=texts["http_token_file"],
                                data_directory=own.get("data_directory", ""),
                                reliable_directory=own.get("reliable_directory", ""),
                                log_directories=tuple(own.get("log_directories", []))))

    def _refuse_two_ways(self, first: Node, way: Access, number: int, host: str, other: Access) -> None:
        """Refuses two ways to one install directory, since each of two deploys would take the other's nodes for some
        that are gone.
        """
        same_name = host and host == first.host
        if same_name or (way.address, way.port) == (other.address, other.port):
            raise UsageError(f"{self.file}: nodes {first.id} and {number} are on one host, '{host or other.label}', "
                             "with one install_directory, but are reached in two ways: give both the same ssh_host, "
                             "ssh_user and ssh_port")

    def _access(self, texts: "dict[str, str]", port: Any, where: str) -> Access:
        if not isinstance(port, int) or isinstance(port, bool) or not 1 <= port <= 65535:
            raise UsageError(f"{self.file}: {where}: ssh_port is {port!r}; expected 1 to 65535")
        for key in ("ssh_host", "ssh_user", "host"):
            if texts[key].startswith("-") or any(letter.isspace() for letter in texts[key]):
                raise UsageError(f"{self.file}: {where}: {key} is '{texts[key]}', which is no name")
        host = texts["host"] or "localhost"
        if not texts["ssh_host"] and is_this_host(host):
            return Access()
        return Access(texts["ssh_host"] or host, texts["ssh_user"], port)

    def _table(self, name: str) -> "dict[str, Any]":
        table = self.tables.get(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"{self.file}: {name} is no section; write [{name}]")
        return table

    def _text(self, table: "dict[str, Any]", key: str, where: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise UsageError(f"{self.file}: {where}: {key} is {value!r}; expected text")
        return value

    def _with_absolute_paths(self, tables: "dict[str, Any]") -> "dict[str, Any]":
        result = copy.deepcopy(tables)
        for name, content in result.items():
            for table in content if isinstance(content, list) else [content]:
                if not isinstance(table, dict):
                    raise UsageError(f"{self.file}: '{name}' is no section")
                for key in PATHS.get("node" if name == "defaults" else name, ()):
                    if key in table:
                        table[key] = self._absolute(key, table[key])
        return result

    def _absolute(self, key: str, value: Any) -> Any:
        """Refuses what is no path. An empty text would be the file's own folder, and of a text in place of a list each
        letter would become a directory.
        """
        if key == "log_directories":
            if not isinstance(value, list):
                raise UsageError(f"{self.file}: {key} is {value!r}; expected a list of texts")
            return [self._absolute("one of log_directories", each) for each in value]
        if not isinstance(value, str) or not value:
            raise UsageError(f"{self.file}: {key} is {value!r}; expected text, which is not empty")
        if value.startswith("~"):
            raise UsageError(f"{self.file}: {key} is '{value}'; write the directory of the user out, as ~ stands for "
                             "none in this file")
        return os.path.normpath(self.folder / value)


def _below(value: Any, node: int) -> Any:
    return [_below(each, node) for each in value] if isinstance(value, list) else f"{value}/node-{node}"
