import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import langgraph_fabric.tools._descriptors as descriptors
from langgraph_fabric.errors import (
    FabricError,
    MemoryConflictError,
    MemoryLimitError,
    MemoryValidationError,
    StoreUnavailableError,
)
from langgraph_fabric.tools._descriptors import STAGE_NAME
from langgraph_fabric.tools._listing import Entry, Listing
from langgraph_fabric.tools.jail import FileJail, FileText

CANARY = "canary-7f3a"
NOBODY = 65534

OPERATIONS = {
    "view": lambda jail, path: jail.view(path),
    "read": lambda jail, path: jail.read(path),
    "append": lambda jail, path: jail.append(path, CANARY),
    "stage": lambda jail, path: jail.stage_append(path, CANARY),
}
every_operation = pytest.mark.parametrize("call", OPERATIONS.values(), ids=OPERATIONS.keys())
file_operation = pytest.mark.parametrize("call", list(OPERATIONS.values())[1:3], ids=["r", "w"])


@pytest.fixture
def outside(tmp_path):
    """Return a folder beside the root, with a file that must be neither read nor changed."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.md").write_text(CANARY)
    return folder


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def jail(root):
    return FileJail(root)


def tree(folder):
    """Return every path below a folder, with the content of its files."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def leftovers(folder):
    return list(folder.rglob(STAGE_NAME))


def in_another_process(code, *args):
    """Start Python with `code`, able to import this package."""
    home = str(Path(descriptors.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        env={**os.environ, "PYTHONPATH": home},
        stdout=subprocess.PIPE,
        text=True,
    )


class TestOptions:
    @pytest.mark.parametrize("root", ["", " ", "a\0b", None, 7, b"notes"])
    def test_s249_a_root_that_is_no_path_is_refused(self, root):
        with pytest.raises(MemoryValidationError, match=r"^root: "):
            FileJail(root)

    @pytest.mark.parametrize("size", [0, -1, 1024 * 1024 + 1])
    def test_s249_a_cap_outside_its_limits_is_refused(self, size):
        with pytest.raises(MemoryLimitError, match=r"^max_file_bytes: "):
            FileJail("notes", max_file_bytes=size)

    @pytest.mark.parametrize("size", [1.5, "7", True, None])
    def test_s249_a_cap_that_is_no_integer_is_refused(self, size):
        with pytest.raises(MemoryValidationError, match=r"^max_file_bytes: "):
            FileJail("notes", max_file_bytes=size)

    def test_s260_the_default_cap_is_50_kib_and_the_hard_one_1_mib(self):
        assert FileJail("notes").max_file_bytes == 51_200
        assert FileJail("notes", max_file_bytes=1_048_576).max_file_bytes == 1_048_576

    def test_construction_and_looking_touch_nothing(self, tmp_path):
        jail = FileJail(tmp_path / "new").inside("acme", "u1")
        assert jail.view() is None
        assert jail.read("a.md") is None
        assert jail.recover() == 0
        assert tree(tmp_path) == {}

    def test_without_descriptors_the_jail_refuses_rather_than_guess(self, jail, monkeypatch):
        monkeypatch.setattr(descriptors, "CAN_OPEN_BY_DESCRIPTOR", False)
        for call in OPERATIONS.values():
            with pytest.raises(StoreUnavailableError, match=r"^root: "):
                call(jail, "a.md")


class TestUsers:
    def test_s248_a_user_has_a_folder_of_its_own(self, root, jail):
        jail.inside("acme", "Ann/x").append("a.md", "hers")
        assert tree(root) == {
            "acme": None,
            "acme/%41nn%2Fx": None,
            "acme/%41nn%2Fx/a.md": b"hers",
        }

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (("acme", "ann"), ("acme", "Ann")),
            (("a", "b/c"), ("a/b", "c")),
            (("acme", "é"), ("acme", "e\u0301")),
            (("acme", "x" * 300), ("acme", "x" * 301)),
            (("..", ".."), ("...", "...")),
            (("acme", "con"), ("acme", "%63on")),
        ],
    )
    def test_s248_users_never_share_a_folder(self, jail, one, other):
        jail.inside(*one).append("a.md", CANARY)
        assert jail.inside(*other).read("a.md") is None
        assert jail.inside(*one).read("a.md").text == CANARY

    def test_s248_an_empty_label_is_refused(self, jail):
        with pytest.raises(MemoryValidationError, match=r"^resource: "):
            jail.inside("acme", "")

    def test_a_users_folder_that_became_a_link_is_refused(self, jail, root, outside):
        (root / "acme").mkdir()
        (root / "acme" / "u1").symlink_to(outside)
        with pytest.raises(MemoryValidationError):
            jail.inside("acme", "u1").read("secret.md")

    def test_the_hosts_root_may_be_a_link(self, tmp_path, root):
        (tmp_path / "link").symlink_to(root)
        FileJail(tmp_path / "link").append("a.md", "x")
        assert tree(root) == {"a.md": b"x"}


