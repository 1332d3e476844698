"""The tools every gateway has."""

from gateway.tools.arithmetic import calculate
from gateway.tools.base import FunctionTool
from gateway.tools.clock import current_time
from gateway.tools.search_docs import Docs, docs_search


def builtin_tools() -> tuple[FunctionTool, ...]:
    """current_time, calculate and search_docs; the last over this project's own docs."""
    return (current_time, calculate, docs_search(Docs()))
