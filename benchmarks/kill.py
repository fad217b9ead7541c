"""Kill a process that writes to a store, over and over, and look at what is left.

A child process writes, flushes the index, sweeps and moves the store between two embedders, and
says on its output what it is about to do and what is done. It is killed without warning: at a
random moment, or as soon as it says that it flushes or moves; every second time its Chroma process
is killed with it. Then the store is opened: what was acknowledged must be there and be found, and
the write that was cut off must be there whole or not at all.

    python benchmarks/kill.py --rounds 200 --seed 1
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.store.base import PutOp

from langgraph_fabric._ops import PutIfOp, TextSearchOp
from langgraph_fabric.embeddings import EmbedderProfile, HashEmbeddings
from langgraph_fabric.errors import EmbedderMismatchError
from langgraph_fabric.store import ChromaStore
from langgraph_fabric.store.chroma import SearchPath

NS = ("kill", "notes")
_ROUNDS_A_FOLDER = 10
_PRELOADED = 1_100
"""Vectors a folder begins with: Chroma writes its files at each thousand."""
_SECONDS_A_ROUND = 2.0
"""An aimed kill comes by then, be there anything to aim at or not."""
_LOOKED_FOR = 25
"""Items searched for after a round, besides those it wrote."""

Values = dict[str, dict[str, Any] | None]


def _embedder(number: int) -> HashEmbeddings:
    made = HashEmbeddings(dims=32 + 16 * number)
    made.profile = EmbedderProfile(id=f"kill-{number}")
    return made


def _opened(folder: Path, search: SearchPath = "auto") -> ChromaStore:
    """Open the store with whichever of the two embedders it was left with."""
    for number in (0, 1):
        index: Any = {"embed": _embedder(number), "fields": ["text"]}
        store = ChromaStore.from_path(folder, index=index, search=search, durability="process")
        try:
            store.search(NS, query="anything", limit=1)
        except EmbedderMismatchError:
            store.close()
        else:
            return store
    raise AssertionError("neither embedder fits")


def _say(what: str, values: Values | None = None) -> None:
    sys.stdout.write(json.dumps([what, values]) + "\n")
    sys.stdout.flush()


def child(folder: Path, seed: int) -> None:
    """Write until killed; a second thread flushes, sweeps and moves the store."""
    store, dice = _opened(folder), random.Random(seed)  # noqa: S311 - not for secrets
    threading.Thread(target=_maintain, args=(store, seed), daemon=True).start()
    number = 0
    while True:
        number += 1
        values, ops = _write(store, dice, f"{seed}-{number}")
        _say("begin", values)
        store.batch(ops)
        _say("done")


def _maintain(store: ChromaStore, seed: int) -> None:
    dice = random.Random(-seed)  # noqa: S311 - not for secrets
    while True:
        verb = dice.choice(["flush", "flush", "sweep", "move"])
        _say(verb)
        if verb == "move":
            store.reindex(embeddings=_embedder(dice.choice([0, 1])))
        else:
            getattr(store, verb)()


def _write(store: ChromaStore, dice: random.Random, name: str) -> tuple[Values, list[Any]]:
    """Return what a write leaves behind, None for nothing, and its operations."""
    old = [item.key for item in store.search(NS, limit=50)] or ["none"]
    if (kind := dice.random()) < 0.3:  # noqa: PLR2004 - a share
        values: Values = {f"one-{name}": {"text": f"alone {name}"}}
    elif kind < 0.6:  # noqa: PLR2004 - a share
        values = {f"batch-{name}-{i}": {"text": f"batch {name} {i}"} for i in range(20)}
    elif kind < 0.8:  # noqa: PLR2004 - a share
        now = store.get(NS, "counter")
        version = int(now.value["version"]) if now else 0
        value = {"text": f"counter at {version + 1}", "version": version + 1}
        return {"counter": value}, [PutIfOp(NS, "counter", value, version)]
    elif kind < 0.9:  # noqa: PLR2004 - a share
        values = dict.fromkeys(
            key for key in dice.sample(old, min(5, len(old))) if key != "counter"
        )
    else:
        gone = PutOp((*NS, "gone"), name, {"text": f"gone {name}"}, ttl=0)
        return {}, [gone]
    return values, [PutOp(NS, key, value) for key, value in values.items()]


@dataclass
class Judge:
    """Knows what must be in one folder."""

    folder: Path
    values: Values = field(default_factory=dict[str, Any])
    faults: list[str] = field(default_factory=list[str])
    cut: Counter[str] = field(default_factory=Counter[str])
    """Rounds, by what the child was doing when it was killed."""

    def fill(self) -> None:
        """Begin with so many items that Chroma has files."""
        self.values = {f"first-{i}": {"text": f"first item {i}"} for i in range(_PRELOADED)}
        with _opened(self.folder) as store:
            store.batch([PutOp(NS, key, value) for key, value in self.values.items()])

    def round(self, seed: int) -> None:
        """Let a child write, kill it, and look."""
        begun, done = self._killed(random.Random(seed), seed)  # noqa: S311 - not for secrets
        try:
            with _opened(self.folder, "chroma") as store:
                self._look(store, begun, done, random.Random(seed))  # noqa: S311 - the same
        except Exception as exc:  # noqa: BLE001 - every failure is a finding
            self.faults.append(f"seed {seed}: {type(exc).__name__}: {exc}")

    def _killed(self, dice: random.Random, seed: int) -> tuple[list[Values], int]:
        process = subprocess.Popen(  # noqa: S603 - ourselves
            [sys.executable, __file__, "--child", str(self.folder), "--seed", str(seed)],
            stdout=subprocess.PIPE,
            start_new_session=True,  # its Chroma process is in its group
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdout is not None  # noqa: S101 - as asked for
        aim, delay = dice.choice([None, "flush", "move"]), dice.random() ** 2
        kill = os.killpg if seed % 2 else os.kill
        begun: list[Values] = []
        done, doing = 0, "open"
        limit = threading.Timer(_SECONDS_A_ROUND, kill, (process.pid, signal.SIGKILL))
        timer = None
        for line in process.stdout:
            try:
                what, values = json.loads(line)
            except ValueError:
                break  # cut off in the middle of a line
            if limit.ident is None:
                limit.start()
            if timer is None and (aim is None or what == aim):
                wait = delay if aim is None else delay / 5
                timer = threading.Timer(wait, kill, (process.pid, signal.SIGKILL))
                timer.start()
            if what == "begin":
                begun.append(values)
            elif what == "done":
                done += 1
            else:
                doing = what
        process.wait()
        for waiting in filter(None, (limit, timer)):
            waiting.cancel()
        process.stdout.close()
        self.cut[doing] += 1
        if process.returncode != -signal.SIGKILL:
            self.faults.append(f"seed {seed}: the child ended by itself")
        return begun, done

    def _look(
        self, store: ChromaStore, begun: list[Values], done: int, dice: random.Random
    ) -> None:
        written: Values = {}
        for values in begun[:done]:
            written.update(values)
        self.values.update(written)
        for values in begun[done:]:
            self._look_at_cut_off(store, values)
        for key, value in self.values.items():
            found = store.get(NS, key)
            if (found.value if found else None) != value:
                self.faults.append(f"{key} is not as acknowledged")
        alive = {key: value for key, value in self.values.items() if value is not None}
        old = dice.sample(sorted(alive), min(_LOOKED_FOR, len(alive)))
        for key in {*old, *(key for key in list(written)[-_LOOKED_FOR:] if key in alive)}:
            self._search(store, key, alive[key]["text"])
        store.flush()
        if not (found := store.doctor()).healthy:
            self.faults.append(f"not healthy: {found}")

    def _look_at_cut_off(self, store: ChromaStore, values: Values) -> None:
        found = {key: item.value if (item := store.get(NS, key)) else None for key in values}
        if found == values:
            self.values.update(values)
        elif any(found[key] != self.values.get(key) for key in values):
            self.faults.append("half of a batch")

    def _search(self, store: ChromaStore, key: str, text: str) -> None:
        hits = store.search(NS, query=text, limit=400)
        words = store.batch([TextSearchOp(NS, text, limit=400)])[0]
        for leg, found in (("vector", hits), ("words", words)):
            if key not in {hit.key for hit in found}:
                self.faults.append(f"{key} is not found by its {leg}")


def campaign(
    rounds: int, seed: int, *, seconds: float = float("inf")
) -> tuple[int, list[str], Any]:
    """Return how many rounds were run, the faults, and what the kills hit."""
    faults: list[str] = []
    cut: Counter[str] = Counter()
    end = time.monotonic() + seconds
    number = 0
    while number < rounds and time.monotonic() < end:
        with tempfile.TemporaryDirectory() as folder:
            judge = Judge(Path(folder) / "store", faults=faults, cut=cut)
            judge.fill()
            for _ in range(min(_ROUNDS_A_FOLDER, rounds - number)):
                if time.monotonic() > end:
                    break
                judge.round(seed + number)
                number += 1
                if os.environ.get("KILL_VERBOSE"):
                    print(f"{time.monotonic():.1f} {number}", dict(cut), faults[-1:], flush=True)
    return number, faults, cut


def main() -> int:
    """Run the rounds, or be the child of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.seed)
    began = time.monotonic()
    rounds, faults, cut = campaign(options.rounds, options.seed)
    print(f"{rounds} kills in {time.monotonic() - began:.0f} s, while: {dict(cut)}")
    print(f"faults: {len(faults)}", *faults[:20], sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
