"""The demo refuses what the real API refuses: a history it accepts is valid."""

import json
from typing import Any

import pytest

from gateway.demo.signatures import redacted_block, thinking_block
from gateway.demo.strictness import THOUGHT_FIRST, RejectedRequest, check
from tests.demo.bare import ask
from tests.demo.conftest import Send

pytestmark = pytest.mark.anyio

USER: dict[str, Any] = {"role": "user", "content": "hello"}
CALL: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {}}
RESULT: dict[str, Any] = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}
TEXT: dict[str, Any] = {"type": "text", "text": "And?"}
THOUGHT = thinking_block("Hm.", "demo")
TOOL: dict[str, Any] = {"name": "calculate", "input_schema": {"type": "object"}}
POINT: dict[str, Any] = {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}}
THINKING: dict[str, Any] = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def history(*turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """USER, and then messages of the assistant and the user by turns."""
    roles = ("assistant", "user")
    return [USER, *({"role": roles[n % 2], "content": blocks} for n, blocks in enumerate(turns))]


def body(messages: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    return {"model": "demo", "max_tokens": 4096, "messages": messages, **changes}


@pytest.mark.parametrize(
    ("request_body", "message"),
    [
        ([], "not a JSON object"),
        (body([]), "at least one message"),
        (body([USER], nonsense=1), "nonsense: Extra inputs"),
        ({"max_tokens": 1, "messages": [USER]}, "model: Field required"),
        ({"model": "demo", "messages": [USER]}, "max_tokens: Field required"),
        (body([USER], max_tokens=0), "max_tokens"),
        (body([USER], temperature=2), "temperature"),
        (body([USER], temperature=0.5, **THINKING), "temperature"),
        (body([USER], thinking={"type": "enabled", "budget_tokens": 100}), "1024"),
        (body([USER], thinking={"type": "enabled", "budget_tokens": 4096}), "must be greater than"),
        (body([{"role": "assistant", "content": "hi"}]), "first message"),
        (body([{"role": "robot", "content": "hi"}]), "role"),
        (body([{"role": "user", "content": []}]), "non-empty content"),
        (body([{"role": "user", "content": [{"type": "text", "text": ""}]}]), "non-empty"),
        (body([{"role": "user", "content": [{"type": "text", "text": " \n"}]}]), "non-whitespace"),
        (body([{"role": "user", "content": [{"type": "sonnet"}]}]), "'sonnet'"),
        (body([{"role": "user", "content": [{**TEXT, "id": 1}]}]), "Extra inputs"),
        (body([{"role": "user", "content": [CALL]}]), "not permitted in `user`"),
        (body(history([CALL])), "without `tool_result`"),
        (body(history([CALL], [TEXT])), "without `tool_result`"),
        (body(history([CALL], [TEXT, RESULT])), "must come first"),
        (body(history([CALL], [RESULT, RESULT])), "single result"),
        (body(history([CALL, CALL], [RESULT])), "must be unique"),
        (body(history([CALL], [RESULT], [CALL], [RESULT])), "must be unique"),
        (body(history([TEXT], [RESULT])), "unexpected `tool_use_id`"),
        (body(history([{**CALL, "id": "no/slash"}], [RESULT])), "pattern"),
        (body(history([{**CALL, "input": "{}"}], [RESULT])), "input: Input should be a valid dictionary"),
        (body(history([{**THOUGHT, "thinking": "Changed."}, TEXT], [TEXT])), "Invalid `signature`"),
        (body(history([{**THOUGHT, "signature": ""}, TEXT], [TEXT])), "Invalid `signature`"),
        (body(history([{"type": "thinking", "thinking": "Hm."}, TEXT], [TEXT])), "signature: Field required"),
        (
            body(history([{"type": "redacted_thinking", "data": "made up"}, TEXT], [TEXT])),
            "Invalid `signature`",
        ),
        (
            body(history([thinking_block("Hm.", "another"), TEXT], [TEXT])),
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (body(history([THOUGHT], [TEXT])), "final block"),
        (body([USER], tools=[TOOL, TOOL]), "unique"),
        (body([USER], tools=[{**TOOL, "name": "a b"}]), "pattern"),
        (body([USER], tools=[{"name": "x", "input_schema": {}}]), "input_schema"),
        (
            body(
                [USER],
                system=[POINT] * 3,
                tools=[{**TOOL, "cache_control": {"type": "ephemeral"}}],
                metadata={},
            )
            | {"messages": [{"role": "user", "content": [POINT]}]},
            "maximum of 4",
        ),
    ],
)
def test_what_the_api_refuses_is_refused(request_body: Any, message: str) -> None:
    """Each broken rule is a Refused that names it."""
    with pytest.raises(RejectedRequest) as caught:
        check(request_body)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "request_body",
    [
        body([USER, USER]),
        body(history([CALL], [RESULT])),
        body(history([CALL], [RESULT, TEXT])),
        body(
            history([TEXT, CALL, {**CALL, "id": "toolu_2"}], [{**RESULT, "tool_use_id": "toolu_2"}, RESULT])
        ),
        body([*history([CALL], [RESULT]), USER]),
        body(history([THOUGHT, redacted_block("x", "demo"), TEXT], [TEXT])),
        body(history([{"type": "demo_novelty", "payload": 1}], [TEXT])),
        body(history([TEXT])),
        body([USER], system="Be brief.", tools=[TOOL], temperature=1, **THINKING),
        body([{"role": "user", "content": [POINT] * 4}]),
    ],
)
def test_a_valid_request_is_accepted_unchanged(request_body: dict[str, Any]) -> None:
    """What the API accepts comes back as it is."""
    assert check(request_body) is request_body


def test_a_thought_may_not_be_dropped_while_its_calls_are_answered() -> None:
    """With thinking on, a call that followed a thought needs the thought in front of it."""
    call = {**CALL, "id": THOUGHT_FIRST + "1"}
    result = {**RESULT, "tool_use_id": THOUGHT_FIRST + "1"}
    with pytest.raises(RejectedRequest):
        check(body(history([call], [result]), **THINKING))
    assert check(body(history([THOUGHT, call], [result]), **THINKING))
    assert check(body(history([call], [result, TEXT]), **THINKING))


async def test_a_refusal_has_the_shape_of_the_api(send: Send) -> None:
    """Status 400 and {"type": "error", "error": {"type", "message"}}; malformed JSON and UTF-8 too."""
    for content in (b"{", b'"\xff"', b"[" * 100_000, b"", json.dumps({}).encode()):
        received = await send(content)
        assert received.status == 400
        refused = json.loads(received.body)
        assert refused["type"] == "error"
        assert refused["error"]["type"] == "invalid_request_error"
        assert refused["error"]["message"]


async def test_what_the_demo_wrote_it_accepts_back(send: Send) -> None:
    """Content with thoughts, calls and novelties goes back unchanged and is accepted."""
    script = '/think Hm.\n/redacted\n/call calculate {"expression":"1+1"}\n/then\n/say finished'
    first = await send({**ask(script), "stream": False})
    content = json.loads(first.body)["content"]
    result = {**RESULT, "tool_use_id": content[-1]["id"]}
    messages = [
        *ask(script)["messages"],
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
    ]
    second = await send({**ask(script), "messages": messages, **THINKING})
    assert second.text == "finished"
