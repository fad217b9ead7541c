import math

import pytest

from langgraph_fabric.embeddings import HashEmbeddings, profile_of
from langgraph_fabric.embeddings.hash_embeddings import _signed_fnv1a
from langgraph_fabric.errors import MemoryLimitError

EMBEDDINGS = HashEmbeddings()


def cosine(left: str, right: str) -> float:
    one, other = EMBEDDINGS.embed_documents([left, right])
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("word", "hashed", "bucket"),
    [
        ("user", 1618501362, 18),
        ("prefers", 540554316, 12),
        ("metric", -911260927, 31),
        ("units", -921131876, 4),
        ("canary", 476070233, 25),
    ],
)
def test_s78_words_fall_into_the_reference_buckets(word, hashed, bucket):
    assert _signed_fnv1a(word) == hashed
    assert EMBEDDINGS.embed_query(word).index(1.0) == bucket


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("Deploy service with canary", "Deploy service with canary disabled", 0.894427),
        ("Office is in Berlin", "Office is in Berlin today", 0.944911),
        (
            "Deploys go out behind a canary",
            "Deploys go out behind a canary and a feature flag",
            0.850420,
        ),
        ("canary rollout checklist", "canary rollout checklist\nand rollback steps", 0.707107),
        ("Canary rollout protects deploys", "Canary rollout protects services", 0.75),
        ("User prefers metric units", "User prefers metric units and Celsius", 0.816497),
    ],
)
def test_s79_cosines_equal_the_reference(left, right, expected):
    assert cosine(left, right) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("text", ["", "...", "\n"])
def test_s77_a_text_without_words_is_the_first_unit_vector(text):
    assert EMBEDDINGS.embed_query(text) == [1.0] + [0.0] * 31


def test_s77_words_are_counted():
    assert cosine("tea tea coffee", "tea") == pytest.approx(2 / math.sqrt(5))


def test_s183_texts_of_other_scripts_differ():
    assert cosine("Привет мир", "Доброе утро") < 1


@pytest.mark.parametrize("dims", [1, 4096])
def test_s76_dims_within_bounds_are_kept(dims):
    assert len(HashEmbeddings(dims).embed_query("hello")) == dims
    assert profile_of(HashEmbeddings(dims)).dims == dims


@pytest.mark.parametrize("dims", [0, 4097, -1, 1.5, True, "32"])
def test_s76_other_dims_are_refused(dims):
    with pytest.raises(MemoryLimitError, match="dims"):
        HashEmbeddings(dims)


async def test_the_async_door_gives_the_same_vectors():
    assert await EMBEDDINGS.aembed_query("a b") == EMBEDDINGS.embed_query("a b")
    assert await EMBEDDINGS.aembed_documents(["a"]) == EMBEDDINGS.embed_documents(["a"])
