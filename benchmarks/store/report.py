"""What the measures say: percentiles, ratios, targets and tables. Pure."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

Measures = dict[str, float | None]

__all__ = [
    "Measures",
    "Run",
    "Target",
    "Verdict",
    "chroma_of_same_recall",
    "median",
    "median_of",
    "percentile",
    "ratio",
    "recall",
    "table",
    "timed",
    "verdicts",
]

_SAME_RECALL = 0.005
"""How much less of the nearest another index may find and still count as equally good."""
OURS, PROCESS = "ChromaStore", "ChromaStore (process)"
CHROMA, TUNED, EXACT = "Chroma", "Chroma (tuned)", "numpy"


@dataclass(frozen=True, slots=True)
class Run:
    """One store at one size and layout, and what was measured."""

    peer: str
    size: int
    layout: str
    measures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A promise beside what was measured."""

    promise: str
    wanted: str
    measured: str
    kept: bool


def timed(call: Callable[[], object]) -> float:
    """Return the seconds a call took."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def percentile(numbers: Sequence[float], percent: int) -> float:
    """Return the smallest number that `percent` of them are not above."""
    ordered = sorted(numbers)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def median_of(rounds: Sequence[Sequence[float]], percent: int) -> float:
    """Return the median over rounds of each round's percentile."""
    return median(percentile(numbers, percent) for numbers in rounds)


def recall(answers: Sequence[Sequence[str]], truth: Sequence[Sequence[str]]) -> float:
    """Return the share of the true keys that the answers have; questions not asked do not count."""
    pairs = zip(answers, truth, strict=False)
    return fmean(len(set(found) & set(true)) / len(true) for found, true in pairs)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """Return ours as a multiple of theirs, or None where one was not measured."""
    return None if ours is None or not theirs else ours / theirs


def measured(runs: Sequence[Run], peer: str, size: int, layout: str, name: str) -> float | None:
    """Return one figure, or None where it was not measured."""
    for run in runs:
        if (run.peer, run.size, run.layout) == (peer, size, layout):
            return run.measures.get(name)
    return None


def chroma_of_same_recall(runs: Sequence[Run], size: int) -> str | None:
    """Return the faster of the Chroma settings that find as much as we do."""
    ours = measured(runs, OURS, size, "one", "recall")
    if ours is None:
        return None
    times = {
        peer: measured(runs, peer, size, "one", "search_p50_ms")
        for peer in (CHROMA, TUNED)
        if (measured(runs, peer, size, "one", "recall") or 0) >= ours - _SAME_RECALL
    }
    known = {peer: found for peer, found in times.items() if found is not None}
    return min(known, key=lambda peer: known[peer]) if known else None


@dataclass(frozen=True, slots=True)
class Target:
    """A promise: a figure of ours, what it is held against, and the bound."""

    promise: str
    layout: str
    name: str
    bound: float
    peer: str = OURS
    against: str | None = None
    """The peer whose same figure it is a multiple of; None for the figure itself."""
    other: str | None = None
    """The other peer's figure, if it is not the same."""
    plus: bool = False
    """Whether the bound is added to the other's figure."""
    at_least: bool = False
    unit: str = " ms"
    least_size: int = 0


TARGETS = (
    Target("put against Chroma, full durability", "one", "put_ms", 1 / 8, against=CHROMA),
    Target("put against Chroma, `process`", "one", "put_ms", 1 / 20, peer=PROCESS, against=CHROMA),
    Target("batch put against Chroma", "one", "batch_rows_s", 5, against=CHROMA, at_least=True),
    Target("get by key", "one", "get_ms", 0.1),
    Target("event loop stall, p99", "one", "stall_p99_ms", 10),
    Target("event loop stall, longest", "one", "stall_max_ms", 30),
    Target("recall@10, clustered", "one", "recall", 0.99, at_least=True, unit=""),
    Target("recall@10, small namespace", "many", "recall", 1.0, at_least=True, unit=""),
    Target("recall@10, random vectors", "random", "recall", 0.95, at_least=True, unit=""),
    Target(
        "small namespace, warm, over numpy", "many", "search_p50_ms", 0.5, against=EXACT, plus=True
    ),
    Target(
        "small namespace, filtered, warm, over numpy",
        "many",
        "filtered_p50_ms",
        0.5,
        against=EXACT,
        plus=True,
    ),
    Target("small namespace, cold", "many", "cold_ms", 15),
    Target(
        "one large namespace against Chroma at the same recall",
        "one",
        "search_p50_ms",
        1.75,
        against="same recall",
        least_size=100_000,
    ),
)
"""Where a bound is a multiple of a peer's figure, both come from the same run."""


def verdicts(runs: Sequence[Run], size: int) -> list[Verdict]:
    """Hold the promises that could be measured at `size` against their bounds."""
    found = (_verdict(target, runs, size) for target in TARGETS if size >= target.least_size)
    return [verdict for verdict in found if verdict is not None]


def _verdict(target: Target, runs: Sequence[Run], size: int) -> Verdict | None:
    ours = measured(runs, target.peer, size, target.layout, target.name)
    if ours is None:
        return None
    if target.against is None:
        return _compared(target, ours, f"{number(ours)}{target.unit}", target.unit)
    peer = chroma_of_same_recall(runs, size) if target.against == "same recall" else target.against
    theirs = measured(runs, peer, size, target.layout, target.name) if peer else None
    if theirs is None:
        return None
    if target.plus:
        shown = f"{number(ours - theirs)} ms ({number(ours)} - {number(theirs)})"
        return _compared(target, ours - theirs, shown, " ms")
    multiple = ours / theirs
    return _compared(
        target, multiple, f"{times(multiple)} ({number(ours)} / {number(theirs)})", "x"
    )


def _compared(target: Target, value: float, shown: str, unit: str) -> Verdict:
    kept = value >= target.bound if target.at_least else value <= target.bound
    bound = times(target.bound) if unit == "x" else f"{number(target.bound)}{unit}"
    wanted = f"{'at least' if target.at_least else 'at most'} {bound}"
    return Verdict(target.promise, wanted, shown, kept)


def times(multiple: float) -> str:
    """Return a multiple in the form people say it: 1/8 or 5x."""
    return f"1/{number(1 / multiple)}" if 0 < multiple < 1 else f"{number(multiple)}x"


def number(value: float | None) -> str:
    """Return a number with the digits that carry something."""
    if value is None:
        return ""
    if abs(value) >= 100:  # noqa: PLR2004 - three digits are enough
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
