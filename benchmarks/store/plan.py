"""Which store is measured at which size, and in what order. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from benchmarks.store.data import BLOCK, Layout


class Measured(Protocol):
    """What is known of a store before it is measured."""

    name: str
    at_most: int
    random_at_most: int
    layouts: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One store at one size and layout."""

    peer: str
    size: int
    layout: Layout


def jobs(peers: Sequence[Measured], sizes: Sequence[int], *, full: bool) -> list[Job]:
    """Return the jobs, peers next to each other at each size; `full` lifts the peers' limits."""
    found: list[Job] = []
    for size in sizes:
        for layout in _layouts(size):
            for peer in peers:
                limit = peer.random_at_most if layout == "random" else peer.at_most
                asked = layout == "random" or layout in peer.layouts
                if asked and (size <= limit or (full and limit > 0)):
                    found.append(Job(peer.name, size, layout))
    return found


def _layouts(size: int) -> tuple[Layout, ...]:
    """Return the layouts that differ at a size: one namespace of 1,000 is also a small one."""
    return ("one", "many", "random") if size > BLOCK else ("one", "random")
