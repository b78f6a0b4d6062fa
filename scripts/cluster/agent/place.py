"""Knows the directory on a host where one cluster is installed. The directory has:

  .granary-cluster    the name of its cluster; without it, only an empty directory is written to, and nothing removed
  versions/NAME-HASH/ an unpacked release package
  current             a link to one of them, changed last
  cluster.toml        the cluster file, with absolute paths
  former.json         the texts of earlier cluster files, until nodes of hosts that only these have are ended
  deployed.json       what the last deploy put here
  handed_out.json     the secrets that a deploy that has not ended has put elsewhere (handed_out.py)
  lock, held          what a cluster.sh locks that works here (lock.py)
  agent/              the program of supervisors
  services/NAME/      a node's or a ZooKeeper server's job.json, state.json, log, supervisor.lock
  zookeeper/N/        a ZooKeeper server's configuration, and its data, which outlive `down`
"""

import os
import pathlib
from typing import Any, Optional

from . import files, processes
from .trouble import Trouble

MARKER = ".granary-cluster"


class Place:
    """Is an install directory. claim() and require() refuse one that another cluster has."""

    def __init__(self, directory: str, cluster: str) -> None:
        self.directory = pathlib.Path(directory)
        self.cluster = cluster
        self.versions = self.directory / "versions"
        self.current = self.directory / "current"
        self.file = self.directory / "cluster.toml"
        self.former_file = self.directory / "former.json"
        self.deployed_file = self.directory / "deployed.json"
        self.handed_out_file = self.directory / "handed_out.json"
        self.agent = self.directory / "agent"
        self.services = self.directory / "services"

    def owner(self) -> Optional[str]:
        """Returns the cluster that the directory says it is of; None if it does not say."""
        marker = files.read_json(self.directory / MARKER)
        return marker.get("cluster") if isinstance(marker, dict) else None

    def claim(self) -> bool:
        """Makes the directory this cluster's. Returns whether it was not before."""
        owner = self.owner()
        if owner == self.cluster:
            return False
        if owner is not None:
            raise Trouble(f"'{self.directory}' has cluster '{owner}' installed; give '{self.cluster}' another "
                          "install_directory")
        if self.directory.is_dir() and any(self.directory.iterdir()):
            raise Trouble(f"'{self.directory}' is not empty, and nothing in it is of a cluster; give another "
                          "install_directory")
        try:
            files.make_directory(self.directory, 0o755)
            files.write_json(self.directory / MARKER, {"cluster": self.cluster, "made_by": "scripts/cluster.sh deploy"})
        except OSError as error:
            raise Trouble(f"install_directory '{self.directory}' cannot be made: {error}") from error
        return True

    def require(self) -> "dict[str, Any]":
        """Returns what was deployed here, and refuses if nothing was."""
        owner = self.owner()
        if owner is not None and owner != self.cluster:
            raise Trouble(f"'{self.directory}' has cluster '{owner}' installed, not '{self.cluster}'")
        deployed = files.read_json(self.deployed_file)
        if owner is None or deployed is None:
            raise Trouble(f"nothing is installed in '{self.directory}'; run 'deploy' first")
        return deployed

    def deployed(self) -> "dict[str, Any]":
        """Returns what was deployed here; nothing if nothing was, or if another cluster has this directory."""
        known = files.read_json(self.deployed_file) if self.owner() == self.cluster else None
        return known or {}

    def former_texts(self) -> "list[str]":
        """Returns the texts of earlier cluster files that former.json has."""
        return files.read_json(self.former_file) or []

    def program(self) -> pathlib.Path:
        return self.current / "bin" / "granary"

    def make_directory(self, path: str) -> bool:
        """Makes a directory that only the nodes' user may enter. Returns whether it was missing."""
        try:
            return files.make_directory(pathlib.Path(path), 0o700, self.directory)
        except OSError as error:
            raise Trouble(f"directory '{path}' cannot be made: {error}") from error

    def identity(self) -> "list[Any]":
        """Returns what tells whether two ways lead to the same directory of the same host; empty if there is none."""
        if not self.directory.is_dir():
            return []
        found = self.directory.stat()
        return [processes.boot_id(), found.st_dev, found.st_ino]

    def run_as(self) -> "dict[str, Any]":
        """Returns what subprocess needs to run a program as the install directory's owner: nothing unless we are root.
        """
        owner = self.directory.stat()
        if os.geteuid() != 0 or owner.st_uid == 0:
            return {}
        return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}

    def version_of(self, program: str) -> str:
        """Returns the name of the version that a running program is of; its path if it is none of ours."""
        versions = os.path.realpath(self.versions)
        if program.startswith(versions + "/"):
            return program[len(versions) + 1 :].split("/")[0]
        return program

    def service(self, name: str) -> pathlib.Path:
        return self.services / name