class TestView:
    def test_s252_lists_files_with_sizes_and_folders_sorted_by_name(self, jail, root):
        (root / "b").mkdir()
        (root / "a.md").write_text("é")
        (root / "Z.md").touch()
        assert jail.view() == Listing(
            ".",
            (Entry("Z.md", "file", 0), Entry("a.md", "file", 2), Entry("b", "directory", None)),
            truncated=False,
        )
        assert jail.view("./b/") == Listing("b", (), truncated=False)

    @pytest.mark.parametrize(("count", "truncated"), [(200, False), (201, True)])
    def test_s252_lists_the_first_200_entries(self, jail, root, count, truncated):
        for number in range(count):
            (root / f"{number:03}.md").touch()
        listing = jail.view()
        assert [entry.name for entry in listing.entries] == [f"{n:03}.md" for n in range(200)]
        assert listing.truncated is truncated

    def test_s252_links_and_special_files_are_omitted(self, jail, root, outside):
        (root / "file").symlink_to(outside / "secret.md")
        (root / "folder").symlink_to(outside)
        (root / "dangling").symlink_to(root / "nothing")
        os.mkfifo(root / "pipe")
        assert jail.view().entries == ()

    @pytest.mark.parametrize("name", [b"a\nb", b"\xff", b"a\\b", "a\u2028b".encode(), b"nul.txt"])
    def test_names_that_no_path_can_hold_are_omitted(self, jail, root, name):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).touch()
        assert jail.view().entries == ()

    def test_s266_a_missing_folder_is_none_and_is_not_made(self, jail, root):
        assert jail.view("a/b") is None
        assert tree(root) == {}

    def test_b53_a_file_is_no_folder(self, jail, root):
        (root / "a.md").touch()
        with pytest.raises(MemoryValidationError, match=r"^path: "):
            jail.view("a.md")


class TestRead:
    def test_s253_returns_text_and_size(self, jail, root):
        (root / "a.md").write_text("é\n")
        assert jail.read("./a.md") == FileText("a.md", "é\n", 3, truncated=False)

    @pytest.mark.parametrize(
        ("cap", "text", "truncated"),
        [
            (1, "a", True),
            (2, "a", True),
            (3, "aé", True),
            (6, "aé", True),
            (7, "aé\U0001f600", False),
        ],
    )
    def test_s253_the_cut_is_on_a_character_boundary(self, root, cap, text, truncated):
        (root / "a.md").write_text("aé\U0001f600")
        assert FileJail(root, cap).read("a.md") == FileText("a.md", text, 7, truncated)

    def test_s253_a_missing_file_or_folder_is_none(self, jail, root):
        assert jail.read("a.md") is None
        assert jail.read("b/c/a.md") is None
        assert tree(root) == {}

    @pytest.mark.parametrize("data", [b"\xff\xfe", b"ok \xc3", b"\xed\xa0\x80"])
    def test_b53_a_file_that_is_not_utf8_is_refused(self, jail, root, data):
        (root / "a.md").write_bytes(data)
        with pytest.raises(MemoryValidationError, match=r"^path: .*UTF-8"):
            jail.read("a.md")

    def test_b53_a_folder_is_no_file(self, jail, root):
        (root / "a").mkdir()
        with pytest.raises(MemoryValidationError, match=r"^path: .*folder"):
            jail.read("a")


