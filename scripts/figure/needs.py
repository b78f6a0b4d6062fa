"""Defines what a claim or a series needs of the machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    """Says what is needed; 0, False and an empty text mean nothing."""

    cores: int = 0
    memory_gib: float = 0
    nodes: int = 0  # the number of hosts
    rtm: bool = False
    rdma: bool = False
    peer: str = ""  # the name of another engine, whose results these figures do not measure
