"""One store in a process of its own: `python -m benchmarks.store.child`.

The parent names the stage, the store, the size, the layout and the folder. Stages are `load` and
`measure`; a store without a folder does both in the second. The last line of its output is JSON:
the measures, or why the store was skipped.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from benchmarks.store.data import Data, Layout, Lookup
from benchmarks.store.measures import load, measure
from benchmarks.store.peers import PEERS
from benchmarks.store.report import Measures


def run(stage: str, name: str, size: int, layout: Layout, folder: Path) -> Measures:
    """Run one stage and return what it measured."""
    kind = next(peer for peer in PEERS if peer.name == name)
    data = Data(size, layout)
    peer = kind(folder, data, Lookup(data))
    if stage == "load":
        return load(peer) if peer.persistent else {}
    return measure(peer)


def main(arguments: Sequence[str]) -> int:
    """Run the stage that the arguments name, and print its measures."""
    stage, name, size, layout, folder = arguments
    try:
        found: object = run(stage, name, int(size), cast("Layout", layout), Path(folder))
    except ImportError as exc:
        found = {"skipped": f"{exc.name or exc} is not installed"}
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