class TestAppend:
    def test_s265_makes_the_file_and_its_folders(self, jail, root):
        assert jail.append("a/./b//c.md", "é") == 2
        assert tree(root) == {"a": None, "a/b": None, "a/b/c.md": "é".encode()}

    def test_s265_a_text_starts_on_a_line_of_its_own(self, jail, root):
        assert jail.append("a.md", "one") == 3
        assert jail.append("a.md", "two") == 7
        assert jail.append("a.md", "\nthree") == 13
        assert (root / "a.md").read_text() == "one\ntwo\nthree"

    def test_s265_an_empty_file_gets_no_newline(self, jail, root):
        (root / "a.md").touch()
        assert jail.append("a.md", "one") == 3

    @pytest.mark.parametrize("text", ["", None, 7, b"x", "a\ud800"])
    def test_s265_a_text_that_is_none_is_refused_and_nothing_made(self, jail, root, text):
        with pytest.raises(MemoryValidationError, match=r"^text: "):
            jail.append("b/a.md", text)
        assert tree(root) == {}

    def test_s265_nothing_is_written_over_the_cap(self, root):
        jail = FileJail(root, max_file_bytes=7)
        assert jail.append("a.md", "one") == 3
        with pytest.raises(MemoryLimitError, match=r"^text: "):
            jail.append("a.md", "four")
        with pytest.raises(MemoryLimitError, match=r"^text: "):
            jail.append("b/c.md", "12345678")
        assert jail.append("a.md", "two") == 7
        assert tree(root) == {"a.md": b"one\ntwo"}

    def test_s265_a_file_that_is_too_large_already_does_not_grow(self, root):
        (root / "a.md").write_bytes(b"\xff" * 100)
        with pytest.raises(MemoryLimitError):
            FileJail(root, max_file_bytes=10).append("a.md", "x")

    def test_b53_a_file_that_is_not_utf8_is_not_extended(self, jail, root):
        (root / "a.md").write_bytes(b"\xff")
        with pytest.raises(MemoryValidationError, match=r"^path: .*UTF-8"):
            jail.append("a.md", "x")
        assert tree(root) == {"a.md": b"\xff"}

    def test_the_root_is_made_on_the_first_write(self, tmp_path):
        FileJail(tmp_path / "x" / "y").append("a.md", "z")
        assert (tmp_path / "x" / "y" / "a.md").read_text() == "z"

    def test_new_files_are_private_and_others_keep_their_mode(self, jail, root):
        jail.append("b/new.md", "x")
        (root / "old.md").touch()
        (root / "old.md").chmod(0o640)
        jail.append("old.md", "x")
        assert (root / "b").stat().st_mode & 0o777 == 0o700
        assert (root / "b" / "new.md").stat().st_mode & 0o777 == 0o600
        assert (root / "old.md").stat().st_mode & 0o777 == 0o640


