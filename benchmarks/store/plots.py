"""Drawings of the results, which need matplotlib."""

# pyright: basic, reportMissingImports=false
# matplotlib is optional, and its types are open.

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.store.report import Run, measured

mpl.use("agg")

_PLOTS = (
    ("search-one-namespace", "one", "search_p50_ms", "search of one namespace, p50 ms"),
    ("search-small-namespaces", "many", "search_p50_ms", "search of 1,000 items, p50 ms"),
    ("filtered-one-namespace", "one", "filtered_p50_ms", "filtered search, p50 ms"),
    ("filtered-small-namespaces", "many", "filtered_p50_ms", "filtered, 1,000 items, p50 ms"),
    ("put", "one", "put_ms", "put of one item, p50 ms"),
    ("batch-put", "one", "batch_rows_s", "batch put of 1,000, rows/s"),
    ("memory", "one", "memory_mb", "memory, MB"),
    ("event-loop-stall", "one", "stall_max_ms", "longest event loop stall, ms"),
)


def draw(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Draw each figure over the number of items, one line a store, and return the files it drew."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for name, layout, measure, label in _PLOTS:
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for peer in dict.fromkeys(run.peer for run in runs):
            sizes = sorted({run.size for run in runs if (run.peer, run.layout) == (peer, layout)})
            points = [(size, measured(runs, peer, size, layout, measure)) for size in sizes]
            known = [(size, value) for size, value in points if value]
            if known:
                axes.plot(*zip(*known, strict=True), marker="o", label=peer)
        axes.set(xscale="log", yscale="log", xlabel="items", ylabel=label)
        axes.grid(visible=True, alpha=0.3)
        if not axes.lines:
            continue
        axes.legend(fontsize="small")
        file = folder / f"{name}.png"
        figure.savefig(file, dpi=110, metadata={"Software": None})
        files.append(file)
    return files
