"""The context of a tool call that no turn stands behind."""

from collections.abc import Callable

from gateway.tools.base import ToolContext
from tests.product import EventData


def context(emit: Callable[[EventData], None] = lambda _: None) -> ToolContext:
    return ToolContext("s_1", "t_1", "toolu_1", "local", "t_1:toolu_1", emit)
