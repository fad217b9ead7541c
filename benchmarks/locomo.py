"""Evidence recall on LoCoMo: how often the turns that answer a question are among those recalled.

    python benchmarks/locomo.py [FOLDER] [--json]

Each conversation becomes the memory of one user: one thread a session, one run of a compiled graph
a turn, one note a turn. Each question is asked through `recall`. Evidence recall at k is the share
of a question's evidence turns among the first k notes, averaged over questions; MRR is the mean of
one over the rank of the first. Categories are 1 multi-hop, 2 temporal, 3 open-domain and
4 single-hop; the adversarial fifth has no evidence to find and is left out.

The data (Maharana et al., 2024, CC BY-NC 4.0) is not part of this project. Without it the script
says where it looked and ends well.
"""

# pyright: reportUnknownMemberType=false
# LangGraph's builder and compiled graph leave type parameters of their methods open.

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from langgraph_fabric import MemoryFabric, Scope
from langgraph_fabric.store import ChromaStore

DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "data" / "locomo"
CUTS = (1, 5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}

_SESSION = re.compile(r"session_(\d+)\Z")
_DIALOGUE_ID = re.compile(r"D:?(\d+):(\d+)\Z")
_SEPARATORS = re.compile(r"[;,\s]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said."""

    id: str
    """Its dialogue id, such as `D1:3`."""
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer was said."""

    text: str
    category: int
    evidence: tuple[str, ...]
    """Dialogue ids of turns that exist, each once."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What two people said over several sessions, and what is asked about it."""

    name: str
    sessions: dict[int, list[Turn]]
    """By number, in order."""
    questions: list[Question]
    """Those of the four categories that have evidence."""
    dropped: list[str]
    """Evidence ids that are malformed, or name no turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Where a question's evidence was found."""

    category: int
    ranks: tuple[int | None, ...]
    """For each evidence turn its place among the recalled notes, from 1; None where it is not."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well the questions of one category did."""

    category: str
    questions: int
    recall: dict[int, float]
    """By cut, in percent."""
    mrr: float


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds of the calls as a graph's author sees them."""

    write_p50: float
    recall_p50: float
    recall_p95: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a run of the benchmark found."""

    conversations: list[str]
    notes: int
    scores: list[Score]
    timings: Timings
    dropped: list[str]


def load(folder: Path) -> list[Conversation]:
    """Read the conversations of a folder, one a file, in order of their names."""
    return [parse(json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]


def parse(data: dict[str, Any]) -> Conversation:
    """Read one conversation in LoCoMo's own form."""
    sessions = {
        int(match[1]): [_turn(turn) for turn in value]
        for key, value in data["conversation"].items()
        if (match := _SESSION.match(key))
    }
    said = {turn.id for turns in sessions.values() for turn in turns}
    questions: list[Question] = []
    dropped: list[str] = []
    for item in data["qa"]:
        if item["category"] not in CATEGORIES:
            continue
        evidence, wrong = parse_evidence(item.get("evidence", ()), said)
        dropped += wrong
        if evidence:
            questions.append(Question(item["question"], item["category"], evidence))
    return Conversation(data["sample_id"], dict(sorted(sessions.items())), questions, dropped)


def _turn(data: dict[str, Any]) -> Turn:
    return Turn(data["dia_id"], data["speaker"], data["text"])


def parse_evidence(texts: Iterable[str], said: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """Split evidence into ids of turns that were said, and what names none.

    A text may hold several ids, with a colon or zeros too many.
    """
    found: dict[str, None] = {}
    dropped: list[str] = []
    for piece in (piece for text in texts for piece in _SEPARATORS.split(text) if piece):
        match = _DIALOGUE_ID.match(piece)
        turn = f"D{int(match[1])}:{int(match[2])}" if match else piece
        if turn in said:
            found[turn] = None
        else:
            dropped.append(piece)
    return tuple(found), dropped


def answer(question: Question, recalled: Sequence[Iterable[str]]) -> Answer:
    """Find a question's evidence among the recalled notes, given each one's source ids."""
    rank: dict[str, int] = {}
    for place, sources in enumerate(recalled, start=1):
        for source in sources:
            rank.setdefault(source, place)
    return Answer(question.category, tuple(rank.get(turn) for turn in question.evidence))


def scores(answers: Sequence[Answer]) -> list[Score]:
    """Score each category that was asked about, then all of them."""
    parts = [
        _score(name, [answer for answer in answers if answer.category == number])
        for number, name in CATEGORIES.items()
        if any(answer.category == number for answer in answers)
    ]
    return [*parts, _score("all", answers)] if parts else []


def _score(name: str, answers: Sequence[Answer]) -> Score:
    recall = {cut: 100 * fmean(_found(answer, cut) for answer in answers) for cut in CUTS}
    return Score(name, len(answers), recall, fmean(_reciprocal(answer) for answer in answers))


def _found(answer: Answer, cut: int) -> float:
    return fmean(rank is not None and rank <= cut for rank in answer.ranks)


def _reciprocal(answer: Answer) -> float:
    ranks = [rank for rank in answer.ranks if rank is not None]
    return 1 / min(ranks) if ranks else 0.0


def timings(writes: Sequence[float], recalls: Sequence[float]) -> Timings:
    """Sum up seconds of writes and recalls in milliseconds."""
    return Timings(
        write_p50=_percentile(writes, 50),
        recall_p50=_percentile(recalls, 50),
        recall_p95=_percentile(recalls, 95),
    )


def _percentile(seconds: Sequence[float], percent: int) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[len(ordered) * percent // 100] if ordered else 0.0


class TurnState(TypedDict):
    """One turn on its way into memory."""

    id: str
    content: str


def writing_graph(
    fabric: MemoryFabric, seconds: list[float]
) -> CompiledStateGraph[TurnState, None, TurnState, TurnState]:
    """Compile a graph that writes one note a run and notes how long the write took."""

    def note(state: TurnState) -> None:
        started = time.perf_counter()
        fabric.remember(kind="fact", content=state["content"], source_entry_ids=[state["id"]])
        seconds.append(time.perf_counter() - started)

    builder = StateGraph(TurnState)
    builder.add_node("note", note)
    builder.add_edge(START, "note")
    builder.add_edge("note", END)
    return builder.compile(checkpointer=InMemorySaver())


def run(conversations: Sequence[Conversation], folder: Path) -> Report:
    """Write the conversations into a store in `folder`, ask their questions, and report."""
    writes: list[float] = []
    recalls: list[float] = []
    answers: list[Answer] = []
    with ChromaStore.from_path(folder) as store:
        fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"), consolidate=False)
        graph = writing_graph(fabric, writes)
        for conversation in conversations:
            for config, turn in _runs(conversation):
                graph.invoke(turn, config)
            memory = fabric.at(user_id=conversation.name)
            for question in conversation.questions:
                started = time.perf_counter()
                hits = memory.recall(question.text, top_k=max(CUTS)).hits
                recalls.append(time.perf_counter() - started)
                answers.append(answer(question, [hit.note.source_entry_ids for hit in hits]))
    return Report(
        conversations=[conversation.name for conversation in conversations],
        notes=len(writes),
        scores=scores(answers),
        timings=timings(writes, recalls),
        dropped=[piece for conversation in conversations for piece in conversation.dropped],
    )


def _runs(conversation: Conversation) -> Iterator[tuple[RunnableConfig, TurnState]]:
    for session, turns in conversation.sessions.items():
        thread = f"{conversation.name}-{session}"
        for turn in turns:
            yield (
                {"configurable": {"thread_id": thread, "user_id": conversation.name}},
                {"id": turn.id, "content": f"{turn.speaker}: {turn.text}"},
            )


def render(report: Report) -> str:
    """Return the report as a table a person reads."""
    head = f"{'category':<12} {'n':>5} " + " ".join(f"{f'R@{cut}':>6}" for cut in CUTS) + "    MRR"
    rows = [
        f"{score.category:<12} {score.questions:>5} "
        + " ".join(f"{score.recall[cut]:>6.1f}" for cut in CUTS)
        + f"  {score.mrr:.3f}"
        for score in report.scores
    ]
    times = report.timings
    write = f"write p50 {times.write_p50:.1f} ms"
    recall = f"recall p50 {times.recall_p50:.1f} ms, p95 {times.recall_p95:.1f} ms"
    dropped = f"evidence ids dropped: {len(report.dropped)} {', '.join(report.dropped)}".rstrip()
    size = f"{len(report.conversations)} conversations, {report.notes} notes"
    return "\n".join([size, head, *rows, f"{write}, {recall}", dropped])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark over a folder and print what it found."""
    parser = argparse.ArgumentParser(description="Evidence recall on LoCoMo.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path(os.environ.get("LOCOMO_DIR") or DEFAULT_FOLDER),
        help="conversations, one JSON file each (default: LOCOMO_DIR)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    conversations = load(options.folder)
    if not conversations:
        print(
            "No conversations: LOCOMO_DIR (or the argument) names no folder of LoCoMo JSON files."
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="locomo-") as folder:
        report = run(conversations, Path(folder))
    print(json.dumps(asdict(report), indent=2) if options.json else render(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
