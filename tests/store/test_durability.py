"""What a folder survives: kills, lost and garbled files, two owners; and what it must not keep."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.store.base import PutOp

from langgraph_fabric._ops import TextSearchOp
from langgraph_fabric.errors import StoreUnavailableError
from langgraph_fabric.store import ChromaStore

NS = ("t",)
COMMON = """
import sys
from langgraph.store.base import PutOp
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore
index = {"dims": 32, "embed": HashEmbeddings(32), "fields": ["text"]}
"""


def _child(code, *args):
    command = [sys.executable, "-W", "error", "-c", COMMON + code, *map(str, args)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _answers(store):
    """Return what each way of searching finds, as far as it can be compared."""
    hits = store.search((), query="word 7", limit=20)
    words = store.batch([TextSearchOp((), "word 7")])[0]
    return (
        [(hit.key, round(hit.score, 5)) for hit in hits],
        [(hit.key, hit.score) for hit in words],
        sorted(item.key for item in store.search((), limit=10_000)),
    )


def _filled(opened, count=150):
    with opened(search="chroma") as store:
        store.batch([PutOp(NS, f"{i:04}", {"text": f"word {i} {i % 9}"}) for i in range(count)])
        store.flush()
        return _answers(store)


def _bytes_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Opening and closing


def test_what_was_put_is_there_after_reopening(opened):
    expected = _filled(opened)
    for search in ("chroma", "exact", "auto"):
        with opened(search=search) as store:
            assert _answers(store) == expected


def test_nothing_is_opened_before_the_first_use(folder):
    store = ChromaStore.from_path(folder)
    assert not folder.exists()
    store.close()
    assert not folder.exists()


def test_a_closed_store_says_so_and_may_be_closed_again(store, do):
    store.put(NS, "k", {"text": "word"})
    store.close()
    store.close()
    for use in (
        lambda: do(store, "get", NS, "k"),
        lambda: do(store, "put", NS, "k", {}),
        lambda: do(store, "search", NS, query="word"),
        store.flush,
        store.vacuum,
        store.sweep,
    ):
        with pytest.raises(StoreUnavailableError, match="closed"):
            use()


def test_a_store_can_be_flushed_vacuumed_and_swept_before_anything_is_written(store):
    store.flush()
    store.vacuum()
    assert store.sweep() == 0
    assert store.search((), query="x") == []


async def test_a_store_is_a_context_manager_of_both_colours(opened):
    with opened() as store:
        store.put(NS, "k", {"text": "word"})
    async with opened() as store:
        assert (await store.aget(NS, "k")).value == {"text": "word"}
    with pytest.raises(StoreUnavailableError):
        store.get(NS, "k")


def test_a_relative_path_stays_where_it_was_given(tmp_path, monkeypatch, opened):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    store = opened(Path("memories"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.put(NS, "k", {})
    assert (tmp_path / "memories" / "records.db").is_file()


def _a_file_in_its_place(folder):
    folder.write_text("not a folder")


def _no_database(folder):
    folder.mkdir()
    (folder / "records.db").write_bytes(b"garbage " * 1_000)


def _another_database(folder):
    folder.mkdir()
    with sqlite3.connect(folder / "records.db") as connection:
        connection.execute("CREATE TABLE items (something, otherwise)")
    connection.close()


def _no_rights(folder):
    folder.mkdir()
    folder.chmod(0o500)


def _below_a_file(folder):
    folder.symlink_to(folder / "loop")


@pytest.mark.parametrize(
    "spoil", [_a_file_in_its_place, _no_database, _another_database, _no_rights, _below_a_file]
)
def test_a_folder_that_cannot_be_used_is_an_error_without_its_path(folder, spoil, do):
    spoil(folder)
    if spoil is _no_rights and os.access(folder, os.W_OK):
        pytest.skip("root may write everywhere")
    store = ChromaStore.from_path(folder, index=False)
    for use in (lambda: do(store, "put", NS, "k", {}), lambda: do(store, "get", NS, "k")):
        with pytest.raises(StoreUnavailableError) as caught:
            use()
        assert str(folder) not in str(caught.value)
        assert caught.value.__cause__ is None
    store.close()


def test_a_database_with_a_torn_page_is_an_error_without_its_path(opened, folder):
    with opened(index=False) as store:
        store.batch([PutOp(NS, str(i), {"text": "x" * 500}) for i in range(200)])
    with (folder / "records.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(60_000))
    store = ChromaStore.from_path(folder, index=False)
    with pytest.raises(StoreUnavailableError) as caught:
        store.search((), limit=1_000)
    assert str(folder) not in str(caught.value)
    with pytest.raises(StoreUnavailableError):
        store.close()
    store.close()


# The index is derived


def _garble(path):
    size = path.stat().st_size
    path.write_bytes(os.urandom(size))


def _truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def _flip(path):
    content = bytearray(path.read_bytes())
    if content:
        content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize(
    "files", ["chroma.sqlite3", "*/*", "*/data_level0.bin", "*/link_lists.bin"]
)
@pytest.mark.parametrize("spoil", [_garble, _truncate, _flip, Path.unlink])
def test_a_spoilt_index_is_built_anew_with_the_same_answers(opened, folder, spoil, files):
    expected = _filled(opened, 1_200)
    (index,) = folder.glob("index-*")
    found = [path for path in index.glob(files) if path.is_file()]
    for path in found:
        spoil(path)
    for _ in range(2):
        with opened(search="chroma") as store:
            assert _answers(store) == expected
            assert store._index.is_open
    assert found


@pytest.mark.parametrize("lost", ["the folder", "the folder's content", "the owner's lock"])
def test_a_lost_index_is_built_anew_with_the_same_answers(opened, folder, lost):
    expected = _filled(opened)
    (index,) = folder.glob("index-*")
    if lost == "the owner's lock":
        (folder / "index.lock").unlink()
    else:
        shutil.rmtree(index)
    if lost == "the folder's content":
        index.mkdir()
    with opened(search="chroma") as store:
        assert _answers(store) == expected
        assert store._index.is_open
    assert len(list(folder.glob("index-*"))) == 1


def test_an_index_lost_under_an_open_store_changes_no_answer(opened, folder):
    expected = _filled(opened)
    store = opened(search="chroma")
    assert _answers(store) == expected
    for index in folder.glob("index-*"):
        shutil.rmtree(index)
    store.put(NS, "new", {"text": "something else"})
    store.delete(NS, "new")
    assert _answers(store) == expected
    store.flush()
    assert _answers(store) == expected


def test_an_index_that_cannot_be_written_changes_no_answer(opened, folder):
    expected = _filled(opened)
    for index in folder.glob("index-*"):
        shutil.rmtree(index)
    (folder / "index.lock").unlink(missing_ok=True)
    (folder / "index.lock").mkdir()
    with opened(search="chroma") as store:
        assert _answers(store) == expected
        store.flush()
        assert not store._index.is_open


def test_without_file_locks_searches_are_exact(opened, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    expected = _filled(opened)
    with opened(search="exact") as store:
        assert _answers(store) == expected
        assert not store._index.is_open


def test_a_small_store_gets_no_index(opened, folder):
    with opened() as store:
        store.put(NS, "k", {"text": "word"})
        store.flush()
        store.vacuum()
    assert not list(folder.glob("index-*"))


# Kills

# Each round is forked from a process that has imported everything, Chroma too, but opened nothing.
WRITE_FOR_EVER = """
import os
import chromadb

