"""What using the package leaves behind: nothing outside the folder it was given, no connection."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

SCRIPT = """
import json, os, sys
from pathlib import Path

connected, written = [], []

def watch(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        connected.append(str(args))
    elif event == "open" and isinstance(args[0], str) and args[2] & (os.O_WRONLY | os.O_RDWR):
        written.append(os.fsdecode(args[0]))
    elif event in {"os.mkdir", "os.rename", "sqlite3.connect"}:
        written.append(os.fsdecode(args[0]))

sys.addaudithook(watch)

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.store import ChromaStore

root = Path(sys.argv[1])
with ChromaStore.from_path(root / "memories") as store:
    fabric = MemoryFabric(store, scope=Scope("acme", "u1"))
    fabric.remember(kind="fact", content="The office is in Berlin")
    assert fabric.recall("where is the office?").hits
    store.flush()
    with fabric.attach("t1"):
        insert = fabric.tools(root=root / "files")[2]
        config = {"configurable": {"thread_id": "t1"}}
        insert.invoke({"text": "pack an adapter", "path": "trip.md"}, config)
print(json.dumps({"connected": connected, "written": written}))
"""


def test_a_session_writes_below_its_folders_only_and_connects_to_nothing(tmp_path):
    home, given = tmp_path / "home", tmp_path / "given"
    home.mkdir()
    given.mkdir()
    places = {name: str(home) for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, str(given)],
        cwd=home,
        env={**os.environ, **places, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["connected"] == []
    absolute = [path for path in seen["written"] if path.startswith("/")]
    assert [path for path in absolute if not path.startswith((str(given), "/dev/"))] == []
    assert list(home.iterdir()) == []  # where a relative path would have led
    assert {path.name for path in given.iterdir()} == {"memories", "files"}
