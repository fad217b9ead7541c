import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def locomo():
    spec = importlib.util.spec_from_file_location("locomo", ROOT / "benchmarks" / "locomo.py")
    module = sys.modules["locomo"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["locomo"]


def ask(question, category, *evidence):
    return {"question": question, "category": category, "evidence": list(evidence), "answer": "x"}


SAID = {
    "session_1": ["I bought a red canoe.", "My sister Ida plays the cello."],
    "session_2": ["The canoe sank last week.", "Ida moved to Bergen."],
}


def conversation(*questions):
    sessions = {
        name: [
            {"speaker": "Ann", "dia_id": f"D{name[-1]}:{place}", "text": text}
            for place, text in enumerate(texts, start=1)
        ]
        for name, texts in SAID.items()
    }
    sessions |= {f"{name}_date_time": "1:00 pm on 1 May, 2023" for name in SAID}
    return {
        "sample_id": "conv-0",
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bo", **sessions},
        "qa": list(questions),
        "observation": {},
    }


def test_sessions_are_read_in_the_order_of_their_numbers(locomo):
    data = conversation()
    data["conversation"]["session_10"] = [{"speaker": "Bo", "dia_id": "D10:1", "text": "Hi."}]
    read = locomo.parse(data)
    assert list(read.sessions) == [1, 2, 10]
    assert read.sessions[2][0] == locomo.Turn("D2:1", "Ann", "The canoe sank last week.")


@pytest.mark.parametrize(
    ("texts", "found", "dropped"),
    [
        (["D1:1"], ("D1:1",), []),
        (["D1:1; D2:1"], ("D1:1", "D2:1"), []),
        (["D1:1,D2:1 D1:2"], ("D1:1", "D2:1", "D1:2"), []),
        (["D:2:1", "D01:02"], ("D2:1", "D1:2"), []),
        (["D1:1", "D1:1"], ("D1:1",), []),
        (["D", "D9:9", "D1:1"], ("D1:1",), ["D", "D9:9"]),
        ([], (), []),
    ],
    ids=["one", "semicolon", "comma-space", "misspelt", "twice", "malformed", "none"],
)
def test_evidence_is_read_leniently_and_what_names_no_turn_is_counted(
    texts, found, dropped, locomo
):
    said = {"D1:1", "D1:2", "D2:1", "D2:2"}
    assert locomo.parse_evidence(texts, said) == (found, dropped)


def test_adversarial_questions_and_those_without_evidence_are_left_out(locomo):
    data = conversation(ask("a?", 4, "D1:1"), ask("b?", 5, "D1:1"), ask("c?", 1, "D"))
    read = locomo.parse(data)
    assert [question.text for question in read.questions] == ["a?"]
    assert read.dropped == ["D"]


def test_a_rank_is_that_of_the_first_note_that_names_the_turn(locomo):
    question = locomo.Question("?", 1, ("D1:1", "D1:2", "D2:1"))
    found = locomo.answer(question, [["D2:2"], ["D1:2", "D2:1"], ["D1:2"]])
    assert found == locomo.Answer(1, (None, 2, 2))


def test_scores_average_over_questions_by_category_and_in_all(locomo):
    answers = [
        locomo.Answer(4, (1,)),
        locomo.Answer(4, (None,)),
        locomo.Answer(1, (4, 12)),
    ]
    multi, single, everything = locomo.scores(answers)
    assert (multi.category, multi.questions) == ("multi-hop", 1)
    assert multi.recall == {1: 0.0, 5: 50.0, 10: 50.0, 20: 100.0}
    assert multi.mrr == 0.25
    assert (single.category, single.recall[1], single.mrr) == ("single-hop", 50.0, 0.5)
    assert (everything.category, everything.questions) == ("all", 3)
    assert everything.recall[20] == pytest.approx(200 / 3)
    assert everything.mrr == pytest.approx(1.25 / 3)


def test_timings_are_milliseconds(locomo):
    times = locomo.timings([0.003, 0.001, 0.002], [n / 1000 for n in range(1, 101)])
    assert (times.write_p50, times.recall_p50, times.recall_p95) == pytest.approx((2, 51, 96))
    assert locomo.timings([], []) == locomo.Timings(0, 0, 0)


def test_without_data_it_says_so_and_ends_well(locomo, tmp_path, capsys):
    assert locomo.main([str(tmp_path / "missing")]) == 0
    assert "LOCOMO_DIR" in capsys.readouterr().out


def test_it_writes_a_conversation_through_a_graph_and_finds_the_evidence(locomo, tmp_path, capsys):
    data = conversation(
        ask("What did Ann buy?", 4, "D1:1"), ask("Where does Ida live?", 1, "D2:2", "D?")
    )
    (tmp_path / "conv-0.json").write_text(json.dumps(data))
    assert locomo.main([str(tmp_path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["conversations"] == ["conv-0"]
    assert report["notes"] == 4
    assert report["dropped"] == ["D?"]
    assert report["scores"][-1]["recall"]["20"] == 100.0
    assert report["timings"]["recall_p95"] > 0


def test_the_table_has_a_row_for_each_category_and_one_for_all(locomo, tmp_path, capsys):
    (tmp_path / "conv-0.json").write_text(
        json.dumps(conversation(ask("What did Ann buy?", 4, "D1:1")))
    )
    assert locomo.main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 conversations, 4 notes"
    assert [line.split()[0] for line in lines[1:4]] == ["category", "single-hop", "all"]
    assert lines[-1] == "evidence ids dropped: 0"
