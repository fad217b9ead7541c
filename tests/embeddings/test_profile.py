from functools import partial

import pytest
from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings

from langgraph_fabric.embeddings import (
    EmbedderProfile,
    HashEmbeddings,
    StaticEmbeddings,
    profile_of,
)
from langgraph_fabric.errors import MemoryLimitError


class Foreign(Embeddings):
    def __init__(self, **attributes):
        vars(self).update(attributes)

    def embed_documents(self, texts):
        return [[1.0] for _ in texts]

    def embed_query(self, _text):
        return [1.0]


def embed(texts):
    return [[1.0] for _ in texts]


async def aembed(texts):
    return [[1.0] for _ in texts]


def local_function():
    def inner(texts):
        return [[1.0] for _ in texts]

    return inner


@pytest.mark.parametrize(
    ("embeddings", "name", "gate"),
    [(StaticEmbeddings(), "static-wn256", 0.55), (HashEmbeddings(), "hash", 0.45)],
)
def test_an_embedder_of_ours_carries_its_profile(embeddings, name, gate):
    profile = profile_of(embeddings)
    assert (profile.id, profile.candidate_gate) == (name, gate)


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({}, "Foreign"),
        ({"model": "text-embedding-3-small"}, "Foreign:text-embedding-3-small"),
        ({"model_name": "bge-small"}, "Foreign:bge-small"),
        ({"model_id": "amazon.titan"}, "Foreign:amazon.titan"),
        ({"model": object(), "model_name": "bge"}, "Foreign:bge"),
        ({"model": ""}, "Foreign"),
        ({"profile": {"max_input_tokens": 8}}, "Foreign"),
    ],
)
def test_a_foreign_embedder_goes_by_its_class_and_model(attributes, name):
    assert profile_of(Foreign(**attributes)).id == name


def test_a_foreign_embedder_may_carry_a_profile():
    profile = EmbedderProfile(id="mine", dims=3, vector_weight=0.2, candidate_gate=0.7)
    assert profile_of(Foreign(profile=profile)) is profile


@pytest.mark.parametrize(
    ("dimensions", "dims"), [(512, 512), (None, None), (0, None), (True, None)]
)
def test_declared_dimensions_are_taken_over(dimensions, dims):
    assert profile_of(Foreign(dimensions=dimensions)).dims == dims


def test_an_unknown_embedder_gets_careful_defaults():
    profile = profile_of(Foreign())
    assert (profile.vector_weight, profile.candidate_gate) == (0.5, 0.60)


@pytest.mark.parametrize("function", [embed, partial(embed)])
def test_a_plain_function_goes_by_its_own_name(function):
    assert profile_of(ensure_embeddings(function)).id == f"{__name__}.embed"


def test_an_async_function_goes_by_its_own_name():
    assert profile_of(ensure_embeddings(aembed)).id == f"{__name__}.aembed"


@pytest.mark.parametrize("function", [lambda texts: [[1.0] for _ in texts], local_function()])
def test_a_function_without_a_lasting_name_stays_unnamed(function):
    assert profile_of(ensure_embeddings(function)).id == ""


def test_a_function_may_carry_a_profile():
    function = local_function()
    function.profile = EmbedderProfile(id="mine")
    assert profile_of(ensure_embeddings(function)).id == "mine"


@pytest.mark.parametrize("field", ["vector_weight", "candidate_gate"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(field, value):
    with pytest.raises(MemoryLimitError, match=field):
        EmbedderProfile(id="mine", **{field: value})
