"""The blend: one score from a cosine and a BM25 score, over the candidates of one search."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Blended:
    """What the two legs say of one candidate together."""

    score: float
    """0 to 1."""
    lexical: float | None
    """BM25 scaled to 0..1 over the candidates; None if the lexical leg did not find it."""


def blended(
    cosines: Sequence[float | None], words: Sequence[float | None], vector_weight: float
) -> list[Blended]:
    """Return the blend of each candidate; None where a leg did not find it.

    Cosines are scaled between the least and the greatest of the window, BM25 between none and the
    greatest. With one leg alone, that leg's scale is the score.
    """
    found = [cosine for cosine in cosines if cosine is not None]
    most = max((score for score in words if score is not None), default=None)
    weight = vector_weight if found and most is not None else float(bool(found))
    blends: list[Blended] = []
    for cosine, bm25 in zip(cosines, words, strict=True):
        lexical = None if bm25 is None or most is None else bm25 / most
        score = weight * _between(cosine, found) + (1 - weight) * (lexical or 0.0)
        blends.append(Blended(score, lexical))
    return blends


def _between(value: float | None, window: Sequence[float]) -> float:
    if value is None:
        return 0.0
    low, high = min(window), max(window)
    return (value - low) / (high - low) if high > low else 1.0
