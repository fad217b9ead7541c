"""The store of the Studio example: what `store.path` in langgraph.json names.

A module of its own, named in dotted form: the server then imports it once, under its own name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langgraph_fabric.store import ChromaStore

FOLDER = Path(__file__).with_name("memories")
"""Where the memory lies; delete the folder to start afresh."""


@contextmanager
def open_store() -> Iterator[ChromaStore]:
    """Open the store for as long as the server runs."""
    with ChromaStore.from_path(FOLDER) as store:
        yield store
