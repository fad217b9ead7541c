"""Words: the lexical search over SQLite's full-text index.

FTS5 finds which items of a scope share a term; our own BM25 ranks them by the statistics of that
scope alone, so that what other tenants store neither shows nor matters. Terms and scopes are
written as plain ASCII words, so that no query text is ever syntax.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from langgraph_fabric._bm25 import bm25
from langgraph_fabric._text import search_terms
from langgraph_fabric.store._values import after_prefix

_PORTION = 5_000
"""Items ranked by our own BM25 at once; more that share a term come in portions of this size, in
the order of FTS5's ranking."""
_MOST_TERMS = 100
"""Terms of a query that are searched: beyond a long paragraph more find nothing new, and FTS5
bounds the size of an expression."""

_LONGEST = 1_000
"""Bytes of a term that is kept as it is; FTS5 cuts what is longer than 32,768."""


def indexed_words(terms: Iterable[str]) -> str:
    """Return terms as the text the full-text index keeps."""
    return " ".join(_word(term) for term in terms)


def scope_words(ns: bytes) -> str:
    """Return one word for each prefix of an encoded namespace, the whole included."""
    ends = [i + 1 for i, byte in enumerate(ns) if byte == 0]
    return " ".join(_scope_word(ns[:end]) for end in [0, *ends])


def ranked(
    connection: sqlite3.Connection, prefix: bytes, query: str
) -> Iterator[tuple[int, float]]:
    """Yield the ids and BM25 scores of all items below a prefix that share a term, best first."""
    terms = list(dict.fromkeys(search_terms(query)))[:_MOST_TERMS]
    if not terms:
        return
    size, length = connection.execute(
        "SELECT COALESCE(SUM(texts), 0), COALESCE(SUM(terms), 0) FROM namespaces"
        " WHERE ns >= ? AND ns < ?",
        (prefix, after_prefix(prefix)),
    ).fetchone()
    words = [_word(term) for term in terms]
    for rows in _portions(connection, _match(prefix, words)):
        texts = [text.split() for _, text in rows]
        scores = bm25(words, texts, size=size, average_length=length / (size or 1))
        order = sorted(range(len(rows)), key=lambda i: (-scores[i], -rows[i][0]))
        yield from ((rows[i][0], scores[i]) for i in order)


def _portions(connection: sqlite3.Connection, match: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the rows that match, in one portion if they fit: FTS5 need not order those."""
    matching = "SELECT rowid, terms FROM words WHERE words MATCH ?"
    rows = connection.execute(f"{matching} LIMIT ?", (match, _PORTION + 1)).fetchall()
    if len(rows) <= _PORTION:
        yield rows
        return
    ordered = connection.execute(f"{matching} ORDER BY bm25(words)", (match,))
    while rows := ordered.fetchmany(_PORTION):
        yield rows


def _match(prefix: bytes, words: Sequence[str]) -> str:
    either = " OR ".join(f'"{word}"' for word in words)
    return f'scope : "{_scope_word(prefix)}" AND terms : ({either})'


def _word(term: str) -> str:
    """Return a term as ASCII; no two terms are one word, so codes are told from other `x` words."""
    is_plain = term.isascii() and term.isalnum() and not term.startswith("x")
    if is_plain and len(term) <= _LONGEST:
        return term
    code = term.encode(errors="replace")
    return f"x{code.hex()}" if len(code) <= _LONGEST else f"xx{hashlib.sha256(code).hexdigest()}"


def _scope_word(prefix: bytes) -> str:
    return f"s{hashlib.sha256(prefix).hexdigest()[:24]}"
