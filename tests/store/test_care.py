import contextlib
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from langgraph.store.base import PutOp

from langgraph_fabric.__main__ import main
from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.errors import MemoryValidationError, StoreUnavailableError
from langgraph_fabric.store import ChromaStore

NS = ("t",)


def _filled(store, count=20):
    store.batch([PutOp((*NS, str(i % 2)), f"{i:02}", {"text": f"word{i}"}) for i in range(count)])
    return store


def _sql(folder, *statements):
    """Change the records behind the store's back."""
    connection = sqlite3.connect(folder / "records.db")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def _lose_from_index(store):
    ids = sorted(store._index.known())[:3]
    store._index._client.delete(ids)


def _keep_in_index(store):
    vector = (b"\0\0\x80\x3f" + b"\0" * 4 * 31, 10_000)
    store._index._client.add([(vector[1], vector[0])])


FAULTS = [
    pytest.param("UPDATE namespaces SET items = items + 1", "miscounted", 2, id="counts"),
    pytest.param("UPDATE namespaces SET terms = 0", "miscounted", 2, id="lengths"),
    pytest.param("DELETE FROM namespaces WHERE ns = x'74003000'", "miscounted", 1, id="namespace"),
    pytest.param(
        "INSERT INTO namespaces VALUES (x'780000', 1, 1, 0, 0, 0)", "miscounted", 1, id="ghost"
    ),
    pytest.param(
        "INSERT INTO vectors (item, path, hash, vector) VALUES (999, 'text', x'00', zeroblob(128))",
        "orphaned",
        1,
        id="vector",
    ),
    pytest.param(
        "INSERT INTO words (rowid, scope, terms) VALUES (999, 's', 'word')",
        "orphaned",
        1,
        id="words",
    ),
]


@pytest.mark.parametrize(("fault", "name", "count"), FAULTS)
def test_a_fault_of_the_records_is_found_and_repaired(opened, folder, fault, name, count):
    _filled(opened()).close()
    _sql(folder, fault)
    store = opened()
    found = store.doctor()
    assert not found.healthy
    assert getattr(found, name) == count
    assert store.doctor(repair=True).repaired
    assert store.doctor().healthy
    assert len(store.search(NS, query="word", limit=50)) == 20
    assert len(store.list_namespaces()) == 2


@pytest.mark.parametrize(
    ("break_", "name", "count"),
    [
        pytest.param(_lose_from_index, "missing", 3, id="missing"),
        pytest.param(_keep_in_index, "stale", 1, id="stale"),
    ],
)
def test_a_fault_of_the_index_is_found_and_repaired(opened, break_, name, count):
    store = _filled(opened(search="chroma"))
    store.search(NS, query="word")
    break_(store)
    found = store.doctor()
    assert not found.healthy
    assert getattr(found, name) == count
    assert store.doctor(repair=True).repaired
    assert store.doctor().healthy
    assert len(store.search(NS, query="word", limit=50)) == 20


def test_lost_words_are_found_and_a_put_mends_them(opened, folder):
    _filled(opened()).close()
    _sql(folder, "DELETE FROM words WHERE rowid = 1")
    store = opened()
    assert store.doctor().unfindable == 1
    store.put((*NS, "0"), "00", {"text": "other"})
    store.put((*NS, "0"), "00", {"text": "word0"})
    assert len(store.batch([TextSearchOp(NS, "word0")])[0]) == 1
    assert store.doctor().healthy


