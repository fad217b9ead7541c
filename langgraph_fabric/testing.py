"""Fakes for testing graphs that remember: a scripted chat model, a clock that stands, embeddings.

    model = ScriptedChatModel(script=[tool_call("memory_recall", query="units"), "In metres."])
    clock = FrozenClock("2026-03-01")

Nothing here reaches a network, reads the time or draws a random number.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, SkipValidation

from langgraph_fabric._ids import memory_id
from langgraph_fabric._time import parse_instant
from langgraph_fabric.embeddings.hash_embeddings import HashEmbeddings

__all__ = [
    "FrozenClock",
    "HashEmbeddings",
    "ModelCall",
    "ScriptExhaustedError",
    "ScriptedChatModel",
    "tool_call",
]

Reply = AIMessage | str | Callable[[list[BaseMessage]], AIMessage | str]
"""One turn of a script: the message, its text, or a function of the prompt that gives either."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptExhaustedError(AssertionError):
    """The model was called for a turn that its script does not have.

    A failed expectation of the test, and so no `FabricError`: code under test must not catch it.
    """

    def __init__(self, turn: int, replies: int) -> None:
        super().__init__(turn, replies)
        self.turn = turn
        """The turn asked for, counted from 1."""
        self.replies = replies
        """How many the script has."""

    def __str__(self) -> str:
        return (
            f"script: asked for reply {self.turn}, but it has {self.replies}. Add a reply, or end "
            "the loop earlier: the turn is one more than the AI messages of the prompt."
        )


@dataclass(frozen=True, slots=True)
class ModelCall:
    """What a model was called with."""

    messages: tuple[BaseMessage, ...]
    """The prompt, copied: later changes to the thread do not reach it."""
    tools: tuple[str, ...]
    """Names of the tools bound for the call, in order."""


class ScriptedChatModel(BaseChatModel):
    """A chat model that says what its script says, and remembers what it was asked.

    A reply's place in the script is the number of AI messages in the prompt. So a retry, a replay
    or a fork from an earlier checkpoint gets the reply of that turn again, and one model serves any
    number of threads. A graph that removes AI messages from the prompt turns the script back.

    Replies are copied before they leave, so a graph that gives messages ids does not write into the
    script. Streamed, a reply comes word by word and its tool calls as chunks.
    """

    script: SkipValidation[Sequence[Reply]]
    """The replies, in order. Not validated: a message's own validator crashes on text."""
    calls: list[ModelCall] = Field(default_factory=list[ModelCall], exclude=True)
    """Every call so far, the refused ones too."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with `tools` bound; both share one script and one list of calls."""
        formatted = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=formatted, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _chunks(self._reply(messages, kwargs)):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _chunks(self._reply(messages, kwargs)):
            yield ChatGenerationChunk(message=chunk)

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        names = tuple(tool["function"]["name"] for tool in options.get("tools", ()))
        prompt = tuple(message.model_copy(deep=True) for message in messages)
        self.calls.append(ModelCall(prompt, names))
        turn = sum(isinstance(message, AIMessage) for message in messages)
        if turn >= len(self.script):
            raise ScriptExhaustedError(turn + 1, len(self.script))
        reply = self.script[turn]
        if not isinstance(reply, AIMessage | str):
            reply = reply(list(messages))
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy(deep=True)


def tool_call(name: str, /, **args: object) -> AIMessage:
    """Return a reply that calls one tool: `tool_call("memory_recall", query="units")`.

    The call's id is made of its name and arguments, so it is the same in every run; the same call
    in two turns has the same id.
    """
    call = {"name": name, "args": args, "id": f"call_{memory_id(name, args)}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call])


class FrozenClock:
    """A clock that stands until it is moved; call it for the time, an aware UTC datetime.

    Args:
        start: Where it stands first: ISO 8601 text, a datetime or a date; without an offset UTC.

    Raises:
        MemoryValidationError: `start` is none of these.
    """

    def __init__(self, start: str | date = "2026-01-01") -> None:
        self._now = _moment(start)

    def __call__(self) -> datetime:
        """Return the time it shows."""
        return self._now

    def advance(self, by: timedelta = timedelta(0), /, **units: float) -> datetime:
        """Move on by a timedelta or by its units, as in `advance(days=1)`; return the new time."""
        self._now += by + timedelta(**units)
        return self._now

    def set(self, moment: str | date) -> datetime:
        """Move to `moment`, back too; return the new time."""
        self._now = _moment(moment)
        return self._now


def _moment(value: str | date) -> datetime:
    return _EPOCH + timedelta(microseconds=parse_instant(value, "clock"))


def _chunks(reply: AIMessage) -> Iterator[AIMessageChunk]:
    """Split a reply as a provider streams it: the words, then each tool call, then the rest."""
    if isinstance(reply.content, str):
        for word in _WORD.findall(reply.content):
            yield AIMessageChunk(content=word, id=reply.id)
    else:
        yield AIMessageChunk(content=reply.content, id=reply.id)
    for piece in _tool_call_pieces(reply):
        yield AIMessageChunk(content="", tool_call_chunks=[piece], id=reply.id)
    yield AIMessageChunk(
        content="",
        id=reply.id,
        name=reply.name,
        additional_kwargs=reply.additional_kwargs,
        response_metadata=reply.response_metadata,
        usage_metadata=reply.usage_metadata,
        chunk_position="last",
    )


def _tool_call_pieces(reply: AIMessage) -> Iterator[ToolCallChunk]:
    """Give each call's name and id first, then its arguments in words; malformed calls last."""
    calls = [(call["name"], call["id"], json.dumps(call["args"])) for call in reply.tool_calls]
    calls += [(call["name"], call["id"], call["args"]) for call in reply.invalid_tool_calls]
    for index, (name, call_id, args) in enumerate(calls):
        yield tool_call_chunk(name=name, id=call_id, args="", index=index)
        for word in _WORD.findall(args or ""):
            yield tool_call_chunk(args=word, index=index)
