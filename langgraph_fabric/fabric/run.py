"""Runs: what a LangGraph run says of itself that memory needs: its thread, its user, its store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.store.base import BaseStore

from langgraph_fabric.errors import FabricError
from langgraph_fabric.memory.scope import identity


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a graph. Outside of runs there is the empty one."""

    configurable: Mapping[str, Any] = field(default_factory=dict[str, Any])
    context: object = None
    """The run's typed context, a mapping or an object with attributes."""
    user: object = None
    """The authenticated user, on a server that authenticates."""
    store: BaseStore | None = None
    stream_writer: Any = None

    @classmethod
    def current(cls) -> "Run":
        """Return the run this code executes in, or the empty one."""
        try:
            config = get_config()
        except RuntimeError:
            return cls()
        try:
            runtime: Any = get_runtime()
        except (KeyError, RuntimeError):
            runtime = None
        return cls.of(runtime, config)

    @classmethod
    def of(cls, runtime: Any, config: Mapping[str, Any] | None) -> "Run":
        """Return the run that a `Runtime` or `ToolRuntime` and a config describe."""
        server = getattr(runtime, "server_info", None)
        return cls(
            configurable=(config or {}).get("configurable") or {},
            context=getattr(runtime, "context", None),
            user=getattr(server, "user", None),
            store=getattr(runtime, "store", None),
            stream_writer=getattr(runtime, "stream_writer", None),
        )

    @property
    def thread_id(self) -> str | None:
        """The run's thread as the checkpointer knows it, or None."""
        try:
            return identity(self.configurable.get("thread_id"), "thread_id")
        except FabricError:
            return None

    def value_of(self, name: str) -> object:
        """Return what the run knows under `name`: its context, its configurable, then its user.

        The authenticated user's identity also answers to `user_id`.
        """
        for source in (self.context, self.configurable, self.user):
            found = _look_up(source, name)
            if found is not None:
                return found
        return _look_up(self.user, "identity") if name == "user_id" else None

    def emit(self, event: Mapping[str, Any]) -> None:
        """Write an event to the run's `custom` stream, if somebody listens."""
        if self.stream_writer is not None:
            self.stream_writer(dict(event))


def _look_up(source: object, name: str) -> object:
    if isinstance(source, Mapping):
        return cast("Mapping[str, object]", source).get(name)
    return None if source is None or name.startswith("_") else getattr(source, name, None)
