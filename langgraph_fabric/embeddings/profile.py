"""What the memory must know about an embedder: its name, its size, and how far to trust it.

Cosines of two embedders are not comparable, so every number that is compared with one belongs to
the embedder. An embedder of ours carries its `profile`; a foreign one can carry one too, or gets
careful defaults.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from langchain_core.embeddings import Embeddings
from langgraph.store.base.embed import EmbeddingsLambda

from langgraph_fabric.errors import MemoryLimitError

UNKNOWN_VECTOR_WEIGHT = 0.5
"""An embedder someone chose is taken for a good one: both good ones measured do best at a half."""

UNKNOWN_CANDIDATE_GATE = 0.60
"""Above both measured gates (.55): a candidate missed keeps two notes, a wrong one may hide one."""

_MODEL_ATTRIBUTES = ("model", "model_name", "model_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderProfile:
    """An embedder's identity and the numbers that depend on it."""

    id: str
    """Names the vector space: vectors of two ids never meet. Empty when the embedder has no name to
    go by, and then only the sizes are compared (reference S49)."""

    dims: int | None = None
    """The length of its vectors; None until one has been seen."""

    vector_weight: float = UNKNOWN_VECTOR_WEIGHT
    """The cosine's share in the blend with BM25, 0 to 1; the rest is BM25's."""

    candidate_gate: float = UNKNOWN_CANDIDATE_GATE
    """The cosine from which a note may be a candidate for supersession. Only the guard decides; the
    gate keeps it from texts that merely share words."""

    def __post_init__(self) -> None:
        for field in ("vector_weight", "candidate_gate"):
            if not 0 <= getattr(self, field) <= 1:
                raise MemoryLimitError(field, "outside 0 to 1", "Give a share between 0 and 1")


def profile_of(embeddings: Embeddings) -> EmbedderProfile:
    """Return the profile `embeddings` carries, or one made from its class and model names.

    A plain function that LangGraph has wrapped may carry a `profile` too; without one it goes by
    its module and name. A lambda, a local function and a callable without a name stay unnamed:
    their name would change with the code around them.
    """
    bearer = _function_of(embeddings) or embeddings
    carried = getattr(bearer, "profile", None)
    if isinstance(carried, EmbedderProfile):
        return carried
    name = _class_name(embeddings) if bearer is embeddings else _function_name(bearer)
    return EmbedderProfile(id=name, dims=_declared_dims(bearer))


def _function_of(embeddings: Embeddings) -> Callable[..., object] | None:
    if not isinstance(embeddings, EmbeddingsLambda):
        return None
    function = getattr(embeddings, "func", None) or getattr(embeddings, "afunc", None)
    while isinstance(function, partial):
        function = function.func
    return function


def _function_name(function: object) -> str:
    name = getattr(function, "__qualname__", "<nameless>")
    return "" if "<" in name else f"{getattr(function, '__module__', '')}.{name}"


def _class_name(embeddings: Embeddings) -> str:
    name = type(embeddings).__name__
    for attribute in _MODEL_ATTRIBUTES:
        model = getattr(embeddings, attribute, None)
        if isinstance(model, str) and model:
            return f"{name}:{model}"
    return name


def _declared_dims(bearer: object) -> int | None:
    dims = getattr(bearer, "dimensions", None)
    return dims if type(dims) is int and dims > 0 else None
