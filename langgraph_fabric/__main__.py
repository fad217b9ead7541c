"""The command line: `python -m langgraph_fabric doctor PATH`."""

import argparse
import sys
from dataclasses import asdict

from langgraph_fabric.errors import FabricError
from langgraph_fabric.store import ChromaStore


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code is 1 where something is wrong, 2 where it cannot be told."""
    parser = argparse.ArgumentParser(prog="python -m langgraph_fabric")
    commands = parser.add_subparsers(required=True)
    doctor = commands.add_parser("doctor", help="examine the store in a folder")
    doctor.add_argument("path", help="the store's folder")
    doctor.add_argument("--repair", action="store_true", help="make anew what can be")
    options = parser.parse_args(arguments)
    try:
        with ChromaStore.from_path(options.path, index=False) as store:
            found = store.doctor(repair=options.repair)
    except FabricError as exc:
        sys.stderr.write(f"{exc}\n")
        return 2
    for name, value in asdict(found).items():
        sys.stdout.write(f"{name}: {value}\n")
    sys.stdout.write(f"healthy: {found.healthy}\n")
    return 0 if found.healthy or found.repaired else 1


if __name__ == "__main__":
    sys.exit(main())
