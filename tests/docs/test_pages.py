"""The harness in the root `conftest.py` runs pages as promised, and fails those that are wrong."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONFIG = """
[tool.pytest.ini_options]
addopts = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
pythonpath = ["."]
filterwarnings = ["error"]
"""


QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plugins of installed packages take two seconds to load."""


def page(*blocks):
    return "# A page\n\n" + "\n\n".join(f"Text.\n\n```python\n{block}\n```" for block in blocks)


@pytest.fixture
def run(tmp_path):
    """Run a project of the harness and the given files; answer pytest's exit code and output."""

    def run(**files):
        for name in ("conftest.py", "offline.env"):
            shutil.copy(ROOT / name, tmp_path)
        (tmp_path / "pyproject.toml").write_text(CONFIG)
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/", 1).replace("_md", ".md").replace("_py", ".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "."],
            cwd=tmp_path,
            env={**os.environ, "FABRIC_MODEL": "openai:a-model", "HF_HUB_OFFLINE": "0", **QUICK},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_blocks_of_a_page_share_names_and_each_page_starts_anew(run):
    code, output = run(
        README_md=page("word = 'here'", "assert word == 'here'"),
        docs__one_md=page("assert 'word' not in globals()"),
    )
    assert code == 0, output
    assert "3 passed" in output


def test_a_page_runs_in_an_empty_folder_of_its_own(run, tmp_path):
    look = "import pathlib; assert not list(pathlib.Path().iterdir())"
    code, output = run(
        docs__one_md=page(look, "pathlib.Path('left').touch()"), docs__two_md=page(look)
    )
    assert code == 0, output
    assert not (tmp_path / "left").exists()


def test_a_page_runs_in_the_fixed_offline_environment(run):
    code, output = run(
        README_md=page(
            "from os import environ",
            "assert environ['HF_HUB_OFFLINE'] == '1'",
            "assert 'FABRIC_MODEL' not in environ",
        )
    )
    assert code == 0, output


def test_blocks_of_other_languages_and_skipped_blocks_are_not_run(run):
    code, output = run(
        README_md="```bash\nfalse\n```\n\n<!-- skip: next -->\n\n" + page("boom") + page("pass")
    )
    assert code == 0, output


def test_an_annotated_state_of_a_page_is_read_by_langgraph(run):
    graph = """
from langgraph.graph import END, START, MessagesState, StateGraph
class State(MessagesState):
    count: int
def node(state: State) -> State:
    return {"count": state["count"] + 1}
graph = StateGraph(State).add_node(node).add_edge(START, "node").add_edge("node", END).compile()
assert graph.invoke({"messages": [], "count": 1})["count"] == 2
"""
    code, output = run(README_md=page(graph))
    assert code == 0, output


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("assert 1 == 2", "AssertionError"),
        (">>> 1 + 1\n3", "Got:"),
        ("import warnings; warnings.warn('old')", "UserWarning: old"),
        ("import socket; socket.create_connection(('192.0.2.1', 80))", "stay on this machine"),
        (
            "import socket\ntry: socket.getaddrinfo('an.example', 80)\nexcept OSError: pass",
            "tried to reach",
        ),
    ],
    ids=["assertion", "doctest", "warning", "network", "swallowed-network"],
)
def test_a_wrong_block_fails(run, block, complaint):
    code, output = run(docs__wrong_md=page("x = 1", block))
    assert code == 1, output
    assert complaint in output
    assert "wrong.md" in output


def test_an_example_in_a_docstring_is_run(run):
    code, output = run(
        langgraph_fabric____init___py="",
        langgraph_fabric__half_py='"""Halve.\n\n>>> 4 // 2\n3\n"""\n',
    )
    assert code == 1, output
    assert "Expected" in output