def test_a_damaged_file_is_reported(opened, folder):
    _filled(opened(), 400).close()
    path = folder / "records.db"
    data = bytearray(path.read_bytes())
    for page in range(5, len(data) // 4096, 3):
        data[page * 4096 : page * 4096 + 2048] = b"\xff" * 2048
    path.write_bytes(data)
    store = ChromaStore.from_path(folder, index=False)
    with contextlib.suppress(StoreUnavailableError):  # it may be too damaged to be examined
        found = store.doctor(repair=True)
        assert found.damage
        assert not found.healthy
    with contextlib.suppress(StoreUnavailableError):
        store.close()


def test_a_healthy_store_is_left_alone(make):
    store = _filled(make())
    assert store.doctor(repair=True) == store.doctor()


def test_a_backup_is_the_store_of_its_moment(opened, tmp_path):
    store = _filled(opened(search="chroma"))
    store.search(NS, query="word")
    store.backup(tmp_path / "sub" / "copy")
    store.put(NS, "later", {"text": "later"})
    ChromaStore.restore(tmp_path / "sub" / "copy", tmp_path / "restored")
    other = opened(tmp_path / "restored", search="chroma")
    assert len(other.search(NS, query="word", limit=50)) == 20
    assert other.doctor().healthy
    assert other.get(NS, "later") is None


def test_a_backup_while_writing_has_no_half_batch(opened, tmp_path):
    store, over = opened(), threading.Event()

    def write():
        turn = 0
        while not over.is_set():
            turn += 1
            store.batch([PutOp(NS, f"{turn}-{i}", {"text": f"word{i}"}) for i in range(5)])

    thread = threading.Thread(target=write)
    thread.start()
    for number in range(5):
        store.backup(tmp_path / f"copy{number}")
    over.set()
    thread.join()
    for number in range(5):
        ChromaStore.restore(tmp_path / f"copy{number}", tmp_path / f"restored{number}")
        with opened(tmp_path / f"restored{number}") as copy:
            assert len(copy.search(NS, limit=100_000)) % 5 == 0
            assert copy.doctor().healthy


def test_a_store_in_memory_is_backed_up_too(clock, tmp_path, opened):
    with ChromaStore.in_memory(index=False, clock=clock) as store:
        store.put(NS, "k", {"text": "word"})
        store.backup(tmp_path / "copy")
    ChromaStore.restore(tmp_path / "copy", tmp_path / "restored")
    assert opened(tmp_path / "restored").get(NS, "k").value == {"text": "word"}


def test_nothing_is_written_over(opened, folder, tmp_path):
    store = _filled(opened())
    (tmp_path / "there").write_text("precious")
    with pytest.raises(MemoryValidationError, match="path"):
        store.backup(tmp_path / "there")
    assert (tmp_path / "there").read_text() == "precious"
    store.backup(tmp_path / "copy")
    with pytest.raises(MemoryValidationError, match="path"):
        ChromaStore.restore(tmp_path / "copy", folder)


@pytest.mark.parametrize(
    "content", [b"", b"garbage" * 1000, None, "another database", "cut", "garbled"]
)
def test_what_is_no_backup_is_refused_and_leaves_nothing(opened, tmp_path, content):
    path = tmp_path / "copy"
    if content == "another database":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE items (id)")
        connection.close()
    elif content == "cut":
        _filled(opened(), 400).backup(path)
        path.write_bytes(path.read_bytes()[:-20_000])
    elif content == "garbled":
        _filled(opened(), 400).backup(path)
        data = path.read_bytes()
        path.write_bytes(data[:40_960] + b"\xff" * 4096 + data[45_056:])
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises((MemoryValidationError, StoreUnavailableError)) as caught:
        ChromaStore.restore(path, tmp_path / "restored")
    assert str(tmp_path) not in str(caught.value)
    assert not list((tmp_path / "restored").glob("*"))


def test_the_command_line_says_how_a_store_is(opened, folder, capsys):
    _filled(opened()).close()
    assert main(["doctor", str(folder)]) == 0
    assert "healthy: True" in capsys.readouterr().out
    _sql(folder, "UPDATE namespaces SET items = 7")
    assert main(["doctor", str(folder)]) == 1
    assert "miscounted: 2" in capsys.readouterr().out
    assert main(["doctor", str(folder), "--repair"]) == 0
    assert main(["doctor", str(folder)]) == 0


@pytest.mark.parametrize("command", [["doctor"], ["reindex", "--embeddings", "a:b"]])
def test_the_command_line_makes_no_store(tmp_path, capsys, command):
    assert main([command[0], str(tmp_path / "none"), *command[1:]]) == 2
    assert "no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_command_line_refuses_what_is_no_store(folder, capsys):
    folder.mkdir()
    (folder / "records.db").write_bytes(b"garbage" * 1000)
    assert main(["doctor", str(folder)]) == 2
    assert str(folder) not in capsys.readouterr().err


_PROVIDER = """
from langgraph_fabric.embeddings import HashEmbeddings

class OllamaEmbeddings(HashEmbeddings):
    def __init__(self, model):
        super().__init__(dims=int(model))
"""


def test_the_command_line_moves_a_store(opened, folder, tmp_path):
    _filled(opened()).close()
    (tmp_path / "langchain_ollama.py").write_text(_PROVIDER)
    moved = ["--embeddings", "ollama:24"]
    done = subprocess.run(
        [sys.executable, "-m", "langgraph_fabric", "reindex", str(folder), *moved],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    assert done.stdout == "vectors: 20\n", done.stderr
    assert "20 of 20" in done.stderr
    with sqlite3.connect(folder / "records.db") as connection:
        lengths = set(connection.execute("SELECT LENGTH(vector) FROM vectors"))
    connection.close()
    assert lengths == {(4 * 24,)}


def test_the_command_line_names_an_embedder_it_does_not_know(opened, folder, capsys):
    _filled(opened()).close()
    assert main(["reindex", str(folder), "--embeddings", "nobody:none"]) == 2
    assert "nobody" in capsys.readouterr().err
