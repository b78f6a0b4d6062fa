"""Holds what a command works with: inventory, hosts, flags, and the report that it makes."""

import argparse
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from .errors import HostError, UsageError
from .hosts import Host, Ssh, on_all
from .inventory import Inventory
from .table import Report


@dataclass
class Session:
    """Is one run of cluster.sh."""

    inventory: Inventory
    hosts: "list[Host]"
    flags: argparse.Namespace
    ssh: Ssh
    report: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        self.chosen_nodes()  # this refuses wrong nodes before any host is asked

    @property
    def dry_run(self) -> bool:
        return bool(getattr(self.flags, "dry_run", False))

    def on_all(self, subject: str, action: "Callable[[Host], Any]",
               hosts: "Optional[list[Host]]" = None) -> "dict[Host, Any]":
        """Returns the results of the hosts that could do it. The report tells of the others."""
        results = {}
        for host, result in on_all(self.hosts if hosts is None else hosts, action):
            if isinstance(result, HostError):
                self.report.add(host.label, subject, str(result), ok=False, code=result.code)
            else:
                results[host] = result
        return results

    def host_of(self, node: int) -> Host:
        entry = self.inventory.host_of(node)
        return next(host for host in self.hosts if host.entry is entry)

    def chosen_nodes(self) -> "Optional[set[int]]":
        """Returns the nodes of --nodes, or None if the flag is not given, which means all. An empty list is refused: it
        may come of a variable that is not set, and does not mean all.
        """
        nodes = getattr(self.flags, "nodes", None)
        if nodes is None:
            return None
        chosen = set()
        for word in nodes.split(","):
            if not re.fullmatch(r"[0-9]{1,9}", word):
                raise UsageError(f"--nodes={nodes}: '{word}' is no number of a node; expected as 1,3, or no --nodes "
                                 "for all")
            self.inventory.host_of(int(word))
            chosen.add(int(word))
        return chosen

    def services(self, host: Host) -> "list[str]":
        """Returns the nodes of a host that the command is about."""
        chosen = self.chosen_nodes()
        return [node.service for node in host.nodes if chosen is None or node.id in chosen]

    def hosts_with_chosen(self) -> "list[Host]":
        return [host for host in self.hosts if self.services(host)]