class TestStage:
    def test_s256_nothing_changes_before_commit(self, jail, root):
        jail.append("a.md", "one")
        with jail.stage_append("./a.md", "two") as staged:
            assert (staged.path, staged.content, staged.bytes) == ("a.md", "one\ntwo", 7)
            assert jail.read("a.md").text == "one"
            assert [entry.name for entry in jail.view().entries] == ["a.md"]
            assert staged.commit() == 7
        assert tree(root) == {"a.md": b"one\ntwo"}

    def test_s256_what_is_not_committed_is_discarded(self, jail, root):
        jail.append("a.md", "one")
        with pytest.raises(ZeroDivisionError), jail.stage_append("a.md", "two"):
            raise ZeroDivisionError
        assert tree(root) == {"a.md": b"one"}
        assert jail.append("a.md", "three") == 9

    def test_discard_can_be_repeated_and_commit_cannot(self, jail):
        staged = jail.stage_append("a.md", "one")
        staged.commit()
        staged.discard()
        for ended in (staged, discarded(jail)):
            ended.discard()
            with pytest.raises(MemoryConflictError, match="no longer staged"):
                ended.commit()
        assert jail.read("a.md").text == "one"

    def test_a_stage_that_was_dropped_lets_go_of_its_folder(self, jail):
        jail.stage_append("a.md", "lost")
        assert jail.append("a.md", "kept") == 4

    def test_a_second_write_waits_and_then_gives_up(self, jail, root, monkeypatch):
        monkeypatch.setattr(descriptors, "LOCK_WAIT_SECONDS", 0.02)
        with jail.stage_append("a.md", "one") as staged:
            with pytest.raises(MemoryConflictError, match=r"^path: "):
                jail.append("a.md", "two")
            assert FileJail(root / "b").append("c.md", "elsewhere") == 9
            staged.commit()
        assert jail.append("a.md", "two") == 7

    def test_recover_leaves_a_living_stage_alone(self, jail):
        with jail.stage_append("b/a.md", "one") as staged:
            assert jail.recover() == 0
            assert staged.commit() == 3
        assert jail.read("b/a.md").text == "one"

    def test_s256_a_killed_write_leaves_the_file_and_recover_cleans_up(self, jail, root):
        jail.inside("acme", "u1").append("b/c/a.md", "one")
        code = """if True:
            import os, signal, sys
            from langgraph_fabric.tools.jail import FileJail
            staged = FileJail(sys.argv[1]).inside("acme", "u1").stage_append("b/c/a.md", "two")
            os.kill(os.getpid(), signal.SIGKILL)
        """
        with in_another_process(code, root) as process:
            assert process.wait() == -signal.SIGKILL
        user = jail.inside("acme", "u1")
        assert len(leftovers(root)) == 1
        assert [entry.name for entry in user.view("b/c").entries] == ["a.md"]
        assert user.read("b/c/a.md").text == "one"
        assert jail.recover() == 1
        assert leftovers(root) == []
        assert jail.recover() == 0
        assert user.append("b/c/a.md", "three") == 9

    def test_the_next_write_replaces_what_a_crash_left(self, jail, root):
        (root / STAGE_NAME).write_text("half a no")
        assert jail.append("a.md", "one") == 3
        assert tree(root) == {"a.md": b"one"}

    def test_recover_passes_over_links(self, jail, root, outside):
        (outside / STAGE_NAME).touch()
        (root / "link").symlink_to(outside)
        assert jail.recover() == 0
        assert (outside / STAGE_NAME).exists()

    @every_operation
    @pytest.mark.parametrize("path", [STAGE_NAME, ".Fabric-STAGE", f"{STAGE_NAME}/a.md"])
    def test_no_path_may_use_the_name_of_a_stage(self, jail, call, path):
        with pytest.raises(MemoryValidationError, match="kept for staged writes"):
            call(jail, path)

    def test_s256_an_acknowledged_write_is_on_the_disk(self, jail, monkeypatch):
        steps = []
        for name in ("mkdir", "fsync", "rename"):
            monkeypatch.setattr(os, name, recording(steps, name, getattr(os, name)))
        jail.append("a/b.md", "one")
        assert steps == ["mkdir", "fsync", "fsync", "rename", "fsync"]

    @pytest.mark.parametrize("step", ["write", "rename"])
    def test_b53_a_full_disk_leaves_the_file_as_it_was(self, jail, root, monkeypatch, step):
        jail.append("a.md", "one")

        def full(*_, **__):
            raise OSError(errno.ENOSPC, "No space left", str(root))

        monkeypatch.setattr(os, "fsync" if step == "write" else "rename", full)
        with pytest.raises(StoreUnavailableError, match=r"^path: does not fit"):
            jail.append("a.md", "two")
        monkeypatch.undo()
        assert tree(root) == {"a.md": b"one"}
        assert jail.append("a.md", "three") == 9


