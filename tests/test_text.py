import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_fabric._text import (
    STOP_WORDS,
    estimate_tokens,
    search_terms,
    tokens,
)

ANY_TEXT = st.text(st.characters())  # lone surrogates too
WORDS = st.lists(
    st.sampled_from(["tea", "Oslo", "café", "straße", "いろは", "東京都", "книга", "8080"])
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("... ?!", []),
        ("Anna LIKES tea, tea.", ["anna", "likes", "tea", "tea"]),
        ("snake_case kebab-case", ["snake_case", "kebab", "case"]),
        ("C:\\repo\\a-b.py", ["c", "repo", "a", "b", "py"]),
        ("c++", ["c"]),
        ("AND OR NOT *", ["and", "or", "not"]),
        ("3f2504e0-4f89", ["3f2504e0", "4f89"]),
        ("Ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]),  # noqa: RUF001 - the point of the case
        ("Straße", ["strasse"]),
        ("cafe\u0301", ["caf\u00e9"]),
        ("東京都に住む", ["東京", "京都", "都に", "に住", "住む"]),
        ("猫", ["猫"]),
        ("Python入門", ["python", "入門"]),
        ("책을 읽다", ["책을", "읽다"]),
        ("हिन्दी", ["हिन्दी"]),
        ("exam\u00adple pass\u200bword", ["example", "password"]),
        ("I \u2764\ufe0f tea\U0001f389\U0001f389", ["i", "\u2764", "tea"] + ["\U0001f389"] * 2),
    ],
)
def test_s8_tokens_of(text, expected):
    assert tokens(text) == expected


@given(ANY_TEXT)
def test_any_text_has_tokens_and_terms(text):
    assert all(tokens(text))
    assert all(search_terms(text))
    assert bool(tokens(text)) == bool(search_terms(text))


@given(ANY_TEXT)
def test_tokens_of_tokens_are_the_same_tokens(text):
    once = tokens(text)
    assert tokens(" ".join(once)) == once


@given(WORDS, WORDS)
def test_tokens_keep_order_and_repetition(left, right):
    assert tokens(f"{' '.join(left)} {' '.join(right)}") == tokens(" ".join(left)) + tokens(
        " ".join(right)
    )


@given(ANY_TEXT)
def test_case_and_outer_space_do_not_matter(text):
    assert tokens(f"  {text.casefold()}\n") == tokens(text.casefold())


@pytest.mark.parametrize(
    "family",
    [
        "like likes liked liking",
        "run runs running",
        "study studies studied studying",
        "box boxes boxed boxing",
        "use uses used using",
        "go goes going",
        "hike hikes hiked hiking",
        "travel travels traveled travelled travelling",
        "class classes",
        "family families",
        "happy happily",
        "quick quickly",
        "die dies died",
        "café cafés cafe",
        "Zürich Zurich ZÜRICH",
        "meeting meetings meet",
    ],
)
def test_forms_of_one_word_meet(family):
    assert len({search_terms(form)[0] for form in family.split()}) == 1


@pytest.mark.parametrize("word", ["bus", "red", "ring", "string", "need", "status"])
def test_what_only_looks_like_an_ending_stays(word):
    assert search_terms(word) == [word]


def test_stop_words_find_nothing_unless_there_is_nothing_else():
    assert search_terms("Where is the tea of Anna's?") == ["tea", "anna"]
    assert search_terms("who is it") == ["who", "is", "it"]
    assert {"anna", "not", "no"}.isdisjoint(STOP_WORDS)


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("我住在北京。", "北京"),
        ("黒猫が好きです", "猫"),
        ("저는 책을 읽었다", "책"),
        ("ผมอยู่ที่กรุงเทพ", "กรุงเทพ"),
        ("The repo is at C:\\repo\\a-b.py", "C:\\repo\\a-b.py"),
        ("She writes C++ at work", "c++"),
        ("Logic words are AND, OR, NOT and *", "AND OR NOT *"),
        ("Ticket 3f2504e0-4f89-11d3-9a0c-0305e82c3301 is open", "3F2504E0-4F89-11D3-9A0C"),
        ("Renée opened a café in Zürich", "renee cafe zurich"),
        ("Party on Friday \U0001f389", "\U0001f389"),
        ("She \u2764\ufe0f jazz", "\u2764"),
        ("\u0130stanbul'da ya\u015f\u0131yor", "istanbul"),
    ],
)
def test_b61_a_query_meets_its_note(note, query):
    assert set(search_terms(query)) & set(search_terms(note))


def test_b61_a_query_of_ten_thousand_characters_is_taken_whole():
    query = "o\u00f9 habite Anna \u6771\u4eac \U0001f389 " * 500
    assert len(query) >= 10_000
    assert set(search_terms(query)) == set(search_terms(query[: len(query) // 500]))


@pytest.mark.parametrize(("text", "estimate"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2)])
def test_s23_a_token_is_about_four_characters(text, estimate):
    assert estimate_tokens(text) == estimate
