"""Files of the tools: whose they are, and that a file and its note change together (S248, S256)."""

import pytest
from langchain_core.embeddings import Embeddings

from langgraph_fabric import MemoryFabric, MemoryLimitError, MemoryValidationError, Scope
from langgraph_fabric.embeddings import HashEmbeddings
from langgraph_fabric.store import ChromaStore

NAMES = ["view", "read", "insert", "recall", "forget"]


class Moody(Embeddings):
    """Embeds until it is told to fail."""

    def __init__(self) -> None:
        self._inner = HashEmbeddings(dims=16)
        self.fails = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise RuntimeError("no credit left")
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        return self._inner.embed_query(text)


@pytest.mark.parametrize("there", [True, False], ids=["append", "create"])
async def test_a_note_that_cannot_be_written_leaves_file_and_note_as_they_were_s256(
    use, root, clock, there
):
    moody = Moody()
    with ChromaStore.in_memory(index={"embed": moody, "dims": 16, "fields": ["text"]}) as store:
        fabric = MemoryFabric(store, scope=Scope("acme", "{user_id}"), clock=clock)
        args = {"path": "a.md", "_root": root}
        await use(fabric, "memory_view")  # leaves the gate open
        if there:
            await use(fabric, "memory_insert", text="First.", **args)
        before = [(i.key, i.value) for i in store.search((), limit=100)]
        moody.fails = True
        message = await use(fabric, "memory_insert", text="Second.", **args)
        assert message.status == "error"
        assert "credit" not in message.content
        assert [(i.key, i.value) for i in store.search((), limit=100)] == before
        files = [path for path in root.rglob("*") if path.is_file()]
        assert [path.read_text() for path in files] == (["First."] if there else [])
        moody.fails = False
        again = await use(fabric, "memory_insert", text="Second.", **args)
        assert again.artifact["bytes"] == (14 if there else 7)


async def test_a_file_that_would_be_too_large_leaves_file_and_note_as_they_were_s265(
    fabric, use, root, everything
):
    args = {"path": "a.md", "_root": root, "_options": {"max_file_bytes": 10}}
    await use(fabric, "memory_insert", text="First.", **args)
    before = everything()
    assert (await use(fabric, "memory_insert", text="Second.", **args)).status == "error"
    assert everything() == before
    assert (root / "acme/ann/a.md").read_text() == "First."


@pytest.mark.parametrize("text", ["", " \n"], ids=["empty", "blank"])
async def test_a_blank_text_is_refused_and_makes_no_folder(fabric, use, root, text):
    message = await use(fabric, "memory_insert", text=text, path="sub/a.md", _root=root)
    assert message.status == "error"
    assert message.content.startswith("text: ")
    assert not root.exists()


async def test_users_do_not_see_each_others_files_s248(fabric, use, root):
    await use(fabric, "memory_insert", text="of ann", path="a.md", _root=root)
    other = {"_user": "bob", "_root": root}
    assert (await use(fabric, "memory_read", path="a.md", **other)).artifact["found"] is False
    for path in ("../ann/a.md", "../ann"):
        assert (await use(fabric, "memory_view", path=path, **other)).status == "error"
    await use(fabric, "memory_insert", text="of bob", path="a.md", **other)
    assert (await use(fabric, "memory_read", path="a.md", _root=root)).content == "of ann"


@pytest.mark.parametrize("user", ["../ann", "/etc", "ANN", "a/../../x", ".."])
async def test_a_users_name_cannot_climb_or_meet_another_s248(fabric, use, root, user):
    await use(fabric, "memory_insert", text="of ann", path="a.md", _root=root)
    await use(fabric, "memory_insert", text="other", path="a.md", _root=root, _user=user)
    assert (root / "acme/ann/a.md").read_text() == "of ann"
    assert len([path for path in root.glob("*/*/a.md") if path.is_file()]) == 2


async def test_the_host_may_share_the_root_s248(fabric, use, root):
    shared = {"_root": root, "_options": {"shared_root": True}}
    await use(fabric, "memory_insert", text="for all", path="a.md", **shared)
    message = await use(fabric, "memory_read", path="a.md", _user="bob", **shared)
    assert message.content == "for all"
    assert (root / "a.md").read_text() == "for all"


def test_five_fresh_tools_in_order_with_the_chosen_prefix_s248(fabric):
    assert [tool.name for tool in fabric.tools()] == [f"memory_{name}" for name in NAMES]
    assert [tool.name for tool in fabric.tools(prefix="notes")] == [f"notes_{n}" for n in NAMES]
    assert fabric.tools()[0] is not fabric.tools()[0]


@pytest.mark.parametrize(
    ("root", "options", "error", "field"),
    [
        ("", {}, MemoryValidationError, "root"),
        (" ", {}, MemoryValidationError, "root"),
        (7, {}, MemoryValidationError, "root"),
        ("files", {"max_file_bytes": 0}, MemoryLimitError, "max_file_bytes"),
        ("files", {"max_file_bytes": 1_048_577}, MemoryLimitError, "max_file_bytes"),
        ("files", {"max_file_bytes": 1.5}, MemoryValidationError, "max_file_bytes"),
        ("files", {"max_file_bytes": True}, MemoryValidationError, "max_file_bytes"),
        (None, {"max_file_bytes": 0}, MemoryLimitError, "max_file_bytes"),
        (None, {"prefix": ""}, MemoryValidationError, "prefix"),
        (None, {"prefix": "my-memory"}, MemoryValidationError, "prefix"),
        (None, {"prefix": "m" * 57}, MemoryValidationError, "prefix"),
        (None, {"prefix": 7}, MemoryValidationError, "prefix"),
        (None, {"shared_root": "yes"}, MemoryValidationError, "shared_root"),
        (None, {"max_bytes": 5}, MemoryValidationError, "max_bytes"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_malformed_option_is_refused_when_the_tools_are_made_s249(
    fabric, root, options, error, field
):
    with pytest.raises(error, match=rf"^{field}: "):
        fabric.tools(root, **options)
