"""The command line: `doctor PATH` examines a store, `reindex PATH` moves it to another embedder."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from langgraph_fabric.errors import FabricError, MemoryValidationError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store._records import FILE


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code is 1 where something is wrong, 2 where it cannot be told."""
    parser = argparse.ArgumentParser(prog="python -m langgraph_fabric")
    commands = parser.add_subparsers(required=True)
    doctor = commands.add_parser("doctor", help="examine the store in a folder")
    doctor.add_argument("path", help="the store's folder")
    doctor.add_argument("--repair", action="store_true", help="make anew what can be")
    doctor.set_defaults(run=_doctor)
    reindex = commands.add_parser("reindex", help="move the store in a folder to another embedder")
    reindex.add_argument("path", help="the store's folder")
    reindex.add_argument("--embeddings", required=True, help="the embedder, as provider:model")
    reindex.add_argument("--dims", type=int, help="the length of its vectors, to be checked")
    reindex.set_defaults(run=_reindex)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except (FabricError, ImportError, ValueError) as exc:
        sys.stderr.write(f"{exc}\n")
        return 2


def _doctor(options: argparse.Namespace) -> int:
    with _existing(options.path) as store:
        found = store.doctor(repair=options.repair)
        for name, value in asdict(found).items():
            sys.stdout.write(f"{name}: {value}\n")
        sys.stdout.write(f"healthy: {found.healthy}\n")
    return 0 if found.healthy or (found.repaired and not found.damage) else 1


def _reindex(options: argparse.Namespace) -> int:
    with _existing(options.path) as store:
        count = store.reindex(
            embeddings=options.embeddings, dims=options.dims, progress=_show_progress
        )
    sys.stdout.write(f"vectors: {count}\n")
    return 0


def _existing(path: str) -> ChromaStore:
    """Open the store of a folder, and make none where there is none."""
    if not (Path(path) / FILE).is_file():
        raise MemoryValidationError("path", "no store", "Give the folder of a store")
    return ChromaStore.from_path(path, index=False)


def _show_progress(done: int, total: int) -> None:
    filled = 30 * done // max(total, 1)
    end = "\n" if done >= total else ""
    sys.stderr.write(f"\r[{'#' * filled:<30}] {done} of {total}{end}")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
