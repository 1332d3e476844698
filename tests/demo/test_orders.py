"""A first large result: the demo reads parts of what was kept aside, and passes the whole on by reference."""

import json
from typing import Any

import pytest

from gateway.demo.demo_tools import MAX_ORDERS, ORDERS, TOTALS, order_totals, sample_orders
from tests.demo.bare import ask
from tests.demo.conftest import Send
from tests.product import BadArguments, ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

REF = "ART-0123456789"
TOOLS = [
    {"name": name, "description": "A tool.", "input_schema": {"type": "object"}}
    for name in (ORDERS, TOTALS, "read_artifact", "search_docs")
]


async def answered(send: Send, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    body = ask("", tools=tools, stream=False) | {"messages": messages}
    return json.loads((await send(body)).body)


def calls_of(answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(block["name"], block["input"]) for block in answer["content"] if block["type"] == "tool_use"]


def continued(messages: list[dict[str, Any]], answer: dict[str, Any], *results: str) -> list[dict[str, Any]]:
    """The history after the calls of an answer have these results."""
    used = [block for block in answer["content"] if block["type"] == "tool_use"]
    content = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": result}
        for block, result in zip(used, results, strict=True)
    ]
    return [
        *messages,
        {"role": "assistant", "content": answer["content"]},
        {"role": "user", "content": content},
    ]


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Show me 10000 sample orders.", 10_000),
        ("show me 1,500 sample orders", 1500),
        ("Give me sample orders", 10_000),
        ("99999999 sample orders please", 10_000),
        ("给我一万条示例订单", 10_000),
        ("來 3000 條範例訂單", 3000),
        ("看看示例订单", 10_000),
        ("How do orders work?", None),
        ("我的订单在哪里？", None),
    ],
)
async def test_a_message_that_asks_for_sample_orders_gets_them(
    send: Send, message: str, count: int | None
) -> None:
    """As many as it names, in digits or in Chinese, up to the most there are."""
    found = calls_of(await answered(send, [{"role": "user", "content": message}], TOOLS))

    assert [call for call in found if call[0] == ORDERS] == (
        [] if count is None else [(ORDERS, {"count": count})]
    )


@pytest.mark.parametrize(
    ("message", "words"), [("Show me 10000 sample orders", "returned"), ("给我一万条示例订单", "返回")]
)
async def test_the_whole_goes_by_reference_after_two_parts_were_read(
    send: Send, message: str, words: str
) -> None:
    """One step in each model call, and the answer quotes what the tools gave, not what is around it."""
    history: list[dict[str, Any]] = [{"role": "user", "content": message}]
    first = await answered(send, history, TOOLS)
    history = continued(
        history, first, f"<tool_output>\n{REF}: application/json.\n\n  orders\n</tool_output>"
    )
    second = await answered(send, history, TOOLS)
    read = "<tool_output>\nFrom it.\n\n{}\n</tool_output>\nLines 3-5 of 10,002. Read on with lines=6-8."
    history = continued(history, second, read.format('{"id":"A-00001"}'), read.format('{"id":"A-00002"}'))
    third = await answered(send, history, TOOLS)
    history = continued(history, third, '{"orders":10000}')
    last = await answered(send, history, TOOLS)

    assert calls_of(second) == [
        ("read_artifact", {"ref": REF, "json_path": "$.orders[0]"}),
        ("read_artifact", {"ref": REF, "lines": "3-5"}),
    ]
    assert calls_of(third) == [(TOTALS, {"orders": {"$artifact": REF}})]
    assert calls_of(last) == []
    answer = last["content"][0]["text"]
    assert all(each in answer for each in (words, '> {"id":"A-00001"}', '> {"orders":10000}'))
    assert "Read on with" not in answer


async def test_a_few_orders_are_told_as_any_result_is(send: Send) -> None:
    """Nothing was kept aside, so nothing is read."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "Show me 2 sample orders"}]
    first = await answered(send, history, TOOLS)
    last = await answered(send, continued(history, first, '{"orders":[]}'), TOOLS)

    assert calls_of(last) == []
    assert '> {"orders":[]}' in last["content"][0]["text"]


async def test_a_call_may_name_the_newest_artifact(send: Send) -> None:
    """Before there is one the placeholder stays, and says so to whoever reads the call."""
    script = '/call a {"ref": "{{artifact}}"}\n/then\n/call b {"x": {"$artifact": "{{artifact}}"}}'
    history: list[dict[str, Any]] = [{"role": "user", "content": script}]
    first = await answered(send, history, [])
    second = await answered(send, continued(history, first, f"{REF}: kept, not ART-0000000000"), [])

    assert calls_of(first) == [("a", {"ref": "{{artifact}}"})]
    assert calls_of(second) == [("b", {"x": {"$artifact": REF}})]


async def test_the_sample_is_two_megabytes_of_orders_in_two_languages() -> None:
    """The same ones each time, one on each line; the totals are of all of them."""
    made = (await sample_orders.run({"count": MAX_ORDERS}, context())).content
    again = (await sample_orders.run({"count": MAX_ORDERS}, context())).content
    totals = json.loads((await order_totals.run({"orders": made}, context())).content)
    orders = json.loads(made)["orders"]

    assert made == again
    assert 2_000_000 < len(made.encode()) < 2_500_000
    assert [json.loads(line.rstrip(",")) for line in made.splitlines()[1:-1]] == orders
    assert (totals["orders"], totals["bytes"]) == (MAX_ORDERS, len(made.encode()))
    assert totals["amount"] == sum(order["amount"] for order in orders)
    assert {"green tea", "龙井绿茶"} <= {order["item"] for order in orders}


@pytest.mark.parametrize("given", ["", "[1]", '{"rows": []}', "[[]]", '{"orders": 5}', "订单"])
async def test_what_is_no_order_cannot_be_added_up(given: str) -> None:
    """The model reads what to pass instead."""
    with pytest.raises(ToolError, match="pass the JSON that sample_orders gave"):
        await order_totals.run({"orders": given}, context())


@pytest.mark.parametrize("count", [0, MAX_ORDERS + 1])
async def test_there_is_a_most_of_orders(count: int) -> None:
    """The schema says so, too."""
    with pytest.raises(BadArguments, match="count"):
        await sample_orders.run({"count": count}, context())
