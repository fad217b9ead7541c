"""Promises of the project as a whole: what it ships, what an import costs, what may import what."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "langgraph_fabric"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

PUBLIC = {
    "langgraph_fabric": [
        "Attachment",
        "Capabilities",
        "Coverage",
        "EmbedderMismatchError",
        "EmbedderProfile",
        "Explain",
        "FabricError",
        "FabricState",
        "Forgotten",
        "Hit",
        "Kind",
        "Link",
        "MemoryConflictError",
        "MemoryFabric",
        "MemoryLimitError",
        "MemoryLimits",
        "MemoryScopeError",
        "MemoryValidationError",
        "Note",
        "Recall",
        "Remembered",
        "Scope",
        "StoreUnavailableError",
    ],
    "langgraph_fabric.embeddings": [
        "EmbedderProfile",
        "HashEmbeddings",
        "StaticEmbeddings",
        "profile_of",
    ],
    "langgraph_fabric.nodes": [
        "AttachNode",
        "ContextNode",
        "ContextOptions",
        "FabricContext",
        "FabricState",
        "placed",
    ],
    "langgraph_fabric.store.conformance": ["PROMISES", "Outcome", "Promise", "Report", "check"],
    "langgraph_fabric.store": ["ChromaStore"],
    "langgraph_fabric.testing": [
        "FrozenClock",
        "HashEmbeddings",
        "ModelCall",
        "ScriptExhaustedError",
        "ScriptedChatModel",
        "tool_call",
    ],
    "langgraph_fabric.tools": ["ToolOptions", "memory_tools"],
}
"""The names users may import; a change here is a change for them, and goes into the CHANGELOG."""

HEAVY = ["chromadb", "langchain", "numpy", "onnxruntime", "tokenizers"]
"""Loaded on first use, never by an import of the package."""


def python(code, *, cwd=ROOT):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=True
    )
    return done.stdout


def package_files():
    return {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names_are_pinned(name):
    module = importlib.import_module(name)
    assert list(module.__all__) == PUBLIC[name]
    assert all(hasattr(module, public) for public in module.__all__)


def test_every_package_with_public_names_is_pinned():
    faces = {
        name.removesuffix("/__init__.py").replace("/", ".")
        for name in package_files()
        if name.endswith("__init__.py") and "\n__all__ = " in (ROOT / name).read_text()
    }
    assert faces <= set(PUBLIC)


@pytest.fixture(scope="module")
def loaded_by_import():
    out = python("import json, sys, langgraph_fabric; print(json.dumps(sorted(sys.modules)))")
    return set(json.loads(out))


@pytest.mark.parametrize("heavy", HEAVY)
def test_importing_the_package_does_not_load(heavy, loaded_by_import):
    assert heavy not in loaded_by_import


def test_importing_the_package_starts_no_thread_and_leaves_the_folder_empty(tmp_path):
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import threading, langgraph_fabric
print(threading.active_count())
"""
    assert python(code, cwd=tmp_path).strip() == "1"
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == package_files()
    assert "langgraph_fabric/py.typed" in shipped


@pytest.mark.parametrize("name", ["LICENSE", "NOTICE"])
def test_the_wheel_holds_the_licences(name, wheel):
    (found,) = [path for path in wheel.namelist() if path.endswith(f"licenses/{name}")]
    assert wheel.read(found) == (ROOT / name).read_bytes()


def test_imports_keep_to_the_storeys():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_no_module_is_a_drawer_for_anything():
    names = {Path(name).stem.strip("_") for name in package_files()}
    assert not names & {"common", "helper", "helpers", "misc", "util", "utils"}


def locked():
    pins = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        requirement = Requirement(line.partition("#")[0])
        pins.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return pins


def declared():
    extras = PROJECT["optional-dependencies"].values()
    texts = [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]
    requirements = [Requirement(text) for text in texts]
    return [requirement for requirement in requirements if requirement.name != PROJECT["name"]]


@pytest.mark.parametrize("requirement", declared(), ids=lambda requirement: requirement.name)
def test_the_lock_answers_what_the_project_asks_for(requirement):
    for pin in locked()[canonicalize_name(requirement.name)]:
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert requirement.specifier.contains(exact.version), "run `make lock`"


def test_the_lock_names_versions_only():
    text = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"(?m)^-|://|@ |file:", text)


def test_the_changelog_opens_with_what_is_unreleased():
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"(?m)^## (.+)$", text)
    assert headings[0] == "Unreleased"
    entries = re.findall(r"(?m)^- (.+)$", text)
    assert all(re.search(r"[.)]$", entry) and ". " not in entry for entry in entries)


def test_the_version_is_stated_once():
    assert version(PROJECT["name"]) == PROJECT["version"]
    stated = f'"{PROJECT["version"]}"'
    assert not [name for name in package_files() if _states(name, stated)]


def _states(name, text):
    return name.endswith(".py") and text in (ROOT / name).read_text()


def goals():
    return set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text()))


def test_help_lists_every_goal():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(re.findall(r"make ([a-z]+)", done.stdout)) == goals()
    assert goals() >= {"help", "demo", "test", "lint", "type", "docs", "bench", "lock"}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_page_names_only_goals_that_exist(page):
    named = set(re.findall(r"(?m)(?:^|`)make ([a-z]+)", (ROOT / page).read_text()))
    assert named <= goals()
