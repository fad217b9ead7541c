"""The command line: `python -m benchmarks.store [--sizes N,...] [--json FILE]`, then `--docs`.

Every store is written and measured in child processes of its own, one after the other. Without
`--full` the slower stores stay at 10,000 items; with it all sizes are for all, and there is one
more. A store whose library is not installed is skipped, and the reason is printed. A long run may
be done in parts, one JSON file each: `--docs` makes one page of all in docs/benchmarks.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from benchmarks.store.machine import load_average, machine, versions
from benchmarks.store.page import merged, page
from benchmarks.store.peers import PEERS
from benchmarks.store.plan import Job, jobs
from benchmarks.store.report import Run

SIZES = (1_000, 10_000, 100_000)
FULL_SIZE = 1_000_000
DOCS = Path(__file__).parents[2] / "docs"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for."""
    options = _parser().parse_args(arguments)
    if options.docs:
        return _write_page()
    sizes = [int(size) for size in options.sizes.split(",")]
    chosen = options.peers.split(",") if options.peers else [peer.name for peer in PEERS]
    planned = jobs(
        [peer for peer in PEERS if peer.name in chosen],
        [*sizes, FULL_SIZE] if options.full else sizes,
        full=options.full,
    )
    results: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "skipped": {},
        "runs": [],
    }
    for job in planned:
        if job.peer not in results["skipped"]:
            _do(job, results)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.json is None:
        print(json.dumps(results, indent=1))
    if options.plots:
        _draw(options.plots, _runs(results))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.store", description="Stores beside their peers."
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of items")
    parser.add_argument("--peers", help="names, with commas (default: all)")
    parser.add_argument(
        "--full", action="store_true", help="all stores at all sizes, and 1,000,000"
    )
    parser.add_argument("--json", type=Path, help="file to write the results to")
    parser.add_argument("--plots", type=Path, help="folder to draw into")
    parser.add_argument(
        "--docs", action="store_true", help="measure nothing; write docs/ from its JSON"
    )
    return parser


def _do(job: Job, results: dict[str, Any]) -> None:
    print(f"{job.peer}, {job.size:,} items, {job.layout}", file=sys.stderr, flush=True)
    measures: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # a Postgres server that root starts runs as another user
        for stage in ("load", "measure"):
            found = _child(stage, job, Path(folder) / "store")
            if "skipped" in found:
                print(f"  skipped: {found['skipped']}", file=sys.stderr, flush=True)
                results["skipped"][job.peer] = found["skipped"]
                return
            measures |= found
    measures["load"] = load_average()
    results["runs"].append(asdict(Run(job.peer, job.size, job.layout, measures)))


def _child(stage: str, job: Job, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.store.child", stage, job.peer, str(job.size)]
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(  # noqa: S603 - this interpreter on this package
        [*command, job.layout, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return {"skipped": f"it failed with exit status {done.returncode}"}
    return cast("dict[str, Any]", json.loads(lines[-1]))


def _runs(results: dict[str, Any]) -> list[Run]:
    return [Run(**run) for run in results["runs"]]


def _write_page() -> int:
    folder = DOCS / "benchmarks"
    results = merged([json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))])
    plots = sorted(_draw(folder, _runs(results)))
    names = [plot.relative_to(DOCS).as_posix() for plot in plots]
    (DOCS / "benchmarks.md").write_text(page(results, _runs(results), names))
    return 0


def _draw(folder: Path, runs: Sequence[Run]) -> list[Path]:
    try:
        from benchmarks.store.plots import draw  # noqa: PLC0415 - matplotlib is optional
    except ImportError:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        return sorted(folder.glob("*.png"))
    return draw(folder, runs)


if __name__ == "__main__":
    sys.exit(main())
