"""Kills: processes that end without warning, and files that are not as they were left.

`KILL_ROUNDS=200` runs as many rounds; `benchmarks/kill.py` is the same outside of the suite.
"""

import os
import select
import shutil
import signal
import subprocess
import sys

import pytest
from langgraph.store.base import PutOp

from benchmarks.kill import campaign

NS = ("t",)


def test_killed_at_any_moment_nothing_acknowledged_is_lost():
    rounds = int(os.environ.get("KILL_ROUNDS", "0"))
    made, faults, _ = campaign(rounds or 20, 7, seconds=40 if not rounds else float("inf"))
    assert faults == []
    assert made >= 1


def _filled(store, count=300):
    store.batch([PutOp(NS, f"{i:03}", {"text": f"word{i} of many"}) for i in range(count)])
    return store


def _answers(store):
    """Return what searches answer, and that each finds its item."""
    answers = []
    for i in range(0, 300, 30):
        hits = store.search(NS, query=f"word{i} of many", limit=60)
        assert f"{i:03}" in {hit.key for hit in hits}
        answers.append(sorted(round(hit.score, 5) for hit in hits))
    return answers


def test_a_store_goes_on_when_its_chroma_process_is_killed(opened):
    store = _filled(opened(search="chroma"))
    before = _answers(store)
    os.kill(store._index._client._child.pid, signal.SIGKILL)
    assert _answers(store) == before
    store.put(NS, "new", {"text": "something else"})
    store.flush()
    assert store.doctor().healthy
    assert store.doctor().indexed == 301


def test_killed_again_and_again_it_does_without(opened):
    store = _filled(opened(search="chroma"))
    before = _answers(store)
    for _ in range(4):
        if store._index._client is not None:
            os.kill(store._index._client._child.pid, signal.SIGKILL)
        assert _answers(store) == before
    assert not store._index.is_open


_PARENT = """
import sys
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore
index = {"embed": HashEmbeddings(dims=32), "fields": ["text"]}
store = ChromaStore.from_path(sys.argv[1], index=index, search="chroma")
store.put(("t",), "k", {"text": "word"})
store.search(("t",), query="word")
print(store._index._client._child.pid, flush=True)
sys.stdin.read()
"""


def test_a_killed_parent_leaves_no_process_behind(folder, opened):
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as parent:
        child = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
    try:
        assert select.select([child], [], [], 30)[0]  # a file of a process is readable at its end
    finally:
        os.close(child)
    assert [hit.key for hit in opened(search="chroma").search(NS, query="word")] == ["k"]


def _garble(path):
    path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))


def _truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _lengthen(path):
    with path.open("ab") as file:
        file.write(b"\0" * 1_000)


DAMAGES = [
    pytest.param("chroma.sqlite3", _garble, id="database garbled"),
    pytest.param("chroma.sqlite3", os.unlink, id="database gone"),
    pytest.param("*/*", _garble, id="vectors garbled"),
    pytest.param("*/*", _truncate, id="vectors cut"),
    pytest.param("*/*", _lengthen, id="vectors too long"),
    pytest.param("*/*", os.unlink, id="vectors gone"),
]


@pytest.mark.parametrize(("files", "damage"), DAMAGES)
def test_damaged_files_of_chroma_change_no_answer(opened, folder, files, damage):
    with _filled(opened(search="chroma"), 1_100) as store:
        before = _answers(store)
    (index,) = folder.glob("index-*")
    damaged = [path for path in index.glob(files) if path.is_file()]
    assert damaged
    for path in damaged:
        damage(path)
    store = opened(search="chroma")
    assert _answers(store) == before
    assert store.doctor().healthy


def test_a_deleted_folder_of_chroma_changes_no_answer(opened, folder):
    with _filled(opened(search="chroma")) as store:
        before = _answers(store)
    for index in folder.glob("index-*"):
        shutil.rmtree(index)
    store = opened(search="chroma")
    assert _answers(store) == before
    assert store.doctor().healthy
