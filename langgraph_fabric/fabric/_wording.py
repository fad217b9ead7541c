"""What a text says, in a form in which two texts can be compared word for word."""

import re
import unicodedata

from langgraph_fabric import _text

_SYMBOLS = {
    "+": "plus",
    "#": "hash",
    "%": "percent",
    "<": "less",
    ">": "greater",
    "=": "equals",
    "?": "question",
    "$": "dollar",
    "\u20ac": "euro",
    "\u00a3": "pound",
    "\u00a5": "yen",
}
_SPELLED = str.maketrans(
    {symbol: f" {name} " for symbol, name in _SYMBOLS.items()}
    | dict.fromkeys("\u2018\u2019\u02bc", "'")
)
_REWRITTEN = (
    (re.compile(r"\bcan(?:no|')t\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"(?<=\d)[.,:](?=\d)"), "_"),  # keeps 3.5 one token, which "3-5" is not
    (re.compile(r"(?<!\S)[-\u2212](?=\d)"), "minus "),
)
_WORD_START = re.compile(r"(?<!\w)[^\W\d_]\w*")


def words(text: str) -> list[str]:
    """Return the tokens of `text` that tell whether another text says the same.

    Beyond `_text.tokens`, `n't` is `not`, numbers keep their points, and symbols are spelled out
    where they matter: C is not C++, 5 is not 5 %, a question states nothing.
    """
    spelled = unicodedata.normalize("NFKC", text).translate(_SPELLED)
    for pattern, replacement in _REWRITTEN:
        spelled = pattern.sub(replacement, spelled)
    return _text.tokens(spelled)


def folding_key(text: str) -> str:
    """Return a key that two texts share exactly when they say the same in the same words.

    Case, spacing, hyphens, other punctuation and contractions do not matter; order and repetition
    do. A text without a single word shares its key only with the identical text (reference S183).
    As long as the text: hash it before it becomes part of an id.
    """
    return " ".join(words(text)) or f":{text}"  # no token holds a colon


def names(text: str) -> frozenset[str]:
    """Return the capitalised words of `text` as tokens; the first word is one of them."""
    return frozenset(
        token
        for word in _WORD_START.findall(text)
        if word[0].isupper()
        for token in _text.tokens(word)
    )
