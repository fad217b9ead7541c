"""The toolkit: the five tools of a fabric, made once and bound to a chat model."""

import re
from pathlib import Path
from typing import TypedDict

from langchain_core.tools import BaseTool

from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric.engine import Engine
from langgraph_fabric.fabric.settings import refuse_unknown
from langgraph_fabric.tools.calls import Files, build
from langgraph_fabric.tools.forget import FORGET
from langgraph_fabric.tools.insert import INSERT
from langgraph_fabric.tools.jail import DEFAULT_FILE_BYTES, FileJail
from langgraph_fabric.tools.read import READ
from langgraph_fabric.tools.recall import RECALL
from langgraph_fabric.tools.view import VIEW

_PREFIX = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,55}\Z")
"""With the longest name of ours it fits what every provider takes: 64 of letters, digits and _."""


class ToolOptions(TypedDict, total=False):
    """What `tools` takes besides the root."""

    max_file_bytes: int
    """The size up to which a file is shown and can grow; default 51,200, at most 1,048,576."""
    prefix: str
    """Stands before each tool's name; default `memory`."""
    shared_root: bool
    """All users share the root itself. By default each has a folder of its own below it."""


def memory_tools(engine: Engine, root: str | Path | None, options: ToolOptions) -> list[BaseTool]:
    """Return the five tools, in the order view, read, insert, recall, forget (S248)."""
    refuse_unknown(options, ToolOptions, "tools")
    prefix = options.get("prefix", "memory")
    if not isinstance(prefix, str) or not _PREFIX.match(prefix):
        raise MemoryValidationError(
            "prefix", "not a tool name", "Give letters, digits and _, starting with a letter"
        )
    shared = options.get("shared_root", False)
    if not isinstance(shared, bool):
        raise MemoryValidationError("shared_root", "not a bool", "Give True or False")
    size = options.get("max_file_bytes", DEFAULT_FILE_BYTES)
    jail = FileJail("." if root is None else root, size)  # checks the size without a root too
    files = Files(None if root is None else jail, shared=shared)
    return [build(spec, engine, files, prefix) for spec in (VIEW, READ, INSERT, RECALL, FORGET)]
