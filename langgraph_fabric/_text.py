"""Text: Unicode tokens, search terms, and an estimate of a model's tokens.

Two tokenisers with two purposes, never to be merged (reference S8): `tokens` keeps what a text
says, word for word; `search_terms` keeps what a query can find it by.
"""

import re
import unicodedata
from functools import lru_cache

_ASCII_WORD = re.compile(r"\w+", re.ASCII)

_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL = "\uac00-\ud7af"

_UNSEGMENTED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff"  # Hangul letters
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007"  # CJK radicals and marks
    "\u3040-\u31ff"  # Hiragana, Katakana, Bopomofo
    f"{_IDEOGRAPHS}"
    f"{_HANGUL}"  # spaced, but particles cling to the words
)
"""Scripts that put no space where a searcher would; their runs become character bigrams."""

_RUN = re.compile(f"[{_UNSEGMENTED}]+|[^{_UNSEGMENTED}]+")
_IS_UNSEGMENTED = re.compile(f"[{_UNSEGMENTED}]")
_BIGRAM_OF_WORDS = re.compile(f"[{_IDEOGRAPHS}{_HANGUL}]{{2}}")

STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can could did do does for from had has have he her his how i
    if in is it its me my of on or our she should so that the their them there they this to us was
    we were what when where which who whom why will with would you your
    ll re s t ve
    """.split()  # noqa: SIM905 - words read better as text
)
"""English words that match everything and so find nothing; the last line is what is left of
contractions. A longer list (about, after, just, not, some, very ...) costs a point of recall."""

_STEMMED_FROM = 4
"""Shorter words keep their ending: `bus`, `red` and `ing` are no inflections."""

_VOWELS = frozenset("aeiouy")


def estimate_tokens(text: str) -> int:
    """Return a model-independent token estimate: a quarter of the characters, rounded up (S23)."""
    return -(-len(text) // 4)


def tokens(text: str) -> list[str]:
    """Return the words of `text` in order: NFKC, case-folded; unsegmented scripts as bigrams.

    Combining marks stay with their letters, invisible characters vanish, and a pictograph is a word
    of its own. Any string is accepted, lone surrogates too.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    spaced = unicodedata.normalize("NFKC", text).casefold().translate(_SPACING)
    words = unicodedata.normalize("NFKC", spaced).split()
    return [piece for word in words for piece in _segment(word)]


def search_terms(text: str) -> list[str]:
    """Return what `text` can be found by: its tokens without stop words, accents and endings.

    Repetitions stay, so that a term's frequency can be counted. A text of stop words alone keeps
    them, so that it can be found at all. Chinese, Japanese and Korean characters stand beside their
    bigrams, since one alone may be the word that is looked for.
    """
    words = tokens(text)
    telling = [word for word in words if word not in STOP_WORDS] or words
    characters = [char for word in telling if _BIGRAM_OF_WORDS.fullmatch(word) for char in word]
    return [stem(word) for word in telling] + characters


class _Spacing(dict[int, str]):
    """A `str.translate` table that learns each code point when it is first met.

    The regular expression that says the same needs every mark and symbol of Unicode spelled out.
    """

    def __missing__(self, point: int) -> str:
        char = chr(point)
        self[point] = spaced = self._space(char, unicodedata.category(char))
        return spaced

    @staticmethod
    def _space(char: str, category: str) -> str:
        if category == "Cf" or "VARIATION SELECTOR" in unicodedata.name(char, ""):
            return ""
        if char.isalnum() or char == "_" or category.startswith("M"):
            return char
        return f" {char} " if category == "So" else " "


_SPACING = _Spacing()


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


@lru_cache(maxsize=65_536)  # the vocabulary of a large memory; an entry is about 200 bytes
def stem(word: str) -> str:
    plain = _without_accents(word)
    if len(plain) < _STEMMED_FROM or not (plain.isascii() and plain.isalpha()):
        return plain
    return _respelled(_without_ending(plain))


def _without_accents(word: str) -> str:
    if word.isascii() or not unicodedata.name(word[0], "").startswith("LATIN"):
        return word
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _without_ending(word: str) -> str:
    """Strip one English ending of number or tense; both sides of a search are stripped alike."""
    if word.endswith(("ies", "ied")):
        return word[:-1] if len(word) == _STEMMED_FROM else word[:-3] + "y"  # dies, studies
    if word.endswith(("ss", "us", "eed")):  # class, status, need
        return word
    for ending in ("ings", "ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 1 and not _VOWELS.isdisjoint(stem):
            is_short = len(stem) == 2 and stem[-1] not in _VOWELS  # noqa: PLR2004 - as it says
            return stem + "e" if is_short else stem  # us(ed) is use, go(es) is go
    return word


def _respelled(stem: str) -> str:
    """Undo what English spelling does to a stem before an ending: hiking, running, happily."""
    if stem[-1] == "y" and stem[-2] not in _VOWELS:
        stem = stem[:-1] + "i"
    if len(stem) > _STEMMED_FROM + 1:
        stem = stem.removesuffix("li")
    if len(stem) >= _STEMMED_FROM:
        stem = stem.removesuffix("e")
    if len(stem) >= _STEMMED_FROM and stem[-1] == stem[-2] and stem[-1] not in _VOWELS:
        stem = stem[:-1]
    return stem


def is_unicode(text: str) -> bool:
    """Tell whether a text can be stored: a lone surrogate, half of a character, has no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
