"""Text: Unicode tokens, search terms, and an estimate of a model's tokens.

Two tokenisers with two purposes, never to be merged (reference S8): `tokens` decides whether two
texts say the same, word for word; `search_terms` decides what a query can find.
"""

import re
import sys
import unicodedata
from functools import cache

_ASCII_WORD = re.compile(r"\w+", re.ASCII)

_UNSEGMENTED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff"  # Hangul letters
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007"  # CJK radicals and marks
    "\u3040-\u31ff"  # Hiragana, Katakana, Bopomofo
    "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7af"  # Hangul syllables: spaced, but particles cling to the words
)
"""Scripts that put no space where a searcher would; their runs become character bigrams."""

_RUN = re.compile(rf"[{_UNSEGMENTED}]+|[^{_UNSEGMENTED}]+")
_IS_UNSEGMENTED = re.compile(rf"[{_UNSEGMENTED}]")

STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have he her his how i"
    " if in is it its me my of on or our she should so that the their them there they this to us was"
    " we were what when where which who whom why will with would you your".split()
)
"""English words that match everything and so find nothing."""

_SUFFIXES = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "ly", "es", "s")
_SHORTEST_STEM = 3


def estimate_tokens(text: str) -> int:
    """Return a model-independent token estimate: a quarter of the characters, rounded up (S23)."""
    return -(-len(text) // 4)


def tokens(text: str) -> list[str]:
    """Return the words of `text` in order: NFKC, case-folded; unsegmented scripts as bigrams.

    Combining marks stay with their letters; a pictograph is a word of its own.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    words = _word_pattern().findall(unicodedata.normalize("NFKC", text).casefold())
    return [piece for word in words for piece in _segment(word)]


def search_terms(text: str) -> list[str]:
    """Return what `text` can be found by: its tokens without stop words, accents and endings.

    Repetitions stay, so that a term's frequency can be counted. A text of stop words alone keeps
    them, so that it can be found at all.
    """
    words = tokens(text)
    telling = [word for word in words if word not in STOP_WORDS]
    return [_stem(_without_accents(word)) for word in telling or words]


def _segment(word: str) -> list[str]:
    if not _IS_UNSEGMENTED.search(word):
        return [word]
    pieces: list[str] = []
    for run in _RUN.findall(word):
        if len(run) == 1 or not _IS_UNSEGMENTED.match(run):
            pieces.append(run)
        else:
            pieces.extend(run[i : i + 2] for i in range(len(run) - 1))
    return pieces


def _without_accents(word: str) -> str:
    if word.isascii() or not unicodedata.name(word[0], "").startswith("LATIN"):
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _stem(word: str) -> str:
    """Strip one light English ending; both sides of a search are stripped alike."""
    if not word.isascii() or not word.isalpha():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            stem = word.removesuffix(suffix)
            if suffix in {"ied", "ies"}:
                return stem + "y"
            return stem if not stem.endswith("s") or suffix != "s" else word
    return word


@cache
def _word_pattern() -> re.Pattern[str]:
    """Return letters, digits and the marks that `\\w` leaves out, or one pictograph.

    Built on first need: it walks every code point once (about 0.1 s).
    """
    marks, pictographs = _ranges("M"), _ranges("So")
    return re.compile(rf"[\w{marks}]+|[{pictographs}]")


def _ranges(category: str) -> str:
    """Return the code points of a Unicode category as the inside of a character class."""
    spans: list[tuple[int, int]] = []
    for point in range(0x80, sys.maxunicode + 1):
        if not unicodedata.category(chr(point)).startswith(category):
            continue
        if spans and spans[-1][1] == point - 1:
            spans[-1] = (spans[-1][0], point)
        else:
            spans.append((point, point))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)
