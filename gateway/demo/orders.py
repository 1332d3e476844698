"""Sample orders, so that the first run can show what becomes of a large result: `gateway dev` without a model
offers `sample_orders` and `order_totals`. The demo calls the first for "show me 10000 sample orders" and
给我一万条示例订单, reads two parts of the artifact that its result becomes, and passes the whole by
reference to the second.

Everything follows from the request alone, so a turn that another process goes on with ends the same.
"""

import re
from collections import Counter
from datetime import date, timedelta
from typing import Annotated, Any

import orjson
from pydantic import Field

from gateway.demo import reports
from gateway.demo.asked import Asked, ToolSaid
from gateway.demo.directives import Call, Wanted
from gateway.demo.wire import text_block
from gateway.tools.base import READ_ARTIFACT, FunctionTool
from gateway.tools.function import ToolError, tool

SAMPLE, TOTALS = reports.SAMPLE_ORDERS, "order_totals"
MAX_ORDERS = 10_000
"""Orders of one call: 2 MB of JSON."""
MOST_TEXT = 20_971_520
"""Characters of orders that are added up."""

_ASKS = re.compile(
    r"(?:(?P<number>\d[\d,]{0,9})\s+)?\b(?:sample|example|demo)\s+orders\b"
    r"|(?:(?P<digits>\d[\d,]{0,9}|[一二两兩三四五六七八九十])\s*(?P<power>[万萬千百])?\s*[条條个個份笔筆]?\s*)?"
    r"(?:示例|样例|樣例|範例|范例|演示)(?:用)?的?[订訂][单單]",
    re.IGNORECASE,
)
_DIGITS = {"两": 2, "兩": 2} | {digit: value for value, digit in enumerate("一二三四五六七八九十", start=1)}
_POWERS = {"万": 10_000, "萬": 10_000, "千": 1000, "百": 100}
_PATH, _LINES = "$.orders[0]", "3-5"

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
_NOTES = (
    "Please deliver in the afternoon and ring twice; leave it at the door.",
    "请在下午送货，按两次门铃，放在门口就好，谢谢你。",
)
_FIRST_DAY = date(2026, 1, 1)

_WORDS = {
    "ask": ("Let me get them.", "我来取。"),
    "read": (
        "That is a lot, so the gateway kept it aside. I read two parts of it.",
        "内容很大，网关把它另存了。我读其中两段。",
    ),
    "pass": (
        "Now I pass the whole to `order_totals`, by its reference: it does not go through me.",
        "现在我把全文按引用交给 `order_totals`，内容不经过我。",
    ),
    "kept": ("The orders are kept as the artifact `{}`.", "订单已另存为工件 `{}`。"),
    "part": ("With `{}` I read:", "我用 `{}` 读到："),
    "whole": ("`order_totals` got all of it, by reference:", "`order_totals` 按引用拿到了全文："),
}


def order_tools() -> tuple[FunctionTool, ...]:
    """The tools `sample_orders` and `order_totals`."""
    return sample_orders, order_totals


@tool(effect="read_only", name=SAMPLE, category="demo", examples=("Show me 10000 sample orders.",))
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
    if len(orders) > MOST_TEXT:
        raise ToolError(f"These are more than {MOST_TEXT} characters: pass a part of them.")
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
    goods = _GOODS[number // 2 % len(_GOODS)]
    return {
        "id": f"A-{number:05}",
        "date": (_FIRST_DAY + timedelta(days=number % 365)).isoformat(),
        "customer": _NAMES[number % len(_NAMES)][chinese],
        "city": _CITIES[number % len(_CITIES)][chinese],
        "item": goods[chinese],
        "quantity": quantity,
        "amount": quantity * (5 + number % 90),
        "status": _STATES[number % 11 % len(_STATES)],
        "note": _NOTES[chinese],
    }


def begin(asked: Asked) -> list[Wanted]:
    """The call for a message that asks for sample orders."""
    found = _ASKS.search(asked.text)
    if found is None or SAMPLE not in asked.tools:
        return []
    return [_line("ask", asked), Call(SAMPLE, {"count": _count(found)})]


def go_on(asked: Asked) -> list[Wanted]:
    """What follows once they are there: two parts are read, then the whole is passed on, then it is told.
    Nothing when they were few, a call failed, or what it takes is not offered."""
    names = [said.name for said in asked.results]
    if names[:1] != [SAMPLE] or any(said.is_error for said in asked.results):
        return []
    ref = asked.results[0].artifact
    if ref is None or not {READ_ARTIFACT, TOTALS} <= asked.tools:
        return []
    if names == [SAMPLE]:
        return [
            _line("read", asked),
            Call(READ_ARTIFACT, {"ref": ref, "json_path": _PATH}),
            Call(READ_ARTIFACT, {"ref": ref, "lines": _LINES}),
        ]
    if TOTALS not in names:
        return [_line("pass", asked), Call(TOTALS, {"orders": {"$artifact": ref}})]
    return [text_block(_report(asked, ref))]


def _report(asked: Asked, ref: str) -> str:
    told = [_say("kept", asked, ref)]
    for said in asked.results[1:]:
        head = _say("whole", asked) if said.name == TOTALS else _say("part", asked, _part(said))
        told.append(f"{head}\n\n{reports.quote(said.own_words)}")
    return "\n\n".join([*told, reports.closing(asked.chinese)])


def _part(said: ToolSaid) -> str:
    return " ".join(f"{name}={value}" for name, value in said.arguments.items() if name != "ref")


def _count(found: re.Match[str]) -> int:
    digits = found["number"] or found["digits"]
    if not digits:
        return MAX_ORDERS
    number = _DIGITS.get(digits) or int(digits.replace(",", ""))
    return max(1, min(number * _POWERS.get(found["power"] or "", 1), MAX_ORDERS))


def _line(what: str, asked: Asked) -> Wanted:
    return text_block(_say(what, asked))


def _say(what: str, asked: Asked, *values: object) -> str:
    return _WORDS[what][asked.chinese].format(*values)
