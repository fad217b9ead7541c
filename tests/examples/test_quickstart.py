"""The tour runs as a person runs it, and prints what it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "quickstart.py"


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run the tour in an empty folder; return what each of its scenes printed."""
    folder = tmp_path_factory.mktemp("tour")
    done = subprocess.run(
        [sys.executable, EXAMPLE], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir()), "it leaves no files behind"
    scenes = re.split(r"^─+ (\d)\. .*$", done.stdout, flags=re.MULTILINE)
    return dict(zip(scenes[1::2], scenes[2::2], strict=True))


def test_the_model_keeps_a_block_a_fact_and_a_file(tour: dict[str, str]) -> None:
    assert "Added to block profile" in tour["1"]
    assert "Kept as" in tour["1"]
    assert "Appended to trips/japan.md" in tour["1"]


def test_another_thread_changes_the_fact_and_the_past_keeps_the_old_one(
    tour: dict[str, str],
) -> None:
    today, then = tour["2"].split("The same, as of 1 February")
    assert "it takes the place of" in today
    assert "fact: The user lives in Odense" in today
    assert "fact: The user lives in Aarhus" not in today
    assert "fact: The user lives in Aarhus" in then
    assert "fact: The user lives in Odense" not in then
    assert "-> Japan: rain jacket, adapter" in today, "the file is read in the other thread"
    assert "as block profile: Name: Ann" in then


def test_the_explain_rows_are_a_table(tour: dict[str, str]) -> None:
    for column in ("holds from", "until", "score", "cosine", "words"):
        assert column in tour["2"]
    assert "(#1)" in tour["2"]


def test_a_procedure_stays_out_of_an_untyped_recall(tour: dict[str, str]) -> None:
    untyped, typed = tour["3"].split("Procedures")
    assert "procedure:" not in untyped
    assert "procedure: To book a train" in typed


def test_the_gate_refuses_then_opens_and_another_user_sees_nothing(tour: dict[str, str]) -> None:
    refused, opened = tour["4"].split("Try again")
    assert "Refused: memory is not open for this thread." in refused
    assert "No notes matched." in opened
    assert "Odense" not in tour["4"]


def test_what_is_forgotten_is_gone(tour: dict[str, str]) -> None:
    assert "Forgot " in tour["5"]
    assert "Where Ann lives, today: nothing" in tour["5"]
