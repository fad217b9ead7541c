import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_fabric.fabric.consolidate import folding_key, guard

ANY_TEXT = st.text(st.characters())  # lone surrogates too


def cases(table):
    return [tuple(line.strip().split(" | ")) for line in table.strip().splitlines()]


@pytest.mark.parametrize(
    ("old", "new"),
    cases("""
    Caroline is kind | Caroline is brave
    Alice is German | Alice is Jewish
    Alice Smith is German | Alice Smith is Jewish
    Alice is a nurse | Alice is a mother
    Alice is in a meeting | Alice is in a hurry
    Alice lives in Oslo | Alice lives in a small flat
    Alice works on parsers | Alice works on compilers
    Alice works with Dan | Alice works with Erin
    Alice works as a nurse | Alice works at Google
    User prefers short answers | User prefers formal answers
    User prefers Firefox | User prefers Ubuntu
    Alice is reading Dune | Alice is reading Emma
    Alice is planning a trip on Friday | Alice is planning a trip on Monday
    Alice has yoga at 10 | Alice has yoga at 11
    Ticket 41 is about login | Ticket 42 is about login
    See ticket 41 about login | See ticket 42 about login
    The server 3 runs Postgres | The server 4 runs Postgres
    The meeting on 3 May is about budgets | The meeting on 10 May is about budgets
    Alice's sister is Carol | Alice's sister is Dana
    One of Bob's managers is Carol | One of Bob's managers is Dana
    A favourite dish of Bob is ramen | A favourite dish of Bob is pizza
    The staging database is Postgres | The staging database is slow
    The walls are white | The walls are grey
    Alice has a red car | Alice has a blue car
    Alice is not married | Alice is not single
    Alice likes tea | Alice likes tea ceremonies
    Melanie has a dog | Melanie has a dog collar
    John does not only like tea | John only likes tea
    Alice likes Bob, not Carol | Alice likes Carol, not Bob
    Bob was born in Paris | Bob was born in Rome
    Alice visited Rome in 2019 | Alice visited Rome in 2020
    Alice attended the group | Alice did not attend the group
    Anna is happy | Anna is happy when it rains
    Bob can swim | Bob can swim if it is warm
    The service is up when healthy | The service is not up when healthy
    Alice does not like tea | Alice does not like tea with milk
    Bob has 2 cats | Bob has 3 dogs
    The name of the dog is Rex | The name of the cat is Tom
    """),
)
def test_texts_that_can_both_be_true_stand_in_either_order(old, new):
    assert guard(old, new) is None
    assert guard(new, old) is None


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    cases("""
    Anna lives in Oslo | Anna lives in Bern | changed-value
    I live in Oslo | I live in Bern | changed-value
    I am 34 years old | I am 35 years old | changed-value
    My favourite food is pizza | My favourite food is ramen | changed-value
    Bob's boss is Carol | Bob's boss is Dan | changed-value
    Bob works as a nurse | Bob works as a teacher | changed-value
    The meeting is on Friday | The meeting is on Monday | changed-value
    The deadline is 3 May | The deadline is 10 June | changed-value
    The rent is 1200 euros | The rent is 1,350 euros | changed-value
    The timeout is 30 seconds | The timeout is 60 seconds | changed-value
    Alice is single | Alice is married | changed-value
    The shop is open | The shop is closed | changed-value
    I am vegetarian | I am not vegetarian | polarity
    We don't deploy on Fridays | We deploy on Fridays | polarity
    User wants emails | User doesn't want emails | polarity
    Bob can drive | Bob cannot drive | polarity
    User lives in Oslo | User lives in Oslo with two cats | refinement
    User prefers metric units | User prefers metric units and Celsius | refinement
    """),
)
def test_a_text_ends_another(old, new, verdict):
    assert guard(old, new) == verdict


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Der Mietpreis ist 1200 Euro", "Der Mietpreis ist 1350 Euro", "changed-value"),
        ("Anna wohnt in Oslo", "Anna wohnt in Bern", None),
        ("Die Rechnung 1041 ist bezahlt", "Die Rechnung 1042 ist bezahlt", None),
    ],
)
def test_of_an_unread_language_only_a_changed_number_counts(old, new, verdict):
    assert guard(old, new, "de") == verdict


@given(ANY_TEXT, ANY_TEXT)
def test_any_two_texts_have_a_verdict_and_a_text_never_ends_itself(old, new):
    guard(old, new)
    assert guard(old, old) is None


@given(ANY_TEXT)
def test_a_folding_key_does_not_see_case_and_outer_space(text):
    if not folding_key(text).startswith(":"):
        assert folding_key(f" {text}\n") == folding_key(text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Alice lives in Paris.", "alice  lives in PARIS"),
        ("dark mode", "dark-mode!"),
        ("Don't email Bob", "Do not email Bob"),
        ("Don't email Bob", "don\u2019t email Bob"),
        ("She can't come", "She cannot come"),
        ("He won't", "He will not"),
        ("Stra\u00dfe", "STRASSE"),
        ("cafe\u0301", "caf\u00e9"),
        ("3,5 %", "3.5%"),
    ],
)
def test_texts_that_say_the_same_fold(left, right):
    assert folding_key(left) == folding_key(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("User writes C", "User writes C++"),
        ("The tax is 5", "The tax is 5%"),
        ("It costs 5 \u20ac", "It costs 5 $"),
        ("The build takes 3-5 days", "The build takes 3.5 days"),
        ("It is -5 outside", "It is 5 outside"),
        ("Deploys on Friday are allowed", "Deploys on Friday are allowed?"),
        ("Anna met Bob", "Bob met Anna"),
        ("very very good", "very good"),
        ("\u0928\u093e", "\u0928\u0940"),  # two Hindi words that differ in a vowel sign
        ("\u6771\u4eac", "\u4eac\u90fd"),
        ("", " "),
        ("...", "!"),
        ("\U0001f389", "\U0001f98a"),
    ],
)
def test_texts_that_say_something_else_do_not_fold(left, right):
    assert folding_key(left) != folding_key(right)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user lives in Aarhus in winter", "The user lives in Odense in summer"),
        ("Anna works at Acme on Mondays", "Anna works at Globex on Fridays"),
    ],
)
def test_values_with_circumstances_of_their_own_stand_beside_each_other(old, new):
    assert guard(old, new) is None
    assert guard(new, old) is None
