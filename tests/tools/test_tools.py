"""What the five tools answer (S248-S266 and section 8, Tools, as the rulings amend them)."""

import pytest

from langgraph_fabric import MemoryFabric, MemoryLimits, Scope

NO_ROOT = {"found": False, "reason": "no_root"}
NOT_FOUND = {"found": False, "reason": "not_found"}
HELLO = "The trip begins in Oslo."


@pytest.fixture
def mine(root):
    """Return ann's folder below the root."""
    folder = root / "acme" / "ann"
    folder.mkdir(parents=True)
    return folder


async def test_view_lists_files_with_their_bytes_and_folders_in_order_s252(fabric, use, root, mine):
    (mine / "sub").mkdir()
    (mine / "a.txt").write_text("0123456789")
    message = await use(fabric, "memory_view", _root=root)
    assert message.content == "a.txt (10 bytes)\nsub/"
    assert message.artifact == {
        "found": True,
        "path": ".",
        "entries": [
            {"name": "a.txt", "kind": "file", "bytes": 10},
            {"name": "sub", "kind": "directory"},
        ],
        "truncated": False,
    }
    assert (await use(fabric, "memory_view", path="sub", _root=root)).content == "sub is empty."


async def test_view_says_when_a_folder_has_more_than_200_entries_s252(fabric, use, root, mine):
    for number in range(201):
        (mine / f"{number:03}.md").touch()
    message = await use(fabric, "memory_view", _root=root)
    assert message.artifact["truncated"] is True
    assert len(message.artifact["entries"]) == 200
    assert message.content.endswith("\nOnly the first 200 entries are shown.")


async def test_read_shows_a_file_up_to_its_cap_s253(fabric, use, root, mine):
    (mine / "a.txt").write_text("0123456789")
    small = {"_root": root, "_options": {"max_file_bytes": 4}}
    message = await use(fabric, "memory_read", path="a.txt", **small)
    assert message.artifact == {
        "found": True,
        "path": "a.txt",
        "text": "0123",
        "bytes": 10,
        "truncated": True,
    }
    assert message.content == "0123\n[Cut: the first 4 of 10 bytes.]"
    whole = await use(fabric, "memory_read", path="a.txt", _root=root)
    assert (whole.content, whole.artifact["truncated"]) == ("0123456789", False)


async def test_what_is_not_there_is_not_found_and_looking_creates_nothing_s266(fabric, use, root):
    for name in ("memory_view", "memory_read"):
        assert (await use(fabric, name, path="no.md", _root=root)).artifact == NOT_FOUND
    assert not root.exists()


@pytest.mark.parametrize(
    ("name", "args"),
    [("view", {}), ("read", {"path": "a.md"}), ("insert", {"text": "x", "path": "a.md"})],
    ids=["view", "read", "insert"],
)
async def test_files_without_a_root_are_refused_s250(fabric, use, name, args):
    assert (await use(fabric, f"memory_{name}", **args)).artifact == NO_ROOT


async def test_an_insert_makes_the_file_then_appends_on_a_new_line_s265(fabric, use, root, mine):
    first = await use(fabric, "memory_insert", text=HELLO, path="notes/trip.md", _root=root)
    assert first.artifact == {
        "found": True,
        "path": "notes/trip.md",
        "bytes": 24,
        "note_truncated": False,
    }
    second = await use(
        fabric, "memory_insert", text="Then Bergen.", path="notes/trip.md", _root=root
    )
    assert second.artifact["bytes"] == 37
    assert (mine / "notes/trip.md").read_text() == f"{HELLO}\nThen Bergen."
    (hit,) = fabric.at(user_id="ann").recall("Oslo trip").hits
    assert (hit.kind, hit.note.path) == ("file", "notes/trip.md")
    assert hit.content == f"{HELLO}\nThen Bergen."


