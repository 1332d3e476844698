"""What `gateway dev` offers beside the built-in tools while the demo model answers: a tool that needs a yes,
and two for large results.
"""

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import Field

from gateway.tools.base import FunctionTool
from gateway.tools.function import ToolError, tool

NOTE, ORDERS, TOTALS = "write_note", "sample_orders", "order_totals"
NOTES_FILE = "notes.md"
MAX_NOTE = 500
"""Characters of one note."""
MAX_NOTES = 65_536
"""Bytes of the file."""
MAX_ORDERS = 10_000
"""Orders of one call: 2 MB of JSON."""
MAX_ADDED = 20_971_520
"""Characters of orders that are added up."""

_GOODS = (("green tea", "龙井绿茶"), ("notebook", "笔记本"), ("desk lamp", "台灯"), ("umbrella", "雨伞"))
_NAMES = (
    ("Grace Miller", "王芳"),
    ("Tom Walsh", "李小明"),
    ("Ines Duarte", "陈思远"),
    ("Noah Becker", "赵雨桐"),
    ("Ada Novak", "林志强"),
)
_CITIES = (("Dublin", "上海"), ("Lisbon", "杭州"), ("Leipzig", "成都"))
_STATES = ("paid", "shipped", "delivered", "returned")
_REMARKS = (
    "Please deliver in the afternoon and ring twice; leave it at the door.",
    "请在下午送货，按两次门铃，放在门口就好，谢谢你。",
)


def demo_tools(folder: Path) -> tuple[FunctionTool, ...]:
    """`write_note`, whose file is in `folder`, `sample_orders` and `order_totals`."""
    return write_note(folder), sample_orders, order_totals


def write_note(folder: Path) -> FunctionTool:
    """The tool `write_note`, which appends lines to notes.md in `folder`."""

    @tool(
        effect="effectful",
        timeout=10,
        name=NOTE,
        category="demo",
        examples=("Note that the door code is 4711.",),
    )
    def write(text: str) -> str:
        """Writes a note: one line at the end of notes.md, a file beside the server's data.

        Args:
            text: What to note, 500 characters at most.
        """
        line = f"- {' '.join(text.split())}\n".encode()
        if len(text) > MAX_NOTE:
            raise ToolError(
                f"A note has {MAX_NOTE} characters at most, this one has {len(text)}: shorten it."
            )
        try:
            with (folder / NOTES_FILE).open("ab") as file:
                if file.tell() + len(line) > MAX_NOTES:
                    raise ToolError(f"{NOTES_FILE} is full: {MAX_NOTES} bytes. Delete what nobody needs.")
                file.write(line)
        except OSError as error:
            raise ToolError(f"{NOTES_FILE} cannot be written: {error.strerror}.") from None
        return f"Written to {NOTES_FILE}."

    return write


@tool(effect="read_only", name=ORDERS, category="demo", examples=("Show me 10000 sample orders.",))
def sample_orders(count: Annotated[int, Field(ge=1, le=MAX_ORDERS)]) -> str:
    """Gives made-up orders of a shop as JSON, one on each line, the same ones each time.

    Args:
        count: How many, 10000 at most, which are 2 MB.
    """
    lines = ",\n".join(orjson.dumps(_order(number)).decode() for number in range(1, count + 1))
    return f'{{"orders":[\n{lines}\n]}}'


@tool(effect="read_only", name=TOTALS, category="demo")
def order_totals(orders: str) -> dict[str, Any]:
    """Adds up orders.

    Args:
        orders: The JSON that sample_orders gave, best by its reference: {"$artifact": "ART-…"}.
    """
    if len(orders) > MAX_ADDED:
        raise ToolError(f"These are more than {MAX_ADDED} characters: pass a part of them.")
    try:
        found = orjson.loads(orders)
        rows = found["orders"] if isinstance(found, dict) else found
        return {
            "orders": len(rows),
            "bytes": len(orders.encode()),
            "quantity": sum(row["quantity"] for row in rows),
            "amount": sum(row["amount"] for row in rows),
            "by_status": Counter(row["status"] for row in rows),
        }
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ToolError("These are no orders: pass the JSON that sample_orders gave, as it is.") from None


def _order(number: int) -> dict[str, Any]:
    chinese = number % 2
    quantity = 1 + number % 7
    return {
        "id": f"A-{number:05}",
        "date": (date(2026, 1, 1) + timedelta(days=number % 365)).isoformat(),
        "customer": _NAMES[number % len(_NAMES)][chinese],
        "city": _CITIES[number % len(_CITIES)][chinese],
        "item": _GOODS[number // 2 % len(_GOODS)][chinese],
        "quantity": quantity,
        "amount": quantity * (5 + number % 90),
        "status": _STATES[number % 11 % len(_STATES)],
        "note": _REMARKS[chinese],
    }
