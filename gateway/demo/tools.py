"""What `gateway dev` offers beside the built-in tools while the demo model answers."""

from pathlib import Path

from gateway.demo.notes import write_note
from gateway.demo.orders import order_tools
from gateway.tools.base import FunctionTool


def demo_tools(folder: Path) -> tuple[FunctionTool, ...]:
    """A tool that has an effect, which is in `folder`, and two for large results."""
    return write_note(folder), *order_tools()
