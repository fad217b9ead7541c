"""LangChain: memory for `create_agent`, as one middleware.

    agent = create_agent(model, middleware=[FabricMiddleware(fabric)], checkpointer=saver)

It does what a graph of your own does with `attach_node`, `context_node`, `messages` and `tools`,
through those same doors. Needs the extra `langchain`.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Unpack, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
)
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
from langgraph.runtime import Runtime

from langgraph_fabric.fabric.settings import refuse_unknown
from langgraph_fabric.facade import MemoryFabric
from langgraph_fabric.nodes import ContextOptions
from langgraph_fabric.nodes.state import FabricContext, keep_newest
from langgraph_fabric.tools import ToolOptions

__all__ = ["FabricAgentState", "FabricMiddleware", "FabricMiddlewareOptions"]


class FabricAgentState(AgentState[Any], total=False):
    """The agent's state with the fabric's channel, which no caller can set or see."""

    # The reducer stands last, where LangGraph looks for it.
    fabric_context: Annotated[FabricContext | None, PrivateStateAttr, keep_newest]


class FabricMiddlewareOptions(ContextOptions, ToolOptions, total=False):
    """What the middleware takes besides the root: the options of `context_node` and `tools`."""


class FabricMiddleware(AgentMiddleware[FabricAgentState, Any, Any]):
    """Gives an agent memory: attaches its thread, recalls before each model call, adds the tools.

    Neither working blocks nor recalled notes enter the thread's messages: they are placed into each
    request to the model, and read again for each. A run without a thread or a user is refused with
    `MemoryScopeError`.

    Args:
        fabric: Whose memory; its scope is filled from each run.
        root: The folder files live in, one subfolder a user; None leaves files out.
        **options: See `FabricMiddlewareOptions`.

    Raises:
        MemoryValidationError: An option is unknown or malformed.
    """

    state_schema = FabricAgentState

    def __init__(
        self,
        fabric: MemoryFabric,
        root: str | Path | None = None,
        **options: Unpack[FabricMiddlewareOptions],
    ) -> None:
        super().__init__()
        context, tools = _split(options)
        self.tools = fabric.tools(root, **tools)
        self._fabric = fabric
        self._attach = fabric.attach_node()
        self._recall = fabric.context_node(**context)

    def before_agent(self, state: FabricAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Attach the thread of the run."""
        return self._attach.invoke(state)

    async def abefore_agent(self, state: FabricAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Attach without blocking the event loop."""
        return await self._attach.ainvoke(state)

    def before_model(self, state: FabricAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the newest user message into `fabric_context`."""
        return self._recall.invoke(state)

    async def abefore_model(self, state: FabricAgentState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall without blocking the event loop."""
        return await self._recall.ainvoke(state)

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Call the model with memory placed into the request."""
        return handler(_with_prompt(request, self._fabric.messages(_prompt_state(request))))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with memory placed, without blocking the event loop."""
        prompt = await self._fabric.amessages(_prompt_state(request))
        return await handler(_with_prompt(request, prompt))


def _split(options: Mapping[str, Any]) -> tuple[ContextOptions, ToolOptions]:
    """Return the options of the context node and those of the tools."""
    refuse_unknown(options, FabricMiddlewareOptions, "the middleware")
    known = (ContextOptions.__annotations__, ToolOptions.__annotations__)
    context, tools = ({n: v for n, v in options.items() if n in names} for names in known)
    return cast("ContextOptions", context), cast("ToolOptions", tools)


def _prompt_state(request: ModelRequest[Any]) -> dict[str, Any]:
    """Return the request as a state of which `messages` makes a prompt, system message first.

    The request's messages are used, not the state's: other middleware may have changed them.
    """
    system = [request.system_message] if request.system_message else []
    context = cast("Mapping[str, Any]", request.state).get("fabric_context")
    return {"messages": [*system, *request.messages], "fabric_context": context}


def _with_prompt(request: ModelRequest[Any], prompt: list[BaseMessage]) -> ModelRequest[Any]:
    """Return the request with a prompt in the two parts it keeps apart."""
    first = prompt[0] if prompt else None
    system = first if isinstance(first, SystemMessage) else None
    messages = cast("list[AnyMessage]", prompt[1:] if system else prompt)
    return request.override(system_message=system, messages=messages)