def write(first, search):
    store = ChromaStore.from_path(sys.argv[1], index=index, search=search, durability="process")
    for i in range(first, first + 100_000):
        store.batch([PutOp(("t",), f"{i:06}{half}", {"text": f"word {i}"}) for half in "ab"])
        if i % 7 == 3:
            store.delete(("t",), f"{i - 2:06}a")
        if i % 20 == 19:
            store.flush()
        print(i, flush=True)

for line in sys.stdin:
    first, search = line.split()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        write(int(first), search)
    os.wait()
    print("killed", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_process_loses_no_acknowledged_write(opened, folder):
    writers = _child(WRITE_FOR_EVER, folder)
    first = 0
    for turn in range(20):
        writers.stdin.write(f"{first} {'chroma' if turn % 2 else 'exact'}\n")
        writers.stdin.flush()
        pid, *said = [writers.stdout.readline() for _ in range(2 + 3 * turn)]
        os.kill(int(pid), signal.SIGKILL)
        said += iter(writers.stdout.readline, "killed\n")
        last = int(said[-1])
        store = opened(search="chroma" if turn % 4 == 3 else "exact")
        present = {item.key for item in store.search((), limit=100_000)}
        expected = {f"{i:06}{half}" for i in range(first, last + 1) for half in "ab"}
        # The write after the last acknowledged one may have deleted already.
        expected -= {f"{i - 2:06}a" for i in range(first, last + 2) if i % 7 == 3}
        assert expected <= present
        alone = {key[:6] for key in present if key[:6] + "a" not in present}
        assert all(int(key) % 7 == 1 for key in alone)  # no half of a batch
        assert {key[:6] + "b" for key in present} <= present
        (hit, *_) = store.search((), query=f"word {last}", limit=1)
        assert hit.score == pytest.approx(1, abs=1e-5)
        assert store.batch([TextSearchOp((), f"word {last}")])[0]
        first = last + 2
        store.close()
    writers.communicate()
    assert writers.returncode == 0


# Two processes

WRITE_BESIDE = """
store = ChromaStore.from_path(sys.argv[1], index=index, search="chroma")
print("ready", flush=True)
sys.stdin.readline()
for i in range(200):
    store.put(("t",), f"child {i}", {"text": f"word child {i}"})
store.flush()
print(len(store.search((), query="word", limit=1_000)), store._index.is_open, flush=True)
sys.stdin.readline()
store.close()
"""


def test_of_two_processes_one_owns_the_index_and_no_write_is_lost(opened, folder):
    store = opened(search="chroma")
    store.put(NS, "first", {"text": "word"})
    assert store._index.pending(9) == 1
    assert len(store.search((), query="word")) == 1
    child = _child(WRITE_BESIDE, folder)
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("\n")
    child.stdin.flush()
    for i in range(200):
        store.put(NS, f"parent {i}", {"text": f"word parent {i}"})
    seen, owns = child.stdout.readline().split()
    assert int(seen) >= 201
    assert owns == "False"
    for way in ({}, {"query": "word"}):
        assert len(store.search((), limit=1_000, **way)) == 401
    store.close()
    child.communicate("\n")
    assert child.returncode == 0
    with opened(search="chroma") as after:
        assert len(after.search((), query="word", limit=1_000)) == 401
        assert after._index.is_open


CONTEND = """
from langgraph_fabric._ops import PutIfOp
from langgraph_fabric.errors import MemoryConflictError
store = ChromaStore.from_path(sys.argv[1], index=index)
sys.stdin.readline()
won = 0
while won < 50:
    item = store.get(("t",), "count")
    n = item.value["version"] if item else 0
    try:
        store.batch([PutIfOp(("t",), "count", {"version": n + 1, "text": f"n {n}"}, n)])
        won += 1
    except MemoryConflictError:
        pass
store.close()
"""


def test_no_update_is_lost_between_processes(opened, folder):
    children = [_child(CONTEND, folder) for _ in range(3)]
    for child in children:
        child.communicate("\n")
    assert [child.returncode for child in children] == [0, 0, 0]
    assert opened().get(NS, "count").value["version"] == 150


FORKED = """
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what is tested
store = ChromaStore.from_path(sys.argv[1], index=index, search="chroma")
store.batch([PutOp(("t",), str(i), {"text": f"word {i}"}) for i in range(50)])
assert len(store.search((), query="word", limit=99)) == 50 and store._index.is_open
pid = os.fork()
if pid == 0:
    store.put(("t",), "child", {"text": "word child"})
    assert len(store.search((), query="word", limit=99)) >= 51
    assert not store._index.is_open
    store.close()
    os._exit(0)
store.put(("t",), "parent", {"text": "word parent"})
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert len(store.search((), query="word", limit=99)) == 52 and store._index.is_open
store.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_goes_on_without_the_index(folder):
    child = _child(FORKED, folder)
    child.communicate(timeout=60)
    assert child.returncode == 0


# Erasure

CANARIES = ("Xylophonist", "zzcanaryterm", "xylophonist")


@pytest.mark.parametrize("erase", ["delete", "replace", "expire"])
def test_no_file_keeps_deleted_text_after_a_flush(opened, folder, clock, erase):
    store = opened(search="chroma")
    store.batch([PutOp(NS, f"{i}", {"text": f"other word {i}"}) for i in range(50)])
    store.put(NS, "k", {"text": "Xylophonist zzcanaryterm"}, ttl=1 if erase == "expire" else None)
    store.flush()
    store.search(NS, query="Xylophonist")
    assert any(b"ylophonist" in content for content in _bytes_of(folder).values())
    if erase == "delete":
        store.delete(NS, "k")
    elif erase == "replace":
        store.put(NS, "k", {"text": "nothing to see"})
    else:
        clock.advance(minutes=1)
        store.sweep()
    store.flush()
    for path, content in _bytes_of(folder).items():
        for canary in CANARIES:
            assert canary.encode() not in content, path


def test_no_file_keeps_a_deleted_vector_after_a_vacuum(opened, folder):
    store = opened(search="chroma")
    store.batch([PutOp(NS, f"{i}", {"text": f"other word {i}"}) for i in range(1_100)])
    store.put(NS, "k", {"text": "one two three four five six seven eight nine ten"})
    store.flush()
    with sqlite3.connect(folder / "records.db") as connection:
        (vector,) = connection.execute(
            "SELECT vector FROM vectors ORDER BY id DESC LIMIT 1"
        ).fetchone()
    connection.close()
    assert any(vector in content for content in _bytes_of(folder).values())
    store.delete(NS, "k")
    store.vacuum()
    store.close()
    assert not any(vector in content for content in _bytes_of(folder).values())
    assert len(list(folder.glob("index-*"))) == 1


def test_a_flush_says_when_a_reader_keeps_the_old_state(opened, folder):
    store = opened()
    store.put(NS, "k", {"text": "Xylophonist"})
    with sqlite3.connect(folder / "records.db", isolation_level=None) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM items").fetchone()
        store.delete(NS, "k")
        assert not store.flush()
        store.put(NS, "other", {"text": "writes go on"})
        reader.execute("COMMIT")
    reader.close()
    assert store.flush()
    assert not any(b"ylophonist" in content for content in _bytes_of(folder).values())


def test_a_vacuum_says_when_another_owns_the_index(opened):
    owner, other = opened(search="chroma"), opened(search="chroma")
    owner.batch([PutOp(NS, str(i), {"text": f"word {i}"}) for i in range(1_000)])
    assert owner.flush()
    assert not other.vacuum()
    assert owner.vacuum()
    owner.close()
    assert other.vacuum()


# What it must not do

LEFT_OPEN = """
store = ChromaStore.from_path(sys.argv[1], index=index, search="chroma")
store.put(("t",), "k", {"text": "word"})
assert store.search(("t",), query="word")
"""


def test_a_program_may_end_without_closing_its_store(opened, folder):
    child = _child(LEFT_OPEN, folder)
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert len(opened(search="chroma").search(NS, query="word")) == 1


ALONE = """
import os, socket, threading
def refuse(*_):
    raise AssertionError("network")
socket.socket.connect = socket.socket.connect_ex = socket.create_connection = refuse
socket.getaddrinfo = refuse
ChromaStore.from_path(sys.argv[1])  # with the default embeddings
store = ChromaStore.from_path(sys.argv[1], index=index, search=sys.argv[2])
assert not os.path.exists(sys.argv[1])
assert threading.active_count() == 1
assert not {"chromadb", "numpy", "tokenizers"} & set(sys.modules)
store.put(("t",), "plain", {"n": 1}, index=False)
assert store.get(("t",), "plain").value == {"n": 1}
assert threading.active_count() == 1
assert not {"chromadb", "numpy"} & set(sys.modules)
store.put(("t",), "k", {"text": "word"})
assert store.search(("t",), query="word")[0].key == "k"
assert "chromadb" not in sys.modules  # it has a process of its own
index_made = any(name.startswith("index-") for name in os.listdir(sys.argv[1]))
assert index_made is (sys.argv[2] == "chroma")
store.flush()
store.close()
"""


@pytest.mark.parametrize("search", ["auto", "chroma"])
def test_constructing_starts_nothing_and_nothing_reaches_a_network(folder, search):
    child = _child(ALONE, folder, search)
    child.communicate(timeout=60)
    assert child.returncode == 0


def test_no_file_is_written_outside_of_the_folder(opened, folder, tmp_path, monkeypatch):
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    _filled(opened)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
