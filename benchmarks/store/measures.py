"""What is measured, inside a child process that holds one store and nothing else.

The store is first written to its folder by one child and then opened by another, so that the
second one's memory is the store's and its first searches are cold. Stores without a folder do both
in one child.
"""

import asyncio
import ctypes
import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.store.data import BLOCK, QUERIES, Data, Lookup, Record, exact
from benchmarks.store.peers import Peer
from benchmarks.store.report import Measures, median, median_of, recall, timed

ROUNDS = 5
WRITERS = 20

_PUTS = 20
"""Single puts in a round."""
_ROUND_SECONDS = 1.0
"""A round of a slow store ends early, though not before five calls."""
_LEAST_CALLS = 5
_STALL_SECONDS = 1.5
_STALL_ITEMS = 20_000
_BEAT = 0.001
"""Seconds the heartbeat sleeps; what it sleeps longer is the stall."""
_FLUSH_EVERY = 0.2

_MS = 1000.0


def load(peer: Peer) -> Measures:
    """Write all items in batches of 1,000, bring the index up to date, and close."""
    peer.open()
    seconds = _written(peer, 0, peer.data.size)
    started = time.perf_counter()
    peer.flush()
    flushed = time.perf_counter() - started
    if peer.persistent:
        peer.close()
    return {"load_rows_s": peer.data.size / sum(seconds), "index_rows_s": _rate(peer, flushed)}


def _rate(peer: Peer, seconds: float) -> float | None:
    """Return the rows indexed a second; None where the writes themselves index."""
    return peer.data.size / seconds if seconds > _BEAT and peer.data.layout != "many" else None


def measure(peer: Peer) -> Measures:
    """Measure a store that holds its items: reads first, then writes."""
    found: Measures = {}
    _warm_libraries(peer)
    peer.lookup.prepare(0, 1)
    before = memory(None)
    found |= _opening(peer) if peer.persistent else load(peer)
    if peer.data.layout != "random":
        found |= _searches(peer)
        peer.lookup.prepare(0, 1)
        after = memory(peer.server())
        if before is not None and after is not None:
            found["memory_mb"] = after - before
    found |= _recalls(peer)
    if peer.data.layout == "one":
        found |= _gets(peer)
        if peer.writable:
            found |= _writes(peer)
            found |= asyncio.run(_stalls(peer))
    peer.close()
    return found