def recording(steps, name, call):
    def recorded(*args, **kwargs):
        result = call(*args, **kwargs)
        steps.append(name)
        return result

    return recorded


def discarded(jail):
    staged = jail.stage_append("b.md", "one")
    staged.discard()
    return staged


class TestConcurrency:
    def test_s256_appends_of_many_threads_are_all_kept(self, jail, root):
        with ThreadPoolExecutor(8) as pool:
            sizes = list(pool.map(lambda n: jail.append("n/a.md", f"line {n:02}"), range(40)))
        lines = (root / "n" / "a.md").read_text().splitlines()
        assert sorted(lines) == [f"line {n:02}" for n in range(40)]
        assert sorted(sizes) == [8 * n - 1 for n in range(1, 41)]

    def test_s256_appends_of_many_processes_are_all_kept(self, root):
        code = """if True:
            import sys
            from langgraph_fabric.tools.jail import FileJail
            for n in range(10):
                FileJail(sys.argv[1]).append("n/a.md", f"{sys.argv[2]} {n}")
        """
        processes = [in_another_process(code, root, name) for name in "abc"]
        for process in processes:
            with process:
                assert process.wait() == 0
        lines = (root / "n" / "a.md").read_text().splitlines()
        assert sorted(lines) == [f"{name} {n}" for name in "abc" for n in range(10)]

    def test_a_reader_sees_the_old_text_or_the_new_one(self, jail):
        jail.append("a.md", "0")
        with ThreadPoolExecutor(2) as pool:
            writing = pool.submit(lambda: [jail.append("a.md", str(n)) for n in range(1, 60)])
            while not writing.done():
                lines = jail.read("a.md").text.split("\n")
                assert lines == [str(n) for n in range(len(lines))]
        assert len(writing.result()) == 59


ESCAPES = {
    "up": "../outside/secret.md",
    "up inside": "a/../../outside/secret.md",
    "sibling by prefix": "/root_backup/x",
    "sibling upwards": "../rootX/x",
    "two slashes": "//root/x",
    "backslash": "..\\outside\\secret.md",
    "drive": "C:\\n\\a.md",
    "unc": "\\\\srv\\s\\x",
    "nul": "a.md\0../x",
    "long": "x" * 300,
    "proc": "/proc/self/cwd/x",
    "blank": " ",
}