async def test_a_long_file_is_recalled_by_its_beginning_and_the_answer_says_so_s255(
    store, use, root, clock
):
    limits = MemoryLimits(max_entry_text_chars=24)
    fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"), limits=limits, clock=clock)
    message = await use(fabric, "memory_insert", text=f"{HELLO} More.", path="a.md", _root=root)
    assert message.artifact["note_truncated"] is True
    (hit,) = fabric.at(user_id="ann").recall("Oslo trip").hits
    assert hit.content == HELLO


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "link/x.md", "link", ""])
@pytest.mark.parametrize("name", ["view", "read", "insert"])
async def test_a_path_that_leads_out_is_refused_and_nothing_is_touched_s262_s263(
    fabric, use, root, mine, everything, tmp_path, name, path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("canary")
    (mine / "link").symlink_to(outside)
    await use(fabric, "memory_recall", query="anything")  # leaves the gate open
    before = everything()
    args = {"path": path} | ({"text": "overwritten"} if name == "insert" else {})
    message = await use(fabric, f"memory_{name}", **args, _attach=False, _root=root)
    assert message.status == "error"
    assert message.content.startswith("path: ")
    assert str(tmp_path) not in message.content
    assert (everything(), [f.name for f in outside.iterdir()]) == (before, ["x.md"])
    assert (outside / "x.md").read_text() == "canary"


async def test_a_block_grows_line_by_line_and_stays_when_it_would_be_too_long(
    store, use, clock, everything
):
    limits = MemoryLimits(max_entry_text_chars=32)
    fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"), limits=limits, clock=clock)
    first = await use(fabric, "memory_insert", text="likes tea", block="profile")
    assert first.artifact == {"found": True, "block": "profile", "created": True, "chars": 9}
    second = await use(fabric, "memory_insert", text="likes coffee", block="profile")
    assert second.artifact == {"found": True, "block": "profile", "created": False, "chars": 22}
    before = everything()
    third = await use(fabric, "memory_insert", text="likes water", block="profile")
    assert third.status == "error"
    assert everything() == before
    assert fabric.at(user_id="ann").blocks()[0].content == "likes tea\nlikes coffee"


@pytest.mark.parametrize("places", [(), ("kind", "block"), ("kind", "path"), ("block", "path")])
async def test_an_insert_has_exactly_one_place_s254(fabric, use, root, places):
    values = {"kind": "fact", "block": "profile", "path": "a.md"}
    args = {name: values[name] for name in places}
    message = await use(fabric, "memory_insert", text="likes tea", **args, _root=root)
    assert message.status == "error"
    assert "Give exactly one of them" in message.content
    assert not root.exists()


async def test_an_insert_says_what_became_of_the_note(fabric, use):
    async def insert(text):
        return (await use(fabric, "memory_insert", text=text, kind="fact")).artifact

    first = await insert("User prefers metric units")
    assert first["action"] == "insert"
    again = await insert("User prefers metric units.")
    assert (again["action"], again["id"]) == ("fold", first["id"])
    changed = await use(
        fabric, "memory_insert", text="User prefers metric units and Celsius", kind="fact"
    )
    assert changed.artifact["action"] == "supersede"
    assert changed.content == (
        f"Kept as {changed.artifact['id']}; it takes the place of {first['id']}."
    )


async def test_recall_shows_a_line_a_note_and_the_whole_answer_as_artifact_s257(fabric, use, root):
    memory = fabric.at(user_id="ann")
    note = memory.remember(kind="fact", content="User drinks green tea" + " indeed" * 60)
    await use(fabric, "memory_insert", text="Tea shops of Oslo", path="tea.md", _root=root)
    message = await use(fabric, "memory_recall", query="green tea")
    found = memory.recall("green tea")
    fact, file = sorted(message.content.split("\n"), key=lambda line: "[file]" in line)
    scores = {hit.kind: f"{hit.score:.3f}" for hit in found.hits}
    assert fact == f"{note.id} [fact] score={scores['fact']} {note.note.content[:400]}"
    assert file.endswith(f" [file] path=tea.md score={scores['file']} Tea shops of Oslo")
    assert [hit["id"] for hit in message.artifact["hits"]] == [hit.id for hit in found.hits]
    assert message.artifact["explain"] == list(found.explain)
    assert message.artifact["coverage"] == dict(found.coverage)
    assert note.note.content in [hit["content"] for hit in message.artifact["hits"]]


async def test_recall_of_nothing_says_so(fabric, use):
    message = await use(fabric, "memory_recall", query="tea")
    assert (message.content, message.artifact["found"]) == ("No notes matched.", False)


async def test_forgetting_twice_deletes_once_s258(fabric, use):
    note = fabric.at(user_id="ann").remember(kind="fact", content="Likes tea")
    first = (await use(fabric, "memory_forget", id=note.id)).artifact
    second = (await use(fabric, "memory_forget", id=note.id)).artifact
    assert (first["found"], first["deleted"]) == (True, 1)
    assert (second["found"], second["deleted"]) == (False, 0)


async def test_a_hold_deletes_nothing_and_hides_the_note_s258(fabric, use):
    note = fabric.at(user_id="ann").remember(kind="fact", content="Likes tea")
    held = (await use(fabric, "memory_forget", id=note.id, hold=True)).artifact
    assert (held["found"], held["deleted"], held["held"]) == (True, 0, True)
    assert not fabric.at(user_id="ann").recall("tea").hits


@pytest.mark.parametrize(
    "args",
    [{}, {"id": "a" * 12, "block": "b"}, {"id": "ABC"}, {"block": "b", "hold": True}],
    ids=["neither", "both", "bad-id", "held-block"],
)
async def test_a_forget_names_one_thing_s258(fabric, use, args):
    assert (await use(fabric, "memory_forget", **args)).status == "error"
