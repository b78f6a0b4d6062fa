"""Makes what a run needs beside its words: directories, and the file of a cluster. All of it is removed after the run.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from .plan import Run
from .template import filled

# A node's sockets have paths of at most 90 bytes, so they are here and not below --out.
MEMORY = Path("/dev/shm")


class Places:
    """Has the places of one output directory, whose runs go one after another. It first removes what a killed process
    has left.
    """

    def __init__(self, out: Path) -> None:
        name = hashlib.sha256(f"{os.getuid()} {out.resolve()}".encode()).hexdigest()[:12]
        self.on_disk = out.resolve() / "work"
        self.in_memory = MEMORY / f"granary-figure-{name}"
        self.report = self.on_disk / "report.json"

    def make(self, run: Run) -> "list[list[str]]":
        """Makes the places. Returns the words of the commands before the run, and of its own, with all placeholders
        filled.
        """
        self.remove()
        self.on_disk.mkdir()
        self.in_memory.mkdir(mode=0o700)
        paths = {"directory": self.on_disk / "data", "memory_directory": self.in_memory / "data",
                 "cluster": self.on_disk / "cluster.toml"}
        for name in ("directory", "memory_directory"):
            paths[name].mkdir()
        if run.cluster is not None:
            paths["cluster"].write_text(self._cluster_file(json.loads(run.cluster), paths["directory"]),
                                        encoding="utf-8")
        variables = {name: str(path) for name, path in paths.items()}
        return [[filled(word, variables, 0) for word in words] for words in (*run.before, run.words)]

    def remove(self) -> None:
        for path in (self.on_disk, self.in_memory):
            shutil.rmtree(path, ignore_errors=True)

    def _cluster_file(self, cluster: "dict[str, Any]", data: Path) -> str:
        for name in ("run", "rings"):
            (self.in_memory / name).mkdir(mode=0o700)
        defaults = {"workers": 1, "memory": "1GiB"}
        if cluster["on_disk"]:  # rings without a directory for data are of no use, and refused
            defaults |= {"data_directory": str(data), "reliable_directory": str(self.in_memory / "rings")}
        own = {"name": "figure", "run_directory": str(self.in_memory / "run")}
        sections = {"cluster": own | cluster["cluster"], "clock": cluster["clock"],
                    "defaults": defaults | cluster["defaults"]}
        lines = []
        for name, keys in sections.items():
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""]
        for number in range(1, int(cluster["nodes"]) + 1):
            lines += ["[[node]]", f"id = {number}", ""]
        return "\n".join(lines)