class TestEscapes:
    @pytest.mark.usefixtures("outside")
    @every_operation
    @pytest.mark.parametrize("path", ESCAPES.values(), ids=ESCAPES.keys())
    def test_b49_s262_paths_that_lead_out_are_refused(self, jail, tmp_path, call, path):
        before = tree(tmp_path)
        with pytest.raises(MemoryValidationError, match=r"^path: "):
            call(jail, path)
        assert tree(tmp_path) == before

    @every_operation
    def test_s263_an_absolute_path_inside_root_is_refused(self, jail, root, call):
        (root / "a.md").touch()
        with pytest.raises(MemoryValidationError, match="absolute"):
            call(jail, str(root / "a.md"))

    @every_operation
    @pytest.mark.parametrize("target", ["secret.md", "new.md", "."])
    def test_b50_a_linked_leaf_is_refused(self, jail, root, outside, call, target):
        (root / "leaf").symlink_to(outside / target)
        before = tree(outside)
        with pytest.raises(MemoryValidationError, match=r"^path: .*link"):
            call(jail, "leaf")
        assert tree(outside) == before
        assert leftovers(root) == []

    @every_operation
    @pytest.mark.parametrize("leaf", ["secret.md", "new.md", "new/new.md", "deep/secret.md"])
    def test_b50_a_linked_folder_is_refused(self, jail, root, outside, call, leaf):
        (outside / "deep").mkdir()
        (root / "d").symlink_to(outside)
        before = tree(outside)
        with pytest.raises(MemoryValidationError, match=r"^path: .*link"):
            call(jail, f"d/{leaf}")
        assert tree(outside) == before
        assert leftovers(root) == []

    @file_operation
    def test_b50_a_link_that_stays_inside_is_refused_too(self, jail, root, call):
        (root / "a.md").write_text("x")
        (root / "b.md").symlink_to("a.md")
        with pytest.raises(MemoryValidationError, match=r"^path: .*link"):
            call(jail, "b.md")

    @file_operation
    def test_b50_s264_a_hard_linked_file_is_refused(self, jail, root, outside, call):
        (root / "a.md").hardlink_to(outside / "secret.md")
        with pytest.raises(MemoryValidationError, match=r"^path: .*several names"):
            call(jail, "a.md")
        assert (outside / "secret.md").read_text() == CANARY

    @file_operation
    def test_b50_a_pipe_is_refused_without_waiting(self, jail, root, call):
        os.mkfifo(root / "pipe")
        with pytest.raises(MemoryValidationError, match=r"^path: .*regular"):
            call(jail, "pipe")

    def test_b50_a_link_planted_as_stage_is_not_written_through(self, jail, root, outside):
        (root / STAGE_NAME).symlink_to(outside / "secret.md")
        jail.append("a.md", "x")
        assert tree(root) == {"a.md": b"x"}
        assert (outside / "secret.md").read_text() == CANARY

    def test_b50_a_hard_link_planted_as_stage_is_not_written_through(self, root, outside):
        (root / STAGE_NAME).hardlink_to(outside / "secret.md")
        folder = os.open(root, os.O_RDONLY)
        try:
            with pytest.raises(FileExistsError):
                descriptors.write_new(folder, STAGE_NAME, b"x", mode=0o600)
        finally:
            os.close(folder)
        assert (outside / "secret.md").read_text() == CANARY

    def test_b50_a_link_planted_before_commit_is_replaced(self, jail, root, outside):
        with jail.stage_append("a.md", "x") as staged:
            (root / "a.md").symlink_to(outside / "secret.md")
            staged.commit()
        assert not (root / "a.md").is_symlink()
        assert (root / "a.md").read_text() == "x"
        assert (outside / "secret.md").read_text() == CANARY

    def test_b50_a_folder_swapped_before_commit_is_written_where_it_went(self, jail, root, outside):
        with jail.stage_append("d/a.md", "x") as staged:
            (root / "d").rename(root / "moved")
            (root / "d").symlink_to(outside)
            staged.commit()
        assert (root / "moved" / "a.md").read_text() == "x"
        assert tree(outside) == {"secret.md": CANARY.encode()}

    def test_b50_a_folder_removed_before_commit_is_a_conflict(self, jail, root):
        with jail.stage_append("d/a.md", "x") as staged:
            (root / "d" / STAGE_NAME).unlink()
            (root / "d").rmdir()
            with pytest.raises(MemoryConflictError, match=r"^path: "):
                staged.commit()

    @pytest.mark.parametrize("path", ["d/secret.md", "d/new/x.md"])
    def test_b50_s264_a_swapped_folder_cannot_win_the_race(self, jail, root, outside, path):
        (outside / "new").mkdir()
        (root / "d" / "new").mkdir(parents=True)
        (root / "link").symlink_to(outside)
        before = tree(outside)
        stop = threading.Event()
        swaps = wins = 0
        with ThreadPoolExecutor(1) as pool:
            swapping = pool.submit(swap_until, stop, root)
            try:
                for _ in range(400):
                    with suppress(FabricError):
                        jail.append(path, "x")
                        wins += 1
                    with suppress(FabricError):
                        found = jail.read(path)
                        assert found is None or CANARY not in found.text
            finally:
                stop.set()
                swaps = swapping.result()
        assert tree(outside) == before
        assert swaps > 10, "the race was never run"
        assert wins > 0, "no write ever met the real folder"

    def test_b50_s264_a_swapped_file_cannot_win_the_race(self, jail, root, outside):
        (root / "d").write_text("plain")
        (root / "link").symlink_to(outside / "secret.md")
        stop = threading.Event()
        reads = 0
        with ThreadPoolExecutor(1) as pool:
            swapping = pool.submit(swap_until, stop, root)
            try:
                for _ in range(2_000):
                    with suppress(FabricError):
                        found = jail.read("d")
                        assert found is None or found.text == "plain"
                        reads += found is not None
            finally:
                stop.set()
                assert swapping.result() > 10, "the race was never run"
        assert reads > 0, "no read ever met the real file"


