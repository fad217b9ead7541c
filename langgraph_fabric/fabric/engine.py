"""The engine: a fabric's settings, and how they meet one run to become that run's memory."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from langgraph.store.base import BaseStore

from langgraph_fabric._adapter import StoreAdapter
from langgraph_fabric._flow import Flow, T, arun, run
from langgraph_fabric._time import Clock, system_clock
from langgraph_fabric.embeddings import EmbedderProfile, profile_of
from langgraph_fabric.errors import MemoryValidationError
from langgraph_fabric.fabric.memory import Memory
from langgraph_fabric.fabric.run import Run
from langgraph_fabric.fabric.settings import Settings
from langgraph_fabric.memory.rows import Place
from langgraph_fabric.memory.scope import Scope


def _nonce() -> str:
    return uuid4().hex


@dataclass(frozen=True, slots=True)
class Opened:
    """One scope's memory together with the store it lies in."""

    memory: Memory
    store: StoreAdapter

    def run(self, flow: Flow[T]) -> T:
        """Drive a flow on the store, blocking."""
        return run(flow, self.store)

    async def arun(self, flow: Flow[T]) -> T:
        """Drive a flow on the store without blocking the event loop."""
        return await arun(flow, self.store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What every surface of a fabric shares."""

    scope: Scope
    store: BaseStore | None = None
    """None uses the run's own store."""
    settings: Settings = field(default_factory=Settings)
    profile: EmbedderProfile | None = None
    """None reads it off the store's embedder."""
    clock: Clock = system_clock
    nonce: Callable[[], str] = _nonce
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """Placeholders that host code filled; they win over the run's."""
    attached: set[str] = field(default_factory=set[str])
    """Threads attached in code; shared by every copy of this engine."""

    def at(self, values: Mapping[str, object]) -> "Engine":
        """Return the engine with some placeholders filled by host code."""
        return replace(self, values={**self.values, **values})

    def open(self, in_run: Run | None = None) -> Opened:
        """Return the memory of the given run, or of the one this code executes in.

        Raises:
            MemoryScopeError: A placeholder of the scope is filled by nobody.
            MemoryValidationError: There is neither a store of the fabric's nor one of the run's.
        """
        found = Run.current() if in_run is None else in_run

        def value_of(name: str) -> object:
            return self.values[name] if name in self.values else found.value_of(name)

        store = self.adapter(found)
        profile = self.profile or (
            profile_of(store.embeddings) if store.embeddings else EmbedderProfile(id="")
        )
        memory = Memory(
            place=Place(self.scope.namespace(value_of)),
            settings=self.settings,
            profile=profile,
            clock=self.clock,
            nonce=self.nonce,
            semantic=store.embeddings is not None,
        )
        return Opened(memory, store)

    def adapter(self, in_run: Run | None = None) -> StoreAdapter:
        """Return the store that `open` would use, whoever's memory it is.

        Raises:
            MemoryValidationError: There is neither a store of the fabric's nor one of the run's.
        """
        return StoreAdapter(self._store_for(Run.current() if in_run is None else in_run))

    def _store_for(self, found: Run) -> BaseStore:
        if self.store is None:
            if found.store is None:
                raise MemoryValidationError(
                    "store",
                    "neither given to the fabric nor carried by the run",
                    "Pass a store to MemoryFabric, or compile the graph with store=",
                )
            return found.store
        if found.store is not None and found.store is not self.store:
            warnings.warn(
                "The run carries another store than the fabric; the fabric's own is used. "
                "Compile the graph with store= the same one, or make the fabric without a store.",
                RuntimeWarning,
                stacklevel=2,
            )
        return self.store
