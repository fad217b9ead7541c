"""What the benchmark ran on."""

import os
import platform
import sqlite3
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = (
    "chromadb",
    "langchain-chroma",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-postgres",
    "langgraph-checkpoint-sqlite",
    "langgraph-fabric",
    "numpy",
    "pgserver",
    "pysqlite3-binary",
    "sqlite-vec",
)


def machine() -> dict[str, str]:
    """Return the processor, the cores, the memory and the system."""
    return {
        "processor": _cpu(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def load_average() -> float | None:
    """Return how many processes, the measured one included, wanted to run in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def versions() -> dict[str, str]:
    """Return the versions of everything that is measured and is installed."""
    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _cpu() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _memory() -> str:
    with suppress(ValueError, OSError, AttributeError):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return f"{pages / 2**30:.0f} GiB"
    return "unknown"
