"""The page about the benchmark, made of its results. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.store.report import (
    OURS,
    Run,
    measured,
    number,
    ratio,
    table,
    times,
    verdicts,
)

_COLUMNS = {
    "one": (
        ("put_ms", "put, ms"),
        ("batch_rows_s", "batch put, rows/s"),
        ("get_ms", "get, ms"),
        ("search_p50_ms", "search p50, ms"),
        ("search_p95_ms", "p95"),
        ("search_p99_ms", "p99"),
        ("filtered_p50_ms", "filtered p50, ms"),
        ("filtered_p95_ms", "p95"),
        ("filtered_p99_ms", "p99"),
        ("cold_ms", "first search, ms"),
        ("recall", "recall@10"),
        ("filtered_recall", "filtered"),
    ),
    "many": (
        ("search_p50_ms", "search p50, ms"),
        ("search_p95_ms", "p95"),
        ("search_p99_ms", "p99"),
        ("filtered_p50_ms", "filtered p50, ms"),
        ("filtered_p95_ms", "p95"),
        ("filtered_p99_ms", "p99"),
        ("cold_ms", "first search, ms"),
        ("recall", "recall@10"),
        ("filtered_recall", "filtered"),
    ),
    "random": (("recall", "recall@10"),),
}
_COSTS = (
    ("open_ms", "open to first read, ms"),
    ("memory_mb", "memory, MB"),
    ("disk_b_item", "disk, bytes an item"),
    ("load_rows_s", "load, rows/s"),
    ("index_rows_s", "index apart, rows/s"),
    ("stall_p99_ms", "loop stall p99, ms"),
    ("stall_max_ms", "longest, ms"),
    ("stall_writes_s", "writes/s meanwhile"),
    ("load", "load average"),
)
_RATIOS = (
    ("put_ms", "put"),
    ("batch_rows_s", "batch put (rows/s)"),
    ("get_ms", "get"),
    ("search_p50_ms", "search"),
    ("filtered_p50_ms", "filtered search"),
    ("cold_ms", "first search"),
    ("memory_mb", "memory"),
    ("disk_b_item", "disk"),
    ("open_ms", "open"),
)
_TITLES = {
    "one": "All items in one namespace",
    "many": "1,000 items a namespace, searched one namespace at a time",
    "random": "Random vectors, the worst case of an approximate index",
}
_INTRODUCTION = """# Benchmarks

`python -m benchmarks.store --json docs/benchmarks/NAME.json` measures the stores, and \
`python -m benchmarks.store --docs` writes this page from what it found: no figure here was typed.

Every store runs in processes of its own, one after the other, on the same 384 numbers an item. \
They are made before the clock starts, so no embedder is timed. Times are medians of five rounds, \
of a percentile each. The filter is the fabric's: live and valid now. \
A first search is the first after opening, with the system's file cache warm. \
A loop stall is how late a 1 ms heartbeat came while twenty async writers wrote and the index was \
brought up to date every 0.2 s. \
Memory is what opening and searching added to the process and to those it started, and a server's \
if there is one. Recall is the share of the ten truly nearest that were returned.

Where the load average is above the number of cores, other programs took part of the machine: such \
times are longer than they need be, and only their ratios mean much.
"""


def merged(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of several runs as one.

    Raises:
        ValueError: They are of different machines or versions, or measured the same twice.
    """
    first, *others = parts
    for other in others:
        if any(other[name] != first[name] for name in ("machine", "versions")):
            raise ValueError("the results are of different machines or versions")
    runs = sorted((run for part in parts for run in part["runs"]), key=lambda run: run["size"])
    names = [(run["peer"], run["size"], run["layout"]) for run in runs]
    if len(set(names)) < len(names):
        raise ValueError("the results measured the same twice")
    skipped = {peer: why for part in parts for peer, why in part["skipped"].items()}
    date = max(part["date"] for part in parts)
    return {**first, "date": date, "runs": runs, "skipped": skipped}


