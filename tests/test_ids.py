import pytest

from langgraph_fabric._ids import is_memory_id, memory_id


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("fabric", "working", "core"), "c535472aceb7"),
        (("fabric", "working", "profile"), "6ffe107444ab"),
        (("s",), "db5bda0c50d9"),
        (("x",), "cd65ea2c2ad9"),
        (("User wants package-only memory.", ["m1"]), "467724123853"),
    ],
)
def test_s6_ids_equal_the_reference(parts, expected):
    assert memory_id(*parts) == expected
    assert is_memory_id(expected)


def test_the_borders_between_parts_count():
    assert memory_id("a", "b") != memory_id("ab") != memory_id(["a", "b"])


def test_text_outside_ascii_is_hashed_as_itself():
    assert is_memory_id(memory_id("東京", "\U0001f389"))
    assert memory_id("é") != memory_id("e\u0301")


@pytest.mark.parametrize(
    "value",
    [
        *("", "c535472aceb", "c535472aceb70", "c535472aceb7\n", 12, None),
        *("C535472ACEB7", "g535472aceb7", "\u0661" * 12),
    ],
)
def test_s5_nothing_else_is_an_id(value):
    assert not is_memory_id(value)
