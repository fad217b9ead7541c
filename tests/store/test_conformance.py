"""The conformance kit: it finds the faults that are there, and none in `ChromaStore`."""

import subprocess
import sys

import pytest
from langgraph.store.memory import InMemoryStore

from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store.conformance import PROMISES, check

INDEX = {"dims": 32, "embed": HashEmbeddings(), "fields": ["text"]}


@pytest.mark.parametrize("door", ["sync", "async"])
@pytest.mark.parametrize("place", ["memory", "path"])
def test_chroma_store_keeps_every_promise(door, place, tmp_path):
    folders = iter(range(1_000))

    def factory():
        if place == "memory":
            return ChromaStore.in_memory(index=INDEX)
        return ChromaStore.from_path(tmp_path / str(next(folders)), index=INDEX)

    report = check(factory, door=door)
    assert {o.promise.id: (o.verdict, o.detail) for o in report.outcomes} == {
        p.id: ("kept", "") for p in PROMISES
    }


def test_the_kit_sees_what_the_in_memory_store_breaks():
    report = check(lambda: InMemoryStore(index=INDEX))
    verdicts = {outcome.promise.id: outcome.verdict for outcome in report.outcomes}
    assert verdicts["put"] == "kept"
    assert verdicts["B07"] == "broken"
    assert verdicts["ghosts"] == "broken"
    assert verdicts["ttl"] == "not offered"


def test_the_command_prints_a_table_and_fails_on_a_broken_promise():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "langgraph_fabric.store.conformance",
            "langgraph.store.memory:InMemoryStore",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "| B07 | A returned value is a copy | broken |" in done.stdout
