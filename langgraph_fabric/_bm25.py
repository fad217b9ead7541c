"""BM25, the lexical score of a text for a query.

Formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
with the idf kept positive by adding one inside the logarithm, as Lucene does.
"""

import math
from collections import Counter
from collections.abc import Sequence

K1 = 1.0
B = 0.4
"""Measured on conversation turns: short texts repeat little, and their lengths mean little."""


def bm25(
    query: Sequence[str], texts: Sequence[Sequence[str]], *, size: int, average_length: float
) -> list[float]:
    """Return the score of each text; 0.0 where no term is shared.

    Args:
        query: The query's terms; repetitions count once.
        texts: The terms of every text that shares a term with the query, and of others if wanted.
        size: How many texts the collection holds, matching or not.
        average_length: Their mean number of terms.
    """
    counts = [Counter(terms) for terms in texts]
    scores = [0.0] * len(texts)
    for term in dict.fromkeys(query):
        holders = sum(1 for count in counts if term in count)
        idf = math.log(1 + (size - holders + 0.5) / (holders + 0.5))
        for i, count in enumerate(counts):
            if frequency := count[term]:
                length = 1 - B + B * len(texts[i]) / (average_length or 1)
                scores[i] += idf * frequency * (K1 + 1) / (frequency + K1 * length)
    return scores
