"""What the demo answers by itself: tools for the questions they are for, then quotations."""

import asyncio
import json
from typing import Any

import pytest

from tests.demo.bare import Received, ask
from tests.demo.conftest import Send
from tests.loopback import TIMEOUT

pytestmark = pytest.mark.anyio
TOOLS = [
    {"name": name, "description": name, "input_schema": {"type": "object"}}
    for name in ("search_docs", "calculate", "current_time")
]
FOUND = (
    "<search_results>\nPassages from the documentation.\n\n"
    "[1] Events › Resume (docs/events.md)\nSend Last-Event-ID with the last id you saw.\n\n"
    "[2] README (README.md)\nA stream can be resumed.\n</search_results>"
)
RESULTS = {
    "search_docs": FOUND,
    "calculate": "391",
    "current_time": "2026-03-01T12:00:00+00:00 (Sunday, UTC)",
}


def calls_of(received: Received) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    written = ""
    for event in received.events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            found.append((event["content_block"]["name"], {}))
            written = ""
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            written += event["delta"]["partial_json"]
        if event["type"] == "content_block_stop" and written:
            found[-1] = (found[-1][0], json.loads(written))
            written = ""
    return found


async def after_the_tools(send: Send, question: str, said: dict[str, str] = RESULTS) -> Received:
    """The answer of the second model call, with what the tools `said` in the history."""
    body = ask(question, tools=TOOLS)
    first = await send({**body, "stream": False})
    content: list[dict[str, Any]] = json.loads(first.body)["content"]
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": said[block["name"]]}
        for block in content
        if block["type"] == "tool_use"
    ]
    history = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    return await send({**body, "messages": body["messages"] + history})


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        (
            "How do I resume a stream? And what is 17*23?",
            [("search_docs", {"query": "resume stream"}), ("calculate", {"expression": "17*23"})],
        ),
        (
            "怎么恢复一个流？另外 17 乘以 23 是多少？",
            [("search_docs", {"query": "恢复 流"}), ("calculate", {"expression": "17*23"})],
        ),
        ("怎麼恢復串流", [("search_docs", {"query": "恢復串流"})]),
        ("what is 12.5 / 4", [("calculate", {"expression": "12.5/4"})]),
        ("（3+4）乘以 5", [("calculate", {"expression": "(3+4)*5"})]),
        (
            "10 ÷ 4 = ? 2的10次方",
            [("calculate", {"expression": "10/4"}), ("calculate", {"expression": "2**10"})],
        ),
        ("现在几点？", [("current_time", {})]),
        ("What time is it?", [("current_time", {})]),
        ("你好", []),
        ("hello!", []),
        ("Who are you?", []),
        ("colourless green ideas", []),
    ],
)
async def test_a_question_calls_the_tools_it_is_for(
    send: Send, question: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Search for questions about the gateway, arithmetic in signs or words, the time; nothing otherwise."""
    received = await send(ask(question, tools=TOOLS))
    assert calls_of(received) == calls
    assert received.text
    assert received.events[-2]["delta"]["stop_reason"] == ("tool_use" if calls else "end_turn")


async def test_no_tool_is_called_that_was_not_offered(send: Send) -> None:
    """Without tools the demo says what it is and how to use a real model."""
    received = await send(ask("How do I resume a stream? And what is 17*23?"))
    assert calls_of(received) == []
    assert "demo" in received.text
    assert "ANTHROPIC_API_KEY" in received.text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (
            "How do I resume a stream? And what is 17*23?",
            ["documentation", "Last-Event-ID", "docs/events.md", "17*23 = **391**", "demo model"],
        ),
        (
            "怎么恢复一个流？另外 17 乘以 23 是多少？",
            ["文档", "Last-Event-ID", "docs/events.md", "17*23 = **391**", "演示模型"],
        ),
        ("现在几点？", ["现在是 2026-03-01T12:00:00"]),
    ],
)
async def test_the_answer_quotes_the_results_in_the_users_language(
    send: Send, question: str, words: list[str]
) -> None:
    """After the tools have run the answer has their numbers and quotations with sources."""
    text = (await after_the_tools(send, question)).text
    assert [word for word in words if word not in text] == []
    assert "search_results" not in text


async def test_a_search_that_finds_nothing_is_told(send: Send) -> None:
    """A result without numbered entries, whatever its form, is quoted as it is."""
    for nothing in ("No passage of the documentation matches.", "", "[]"):
        received = await after_the_tools(send, "How does xyzzy work?", {"search_docs": nothing})
        assert received.status == 200
        assert received.events[-1] == {"type": "message_stop"}
        assert nothing.strip("[]") in received.text


LONG = 700_000


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "几",
        "what is the ",
        "1",
        "1 + ",
        "1.",
        "(",
        " ",
        "<a",
        "How do I resume a stream? What is 17*23? What time is it? ",
        "/pace ",
        "/burst /pace 0 ",
        "/burst\n",
        "/say x\n",
        "/a",
    ],
)
@pytest.mark.parametrize("before", ["", "/burst ", "How do I resume a stream? "])
async def test_a_long_message_is_answered(send: Send, before: str, piece: str) -> None:
    """However long a message is and whatever it repeats, it is read in a time that grows no faster."""
    async with asyncio.timeout(TIMEOUT):
        received = await send(ask(before + (piece * LONG)[:LONG], tools=TOOLS, stream=False))
    assert received.status in (200, 400)
    assert json.loads(received.body)["type"] in ("message", "error")


async def test_a_long_result_is_quoted(send: Send) -> None:
    """A tool result of one long line that looks like a tag is read once."""
    async with asyncio.timeout(TIMEOUT):
        received = await after_the_tools(
            send, "How do I resume a stream?", {"search_docs": "[1] x\n<" + "a" * 200_000}
        )
    assert received.events[-1] == {"type": "message_stop"}


async def test_a_question_in_a_long_message_is_still_read(send: Send) -> None:
    """What a message asks at its beginning is answered, however much follows."""
    received = await send(ask("What is 17*23? " + "lorem ipsum " * 50_000, tools=TOOLS))
    assert calls_of(received)[-1] == ("calculate", {"expression": "17*23"})


async def test_a_failed_tool_is_told(send: Send) -> None:
    """An error result is reported as a failure, in words."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {"expression": "1/0"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "divides by zero", "is_error": True}
    body = ask("what is 1/0", tools=TOOLS)
    history = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    text = (await send({**body, "messages": body["messages"] + history})).text
    assert "`calculate` failed: divides by zero" in text


@pytest.mark.parametrize("question", ["Write me something long, please.", "请写一篇长文"])
async def test_a_long_answer_has_hundreds_of_pieces(send: Send, question: str) -> None:
    """Asked for something long, the demo streams about 600 pieces, tools or not."""
    received = await send(ask(question, tools=TOOLS))
    pieces = [event for event in received.events if event["type"] == "content_block_delta"]
    assert 450 < len(pieces) < 900


@pytest.mark.parametrize("question", ["Think about 6*7", "思考一下 6*7"])
async def test_it_thinks_when_asked_and_allowed_to(send: Send, question: str) -> None:
    """A thinking block comes first when the request enables thinking, and none when it does not."""
    enabled = {"type": "enabled", "budget_tokens": 1024}
    thoughtful = await send(ask(question, tools=TOOLS, thinking=enabled))
    kinds = [event["delta"]["type"] for event in thoughtful.events if event["type"] == "content_block_delta"]
    assert kinds[0] == "thinking_delta"
    assert "signature_delta" in kinds
    assert b"thinking" not in (await send(ask(question, tools=TOOLS))).body


async def test_the_question_is_the_last_text_of_the_newest_message(send: Send) -> None:
    """Context before the user's words, even with lines that look like directives, is not the question."""
    content = [
        {"type": "text", "text": "<retrieved_context>\n/unknown thing\n</retrieved_context>"},
        {"type": "text", "text": "/say mine"},
    ]
    received = await send({**ask(""), "messages": [{"role": "user", "content": content}]})
    assert received.text == "mine"
