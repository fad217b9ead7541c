import unicodedata
from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_fabric._paths import (
    MAX_PATH_CHARS,
    MAX_SEGMENTS,
    folder_name,
    normalise_path,
    path_segments,
)
from langgraph_fabric.errors import FabricError, MemoryValidationError

NASTY = st.text(st.sampled_from("aA./\\:~ \0\n%é\u0301\u0338<=|*CONul1\u202e\ud800\u2028"))
FRAGMENTS = st.lists(
    st.sampled_from(["..", ".", "", "a", "a.md", "NUL", "C:", "é", "e\u0301", "~", " ", "x" * 90])
).map("/".join)
PATHS = st.one_of(NASTY, FRAGMENTS, st.text())


@pytest.mark.parametrize(
    ("given_path", "path"),
    [
        ("a.md", "a.md"),
        ("./a.md", "a.md"),
        ("a//b", "a/b"),
        ("a/./b/", "a/b"),
        (".hidden/x", ".hidden/x"),
        ("...a/b..c", "...a/b..c"),
        ("~/a", "~/a"),
        ("cafe\u0301.md", "caf\u00e9.md"),
        ("\U0001f469\u200d\U0001f4bb.md", "\U0001f469\u200d\U0001f4bb.md"),
        ("console.md", "console.md"),
        ("com10", "com10"),
        ("my nul.txt", "my nul.txt"),
    ],
)
def test_s164_the_forms_of_one_path_become_one(given_path, path):
    assert normalise_path(given_path) == path


REFUSED = {
    "empty": "",
    "blank": " \t",
    "no-break blank": "\u00a0",
    "the folder itself": "./.",
    "nul": "a\0.md",
    "newline": "a\nb",
    "delete": "a\x7f",
    "c1 control": "a\x85b",
    "line separator": "a\u2028b",
    "bidi override": "a\u202egm.d",
    "bidi isolate": "a\u2067b",
    "lone surrogate": "a\ud800",
    "absolute": "/etc/passwd",
    "two slashes": "//memories/x",
    "sibling": "/memories_backup/x",
    "up": "../mem2/x",
    "up inside": "a/../b",
    "up at the end": "a/..",
    "many dots": "a/.../b",
    "drive": "C:\\n\\a.md",
    "drive with slash": "C:/n/a.md",
    "drive-relative": "C:a.md",
    "stream": "a.md:secret",
    "backslash": "n\\a.md",
    "unc": "\\\\srv\\s\\x",
    "verbatim": "\\\\?\\C:\\x",
    "unc by slashes": "//srv/s/x",
    "device": "CON",
    "device folder": "aux/a.md",
    "device with extension": "nul.txt",
    "device with two": "Nul.tar.gz",
    "device, space, extension": "con .md",
    "numbered device": "COM1.md",
    "superscript device": "lpt².md",
    "console input": "CONIN$",
    "trailing dot": "a.",
    "trailing space": "a ",
    "trailing dot in a folder": "a./b",
    "long segment": "x" * 256,
    "long segment in bytes": "é" * 128,
    "deep": "/".join("a" * 65),
    "long": "ab/" * 1366,
    "long only as NFC": "\u0958" * 2049,
    "not a string": 7,
    "bytes": b"a",
    "none": None,
} | {f"windows {char}": f"a{char}b" for char in '<>:"|?*'}


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED.keys())
def test_s164_b52_what_some_system_reads_differently_is_refused(path):
    with pytest.raises(MemoryValidationError) as refusal:
        normalise_path(path, "link")
    assert refusal.value.field == "link"


def test_s164_limits_are_reached_exactly():
    deep = "/".join(["a"] * MAX_SEGMENTS)
    assert normalise_path(deep) == deep
    assert normalise_path("x" * 255) == "x" * 255
    wide = "/".join(["x" * 255] * 16)
    assert len(wide) == MAX_PATH_CHARS - 1
    assert normalise_path(wide) == wide


def test_b53_a_refusal_says_the_shape_and_not_the_path():
    with pytest.raises(MemoryValidationError) as refusal:
        normalise_path("../secret-plans")
    assert "secret-plans" not in str(refusal.value)


def test_the_folder_itself_has_no_segments():
    assert path_segments(".") == path_segments("././") == ()
    assert path_segments("a/b") == ("a", "b")


@settings(max_examples=10_000, deadline=None)
@given(PATHS)
def test_s164_a_path_is_refused_or_stays_below_its_root(path):
    try:
        normal = normalise_path(path)
    except FabricError:
        return
    assert normalise_path(normal) == normal
    assert unicodedata.is_normalized("NFC", normal)
    assert normal == PurePosixPath("/root", normal).relative_to("/root").as_posix()
    assert ".." not in PurePosixPath(normal).parts
    assert not PureWindowsPath(normal).anchor


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_s248_labels_that_differ_never_share_a_folder(label, more):
    for other in (label + more, label.swapcase(), more):
        if other and other != label:
            assert folder_name(label, "tenant").lower() != folder_name(other, "tenant").lower()


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_s248_a_folder_name_is_a_path_of_one_part(label):
    assert path_segments(folder_name(label, "tenant")) == (folder_name(label, "tenant"),)


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("ann-1_x", "ann-1_x"),
        ("Ann", "%41nn"),
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252%46b"),
        ("con", "%63on"),
        ("é", "%C3%A9"),
        ("e\u0301", "e%CC%81"),
    ],
)
def test_s248_labels_are_escaped(label, name):
    assert folder_name(label, "tenant") == name


def test_s248_a_long_label_still_has_a_folder_of_its_own():
    names = {folder_name("X" * length, "tenant") for length in range(80, 300)}
    assert len(names) == 220
    assert max(map(len, names)) <= 255


@pytest.mark.parametrize("label", ["", "\ud800"])
def test_s248_a_label_that_names_nobody_is_refused(label):
    with pytest.raises(MemoryValidationError, match=r"^tenant: "):
        folder_name(label, "tenant")