def swap_until(stop, root):
    """Let `d` be in turn the real thing and a link that leads out; end with the real thing."""
    swaps = 0
    while not stop.is_set():
        (root / "d").rename(root / "real")
        put(root / "link", root / "d")
        (root / "d").rename(root / "link")
        put(root / "real", root / "d")
        swaps += 1
    return swaps


def put(source, target):
    """Rename, moving away what a write has made at the target meanwhile."""
    try:
        source.rename(target)
    except OSError:
        target.rename(target.with_name(f"made-{uuid4().hex}"))
        put(source, target)


class TestCase:
    @pytest.mark.parametrize(
        ("there", "path"),
        [
            ("Notes.md", "notes.md"),
            ("notes.md", "NOTES.md"),
            ("straße.md", "STRASSE.md"),
            ("\u00c9.md", "e\u0301.md"),
            ("Sub/a.md", "sub/b.md"),
            ("a/Sub/a.md", "a/sub/c/b.md"),
        ],
    )
    def test_b52_a_name_that_differs_only_in_case_is_refused(self, jail, root, there, path):
        jail.append(there, "x")
        before = tree(root)
        with pytest.raises(MemoryValidationError, match=r"^path: differs only in case"):
            jail.append(path, "y")
        assert tree(root) == before

    def test_b52_the_existing_spelling_goes_on_working(self, jail):
        jail.append("Sub/Notes.md", "x")
        assert jail.append("Sub/Notes.md", "y") == 3

    def test_b52_two_existing_spellings_of_the_host_stay_writable(self, jail, root):
        (root / "Notes.md").touch()
        (root / "notes.md").touch()
        assert jail.append("notes.md", "y") == 1

    @pytest.mark.parametrize("path", ["CON", "nul.txt", "a.", "a ", "b/aux.md", "n\\a.md"])
    def test_b52_names_that_windows_reads_otherwise_are_refused(self, jail, root, path):
        with pytest.raises(MemoryValidationError):
            jail.append(path, "x")
        assert tree(root) == {}


@contextmanager
def unprivileged():
    """Drop root's right to pass every permission, which would make the test say nothing."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def file_size_limit(size):
    """Let the kernel refuse files over `size`, as a full disk would, but for real."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def assert_says_nothing_of(root, error):
    told = f"{error!r} {error} {error.args}"
    assert str(root) not in told
    assert root.name not in told
    assert CANARY not in told
    assert "Errno" not in told
    assert error.__cause__ is None
    assert error.__suppress_context__


