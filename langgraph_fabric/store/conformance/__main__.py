"""The command line: `python -m langgraph_fabric.store.conformance package.module:factory`."""

import argparse
import importlib
import sys

from langgraph_fabric.store.conformance import check


def main(arguments: list[str] | None = None) -> int:
    """Print a report; the exit code is 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description="Check a LangGraph store against its promises.")
    parser.add_argument("factory", help="package.module:name of what gives an empty store")
    parser.add_argument("--door", choices=["sync", "async"], default="sync")
    options = parser.parse_args(arguments)
    module, _, name = options.factory.partition(":")
    report = check(getattr(importlib.import_module(module), name), door=options.door)
    sys.stdout.write(report.markdown() + "\n")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