def _warm_libraries(peer: Peer) -> None:
    """Have everything imported before memory and time are looked at."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        data = Data(BLOCK, "one")
        other = type(peer)(Path(folder) / "warm", data, Lookup(data))
        other.lookup.prepare(0, 1)
        other.open()
        other.put(data.records(0, 1))
        other.search(0, filtered=True)
        other.flush()
        other.close()
    gc.collect()


def _opening(peer: Peer) -> Measures:
    """Open five times over: until the first read, and from there the first search."""
    opened: list[float] = []
    cold: list[float] = []
    (record,) = peer.data.records(0, 1)
    for turn in range(ROUNDS):
        opened.append(timed(lambda: (peer.open(), peer.get(record))))
        cold.append(timed(lambda query=turn: peer.search(query, filtered=False)))
        if turn < ROUNDS - 1:
            peer.close()
    disk = sum(path.stat().st_blocks for path in peer.folder.rglob("*") if path.is_file())
    return {
        "open_ms": _MS * median(opened),
        "cold_ms": _MS * median(cold),
        "disk_b_item": disk * 512 / peer.data.size,
    }


def _searches(peer: Peer) -> Measures:
    found: Measures = {}
    for kind, filtered in (("search", False), ("filtered", True)):
        for query in range(min(QUERIES, peer.data.spaces)):
            _search(peer, query, filtered=filtered)
        rounds = [
            _round(
                lambda query, filtered=filtered: _search(peer, query, filtered=filtered),
                range(QUERIES),
            )
            for _ in range(ROUNDS)
        ]
        for percent in (50, 95, 99):
            found[f"{kind}_p{percent}_ms"] = _MS * median_of(rounds, percent)
    return found


def _search(peer: Peer, query: int, *, filtered: bool) -> list[str]:
    return peer.search(query, filtered=filtered)


def _round(call: Callable[[Any], object], over: Iterable[Any]) -> list[float]:
    """Time calls until there are no more, or time is up."""
    seconds: list[float] = []
    for thing in over:
        seconds.append(timed(lambda thing=thing: call(thing)))
        if sum(seconds) > _ROUND_SECONDS and len(seconds) >= _LEAST_CALLS:
            break
    return seconds


def _recalls(peer: Peer) -> Measures:
    found: Measures = {}
    for kind, filtered in (("recall", False), ("filtered_recall", True)):
        truth = exact(peer.data, 10, filtered=filtered)
        answers: list[list[str]] = []
        _round(
            lambda q, f=filtered, a=answers: a.append(peer.search(q, filtered=f)), range(QUERIES)
        )
        found[kind] = recall(answers, truth)
        if peer.data.layout == "random":
            break
    return found


def _gets(peer: Peer) -> Measures:
    step = max(1, peer.data.size // QUERIES)
    some = [peer.data.records(n, 1)[0] for n in range(0, peer.data.size, step)][:QUERIES]
    return {"get_ms": _MS * median_of([_round(peer.get, some) for _ in range(ROUNDS)], 50)}


def _writes(peer: Peer) -> Measures:
    size = peer.data.size
    puts: list[list[float]] = []
    for turn in range(ROUNDS):
        records = _prepared(peer, size + turn * _PUTS, _PUTS)
        puts.append(_round(lambda record: peer.put([record]), records))
    start = size + BLOCK
    batches = _written(peer, start, ROUNDS * BLOCK)
    return {"put_ms": _MS * median_of(puts, 50), "batch_rows_s": BLOCK / median(batches)}


def _written(peer: Peer, start: int, count: int) -> list[float]:
    """Write items in batches of 1,000 and return the seconds of each."""
    seconds: list[float] = []
    for first in range(start, start + count, BLOCK):
        records = _prepared(peer, first, min(BLOCK, start + count - first))
        seconds.append(timed(lambda records=records: peer.put(records)))
    return seconds


def _prepared(peer: Peer, start: int, count: int) -> list[Record]:
    """Make items and vectors, and keep the collector from walking over them while time is taken."""
    gc.unfreeze()
    peer.lookup.prepare(start, count)
    records = peer.data.records(start, count)
    gc.collect()
    gc.freeze()
    return records


async def _stalls(peer: Peer) -> Measures:
    """Let twenty writers write while the index is brought up to date, and watch the event loop."""
    peer.flush()
    start = peer.data.size + (ROUNDS + 2) * BLOCK
    coming = iter(_prepared(peer, start, _STALL_ITEMS))
    late: list[list[float]] = []
    written = 0
    for _ in range(ROUNDS):
        stop = time.perf_counter() + _STALL_SECONDS
        writers = [asyncio.create_task(_writer(peer, coming, stop)) for _ in range(WRITERS)]
        flusher = asyncio.create_task(_flusher(peer, stop))
        late.append(await _heartbeat(stop))
        written += sum(await asyncio.gather(*writers))
        await flusher
    return {
        "stall_p99_ms": _MS * median_of(late, 99),
        "stall_max_ms": _MS * max(max(beats, default=0.0) for beats in late),
        "stall_writes_s": written / (ROUNDS * _STALL_SECONDS),
    }


async def _writer(peer: Peer, coming: Iterable[Record], stop: float) -> int:
    written = 0
    for record in coming:
        if time.perf_counter() > stop:
            break
        await peer.aput(record)
        written += 1
    return written


async def _flusher(peer: Peer, stop: float) -> None:
    while time.perf_counter() < stop:
        await asyncio.sleep(_FLUSH_EVERY)
        await asyncio.to_thread(peer.flush)


async def _heartbeat(stop: float) -> list[float]:
    late: list[float] = []
    while (before := time.perf_counter()) < stop:
        await asyncio.sleep(_BEAT)
        late.append(time.perf_counter() - before - _BEAT)
    return late


def memory(server: int | None) -> float | None:
    """Return the megabytes of this process, a server and all they started; None if unknown."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    family = [os.getpid(), *([] if server is None else [server])]
    held = [_held(process) for root in family for process in (root, *_descendants(root))]
    return None if held[0] is None else sum(part or 0 for part in held)


def _held(process: int) -> float | None:
    """Return the megabytes of a process, its share of what it shares with others."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return None


def _descendants(parent: int) -> list[int]:
    children: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                children.append(int(stat.parent.name))
    return [process for child in children for process in (child, *_descendants(child))]
