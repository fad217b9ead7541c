"""`langgraph dev` as a fixture: the server that Studio talks to, without Studio or a network."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

STARTS_WITHIN = 60.0
"""Seconds; it takes three on an idle machine."""
ENDS_WITHIN = 15.0
"""Seconds; it takes one."""


@pytest.fixture
def langgraph_dev(tmp_path: Path) -> Callable[[Path], AbstractContextManager[str]]:
    """Give `with langgraph_dev(folder) as address:`, which serves a copy of `folder`.

    A copy, since the server writes its state beside `langgraph.json`.
    """

    @contextmanager
    def serve(folder: Path) -> Iterator[str]:
        served = tmp_path / f"served-{folder.name}"
        left_behind = shutil.ignore_patterns(".langgraph_api", "__pycache__")
        shutil.copytree(folder, served, ignore=left_behind)
        port = _free_port()
        log = served / "server.log"
        process = _start(served, port, log)
        try:
            _wait_until_ok(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)

    return serve


def _start(folder: Path, port: int, log: Path) -> "subprocess.Popen[bytes]":
    """Start the server in a process group of its own; `offline.env` is in its environment."""
    options = ["--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "langgraph_cli", "dev", *options, "--n-jobs-per-worker", "4"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def _wait_until_ok(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urlopen(f"{address}/ok", timeout=5) as answer:  # noqa: S310 -- our own server
                if answer.status == 200:
                    return
        except (URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)  # nothing tells when another process listens; it must be asked again
    state = "did not answer in time" if process.poll() is None else f"ended: {process.returncode}"
    pytest.fail(f"langgraph dev {state}\n{log.read_text(errors='replace')[-4000:]}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the server as Ctrl-C does; whatever of its group is left after that is killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
