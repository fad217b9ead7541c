import asyncio
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_fabric.embeddings import StaticEmbeddings, static

EMBEDDINGS = StaticEmbeddings()

ANY_TEXT = st.text(st.characters())  # lone surrogates too


def cosine(left: str, right: str) -> float:
    one, other = EMBEDDINGS.embed_documents([left, right])
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_importing_loads_neither_numpy_nor_the_tokenizer():
    code = (
        "import sys, langgraph_fabric.embeddings as e; e.StaticEmbeddings();"
        "sys.exit(bool({'numpy', 'tokenizers', 'chromadb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == 0


@settings(deadline=None)
@given(ANY_TEXT)
def test_every_text_has_a_unit_vector_of_plain_floats(text):
    vector = EMBEDDINGS.embed_query(text)
    assert len(vector) == EMBEDDINGS.profile.dims == 256
    assert {type(value) for value in vector} == {float}
    assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("Where does she live?", "Anna's home is in Oslo.", "The retry limit is three."),
        ("pet", "She adopted a puppy.", "He bought a bicycle."),
        ("illness", "Bob is allergic to peanuts.", "Deploys run on Tuesday."),
    ],
)
def test_meaning_is_nearer_than_chance(text, near, far):
    assert cosine(text, near) > cosine(text, far)


def test_case_does_not_matter():
    assert cosine("Anna lives in OSLO", "anna lives in oslo") == pytest.approx(1)


def test_a_value_that_changed_passes_the_gate_and_another_topic_does_not():
    gate = EMBEDDINGS.profile.candidate_gate
    assert cosine("Anna lives in Oslo", "Anna lives in Bern") > gate
    assert cosine("Anna lives in Oslo", "The retry limit is 3") < gate


def test_words_after_the_first_hundreds_still_count():
    filler = "the report says so and " * 200
    assert cosine(filler, filler + "elephants " * 400) < 0.99


@pytest.mark.parametrize("text", ["", " ", "\N{PARTY POPPER}", "\N{FOX FACE}\N{FOX FACE}"])
def test_a_text_without_a_known_word_finds_only_itself(text):
    assert cosine(text, text) == pytest.approx(1, abs=1e-5)
    for other in ("Anna lives in Oslo", "\N{DIZZY SYMBOL}", "\N{BABY}\N{BABY}"):
        assert abs(cosine(text, other)) < 0.3


def test_an_unknown_word_does_not_move_a_known_text():
    assert cosine("a party \N{PARTY POPPER}", "a party") == pytest.approx(1, abs=1e-5)


async def test_the_async_door_gives_the_same_vectors():
    assert await EMBEDDINGS.aembed_documents(["one", "two"]) == EMBEDDINGS.embed_documents(
        ["one", "two"]
    )
    assert await EMBEDDINGS.aembed_query("one") == EMBEDDINGS.embed_query("one")


async def test_small_batches_stay_on_the_loop_and_large_ones_leave_it(monkeypatch):
    EMBEDDINGS.embed_query("load the table")
    embedded_on: list[bool] = []

    class Watched(StaticEmbeddings):
        def embed_documents(self, texts):
            try:
                asyncio.get_running_loop()
                embedded_on.append(True)
            except RuntimeError:
                embedded_on.append(False)
            return super().embed_documents(texts)

    await Watched().aembed_query("short")
    await Watched().aembed_documents(["many"] * 1000)
    monkeypatch.setattr(static, "_is_loaded", lambda: False)
    await Watched().aembed_query("first: the table is read from disk")
    assert embedded_on == [True, False, False]


def test_threads_that_start_together_load_one_table():
    static._load_table.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        tables = set(map(id, pool.map(lambda _: static._shared_table(), range(32))))
    assert len(tables) == 1
    assert static._load_table.cache_info().misses == 1
