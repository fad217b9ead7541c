"""What every test and every page runs under: no network, the fixed environment, pages as tests.

It stands at the root, since the pages do: pytest asks the `conftest.py` above a file how to collect
it.
"""

import ipaddress
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parent


def offline_environment() -> dict[str, str]:
    """Return the variables of `offline.env`, which `make` exports too."""
    lines = (ROOT / "offline.env").read_text().split()
    return dict(line.split("=", 1) for line in lines)


# Before the first import of a package that reads them once.
os.environ.update(offline_environment())
os.environ.pop("FABRIC_MODEL", None)


# No test is timed: a busy machine is no fault of the code.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

_reached: list[str] = []


def _stay_on_this_machine(event: str, args: tuple[Any, ...]) -> None:
    if event not in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        return
    address = args[0] if event == "socket.getaddrinfo" else args[1]
    host = address[0] if isinstance(address, tuple) else address
    if not _is_local(host):
        _reached.append(str(host))
        raise PermissionError(f"tests stay on this machine; {event} asked for {host!r}")


def _is_local(host: object) -> bool:
    if not isinstance(host, str) or not host or host.startswith(("/", "\0")):
        return True  # any interface, or a Unix socket
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# An audit hook sees every connection that Python code asks for, whatever library asks.
sys.addaudithook(_stay_on_this_machine)


@pytest.fixture(autouse=True)
def _no_network() -> Iterator[None]:
    """Fail a test that tried to leave this machine, even where the code swallowed the refusal."""
    _reached.clear()
    yield
    if _reached:
        pytest.fail(f"tried to reach {_reached}")


def _enter_folder(namespace: dict[str, Any]) -> None:
    """Give a page an empty folder to run in, so that what it writes stays with it."""
    namespace["__name__"] = "page"
    folder = namespace["_folder"] = tempfile.TemporaryDirectory(prefix="page-")
    namespace["_home"] = Path.cwd()
    os.chdir(folder.name)


def _leave_folder(namespace: dict[str, Any]) -> None:
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


# A page's Python blocks share one namespace and run in order; blocks of other languages are shown
# only. `<!-- skip: next -->` leaves one out.
_pages = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md"],
    setup=_enter_folder,
    teardown=_leave_folder,
    fixtures=["_no_network"],
)
_docstrings = Sybil(
    parsers=[DocTestParser()],
    path="langgraph_fabric",
    pattern="*.py",
    document_types={".py": PythonDocStringDocument},
    setup=_enter_folder,
    teardown=_leave_folder,
    fixtures=["_no_network"],
)
pytest_collect_file = (_pages + _docstrings).pytest()
