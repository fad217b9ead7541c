"""Conformance: what any LangGraph store promises, run against it.

    from langgraph.store.memory import InMemoryStore
    from langgraph_fabric.store.conformance import check

    report = check(InMemoryStore)
    print(report.markdown())

Each promise is one short function in `promises`, and gets a store of its own from the factory. What
a store does not offer at all (embeddings, a time to live) is told apart from what it breaks. From
the shell: `python -m langgraph_fabric.store.conformance package.module:factory`.
"""

from langgraph_fabric.store.conformance.promises import PROMISES, Promise
from langgraph_fabric.store.conformance.runner import Outcome, Report, check

__all__ = ["PROMISES", "Outcome", "Promise", "Report", "check"]
