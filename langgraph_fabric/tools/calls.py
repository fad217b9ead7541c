"""Calls: what the five tools share: who calls, whether the gate is open, how a tool is made.

A refusal is an answer the model can read, never an exception: the run goes on. A mistake in the
arguments is an error message that says how to correct them. Whose memory it is comes from the run;
no argument can say it.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool, ToolException
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, model_validator

from langgraph_fabric._flow import Flow
from langgraph_fabric.errors import FabricError, MemoryScopeError
from langgraph_fabric.fabric import gate
from langgraph_fabric.fabric.engine import Engine, Opened
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.run import Run
from langgraph_fabric.tools.jail import FileJail

Reason = Literal["not_attached", "no_scope", "no_root", "not_found"]


class Arguments(BaseModel):
    """What a model sends to a tool; a quoted null is none, as many models write it (B23)."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, sent: Any) -> Any:
        if not isinstance(sent, dict):
            return sent
        optional = {name for name, field in cls.model_fields.items() if field.default is None}
        given = cast("dict[str, Any]", sent).items()
        return {name: value for name, value in given if value != "null" or name not in optional}


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer: the text a model reads, and the value code reads (the artifact)."""

    text: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What a tool works with, once its gate is found open."""

    memory: Memory
    jail: FileJail | None
    """The caller's own folder; None when the tools were made without a root."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: its name without prefix, what the model is told, and what it does."""

    name: str
    description: str
    arguments: type[Arguments]
    flow: Callable[[Context, Any], Flow[Answer]]


@dataclass(frozen=True, slots=True)
class Files:
    """Where tools keep files."""

    jail: FileJail | None
    shared: bool
    """All users work in the root itself, instead of in a folder each."""

    def of(self, memory: Memory) -> FileJail | None:
        """Return the folder of the memory's user."""
        if self.jail is None or self.shared:
            return self.jail
        _, tenant, resource, *_ = memory.place.namespace
        return self.jail.inside(tenant, resource)


@dataclass(frozen=True, slots=True)
class _Tool:
    """One tool of one fabric."""

    spec: ToolSpec
    engine: Engine
    files: Files

    def call(self, run: Run, arguments: dict[str, Any]) -> tuple[Opened, Flow[Answer]]:
        """Return whose memory a call works on, and what it will do there."""
        opened = self.engine.open(run)
        return opened, self._gated(run, opened.memory, arguments)

    def _gated(self, run: Run, memory: Memory, arguments: dict[str, Any]) -> Flow[Answer]:
        """Do what the tool does, if the gate of the run's thread is open."""
        thread = run.thread_id
        if thread is None:
            return refusal("not_attached", "this run has no thread_id, so no thread is attached")
        if thread not in self.engine.attached and not (yield from gate.is_attached(memory, thread)):
            run.emit({"type": "fabric.refused", "tool": self.spec.name, "reason": "not_attached"})
            return refusal("not_attached", "memory is not open for this thread")
        context = Context(memory, self.files.of(memory))
        return (yield from self.spec.flow(context, self.spec.arguments.model_validate(arguments)))


def refusal(reason: Reason, text: str) -> Answer:
    """Return an answer that says no, in the one shape all refusals have (S250)."""
    return Answer(f"Refused: {text}.", {"found": False, "reason": reason})


def no_root() -> Answer:
    """Return the refusal of a file operation where no folder was configured."""
    return refusal("no_root", "no folder for files is configured")


def build(spec: ToolSpec, engine: Engine, files: Files, prefix: str) -> StructuredTool:
    """Return `spec` as a LangChain tool with both doors."""
    tool = _Tool(spec, engine, files)

    def call(
        runtime: ToolRuntime[Any, Any] = None,  # type: ignore[assignment]  # the one optional spelling LangGraph injects
        config: RunnableConfig = None,  # type: ignore[assignment]  # the same
        **arguments: Any,
    ) -> tuple[str, dict[str, Any]]:
        with _refusals() as said:
            opened, flow = tool.call(_run_of(runtime, config), arguments)
            said.append(opened.run(flow))
        return said[0].text, said[0].value

    async def acall(
        runtime: ToolRuntime[Any, Any] = None,  # type: ignore[assignment]  # the one optional spelling LangGraph injects
        config: RunnableConfig = None,  # type: ignore[assignment]  # the same
        **arguments: Any,
    ) -> tuple[str, dict[str, Any]]:
        with _refusals() as said:
            opened, flow = tool.call(_run_of(runtime, config), arguments)
            said.append(await opened.arun(flow))
        return said[0].text, said[0].value

    return StructuredTool.from_function(
        call,
        coroutine=acall,
        name=f"{prefix}_{spec.name}",
        description=spec.description,
        args_schema=spec.arguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _run_of(runtime: Any, config: RunnableConfig | None) -> Run:
    """Return the run of a call, inside a graph or outside of one.

    What a model wrote under the name `runtime` is no runtime, and says nothing.
    """
    if isinstance(runtime, ToolRuntime):
        return Run.of(runtime, runtime.config)
    return Run.of(None, config)


@contextmanager
def _refusals() -> Generator[list[Answer]]:
    """Take the answer of a call; turn what the model can act on into what it can read."""
    said: list[Answer] = []
    try:
        yield said
    except MemoryScopeError as exc:
        said.append(_no_scope(exc))
    except FabricError as exc:
        raise ToolException(str(exc)) from None


def _no_scope(exc: MemoryScopeError) -> Answer:
    answer = refusal(
        "no_scope", f"this run does not say whose memory it is: {exc.field} is missing"
    )
    return Answer(answer.text, {**answer.value, "missing": exc.field})
