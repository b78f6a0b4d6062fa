"""What a claim or a series needs of the machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    """Zero or False: nothing."""

    cores: int = 0
    memory_gib: float = 0
    nodes: int = 0  # hosts
    rtm: bool = False
    rdma: bool = False
    peer: str = ""  # another engine, whose results are not measured by these figures