class TestErrors:
    @every_operation
    def test_b53_no_permission(self, jail, root, call):
        (root / "shut").mkdir(mode=0o000)
        (root / "shut" / "a.md").touch()
        with unprivileged(), pytest.raises(StoreUnavailableError, match=r"^path: ") as refusal:
            call(jail, "shut/a.md")
        assert_says_nothing_of(root, refusal.value)

    def test_b53_recover_passes_over_a_folder_it_may_not_open(self, tmp_path, root, jail):
        for folder in (tmp_path, *tmp_path.parents):
            folder.chmod(0o755)
            if folder.name.startswith("pytest-of-"):
                break
        (root / "shut").mkdir(mode=0o000)
        with unprivileged():
            assert jail.recover() == 0

    def test_b53_the_disk_refuses_the_size(self, jail, root):
        jail.append("a.md", "one")
        with file_size_limit(4), pytest.raises(StoreUnavailableError) as refusal:
            jail.append("a.md", CANARY)
        assert_says_nothing_of(root, refusal.value)
        assert tree(root) == {"a.md": b"one"}

    def test_b53_sixty_nested_folders_work(self, jail):
        path = "/".join([*["d" * 60] * 60, "a.md"])
        assert jail.append(path, "x") == 1
        assert jail.read(path).text == "x"
        assert jail.recover() == 0

    @every_operation
    def test_b53_a_file_where_a_folder_should_be(self, jail, root, call):
        (root / "a.md").write_text(CANARY)
        with pytest.raises(MemoryValidationError, match=r"^path: ") as refusal:
            call(jail, "a.md/b.md")
        assert_says_nothing_of(root, refusal.value)

    @every_operation
    def test_b53_the_root_is_a_file(self, tmp_path, call):
        root = tmp_path / "hosts-file"
        root.touch()
        with pytest.raises(FabricError) as refusal:
            call(FileJail(root), "a.md")
        assert_says_nothing_of(root, refusal.value)

    @every_operation
    @pytest.mark.parametrize(
        ("number", "kind"),
        [
            (errno.ENAMETOOLONG, MemoryValidationError),
            (errno.ELOOP, MemoryValidationError),
            (errno.EISDIR, MemoryValidationError),
            (errno.ENXIO, MemoryValidationError),
            (errno.EPERM, StoreUnavailableError),
            (errno.EROFS, StoreUnavailableError),
            (errno.ENOSPC, StoreUnavailableError),
            (errno.EDQUOT, StoreUnavailableError),
            (errno.EMFILE, StoreUnavailableError),
            (errno.EIO, StoreUnavailableError),
            (errno.ESTALE, StoreUnavailableError),
        ],
    )
    def test_b53_what_the_disk_says_never_reaches_the_model(
        self, root, monkeypatch, call, number, kind
    ):
        def failing(*_, **__):
            raise OSError(number, os.strerror(number), str(root / CANARY))

        monkeypatch.setattr(os, "open", failing)
        with pytest.raises(kind, match=r"^path: ") as refusal:
            call(FileJail(root), "a.md")
        assert_says_nothing_of(root, refusal.value)

    def test_a_disk_without_locks_is_said_to_be_one(self, jail, root, monkeypatch):
        def failing(*_):
            raise OSError(errno.EBADF, "Bad file descriptor")

        monkeypatch.setattr("fcntl.flock", failing)
        with pytest.raises(StoreUnavailableError, match=r"^root: .*lock"):
            jail.append("a.md", "x")
        assert tree(root) == {}

    def test_no_descriptor_leaks(self, jail, root, outside):
        (root / "link").symlink_to(outside)
        (root / "a.md").hardlink_to(outside / "secret.md")
        (root / "Notes.md").touch()
        before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 -- one descriptor, counted twice
        for path in ("link/x", "a.md", "notes.md", "ok/x.md", "ok", "..", "gone/x"):
            for call in OPERATIONS.values():
                with suppress(FabricError):
                    call(jail, path)
            jail.recover()
        assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 -- as above


FRAGMENTS = st.lists(
    st.sampled_from(["..", ".", "", "a", "A", "link", "a.md", "\\", "NUL", "é", "~", STAGE_NAME])
).map("/".join)


@settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.one_of(FRAGMENTS, st.text()))
def test_b49_whatever_the_path_it_is_refused_or_stays_inside(path, tmp_path, jail, root):
    outside = tmp_path / "outside"
    outside.mkdir(exist_ok=True)
    if not (root / "link").is_symlink():
        (root / "link").symlink_to(outside)
    for call in OPERATIONS.values():
        with suppress(FabricError):
            call(jail, path)
    assert tree(outside) == {}
    assert {child.name for child in tmp_path.iterdir()} == {"root", "outside"}