def page(results: Mapping[str, Any], runs: Sequence[Run], plots: Sequence[str]) -> str:
    """Return the page as Markdown."""
    sizes = sorted({run.size for run in runs})
    parts = [_INTRODUCTION, _ground(results)]
    parts += [_promises(runs, size) for size in reversed(sizes)]
    parts += [_ratios(runs, sizes, layout) for layout in ("one", "many")]
    parts += [f"![{_alt(plot)}]({plot})\n" for plot in plots]
    for layout in _TITLES:
        parts += [_figures(runs, size, layout) for size in sizes]
    parts += [_costs(runs, size) for size in sizes]
    return "\n".join(part for part in parts if part)


def _ground(results: Mapping[str, Any]) -> str:
    where = ", ".join(f"{name} {value}" for name, value in results["machine"].items())
    what = ", ".join(f"{name} {value}" for name, value in results["versions"].items())
    skipped = [f"{peer} ({reason})" for peer, reason in results["skipped"].items()]
    left_out = f"\nSkipped: {', '.join(skipped)}.\n" if skipped else ""
    return f"{results['date']}. Machine: {where}.\n\nVersions: {what}.\n{left_out}"


def _promises(runs: Sequence[Run], size: int) -> str:
    rows = [
        (v.promise, v.wanted, v.measured, "yes" if v.kept else "**no**")
        for v in verdicts(runs, size)
    ]
    if not rows:
        return ""
    head = ("what is promised", "wanted", "measured", "kept")
    return f"## Promises at {size:,} items\n\n{table(head, rows)}\n"


def _ratios(runs: Sequence[Run], sizes: Sequence[int], layout: str) -> str:
    """Return `ChromaStore`'s figures as multiples of each peer's at the same size."""
    rows: list[list[str]] = []
    for size in sizes:
        peers = [run.peer for run in runs if (run.size, run.layout) == (size, layout)]
        for peer in peers:
            cells = [
                _multiple(measured(runs, OURS, size, layout, n), run_figure)
                for n, _ in _RATIOS
                for run_figure in [measured(runs, peer, size, layout, n)]
            ]
            if peer != OURS and any(cells):
                rows.append([f"{size:,}", peer, *cells])
    if not rows:
        return ""
    kept = [i for i in range(len(_RATIOS)) if any(row[i + 2] for row in rows)]
    head = ["items", f"{OURS} is, of", *(_RATIOS[i][1] for i in kept)]
    return (
        f"## Ratios: {_TITLES[layout].lower()}\n\n"
        f"{table(head, [[*row[:2], *(row[i + 2] for i in kept)] for row in rows])}\n"
    )


def _multiple(ours: float | None, theirs: float | None) -> str:
    found = ratio(ours, theirs)
    return "" if found is None else times(found)


def _figures(runs: Sequence[Run], size: int, layout: str) -> str:
    return _section(runs, size, layout, _COLUMNS[layout], f"{_TITLES[layout]}, {size:,} items")


def _costs(runs: Sequence[Run], size: int) -> str:
    return _section(runs, size, "one", _COSTS, f"Memory, disk, opening, event loop, {size:,} items")


def _section(
    runs: Sequence[Run],
    size: int,
    layout: str,
    columns: Sequence[tuple[str, str]],
    title: str,
) -> str:
    chosen = [run for run in runs if (run.size, run.layout) == (size, layout)]
    kept = [c for c in columns if any(run.measures.get(c[0]) is not None for run in chosen)]
    if not kept:
        return ""
    rows = [[run.peer, *(number(run.measures.get(name)) for name, _ in kept)] for run in chosen]
    return f"## {title}\n\n{table(['store', *(label for _, label in kept)], rows)}\n"


def _alt(plot: str) -> str:
    return plot.rpartition("/")[2].removesuffix(".png").replace("-", " ")
