"""What clients of OpenAI's responses may send, and what it comes to."""

from typing import Any

import pytest

from gateway.adapters.openai.responses_requests import (
    ResponseBody,
    ResponsesDecision,
    check_possible,
    client_tools_of,
    conversation_id,
    input_of,
)
from tests.product import InvalidRequest

TITLE: Any = {"type": "function", "name": "page_title", "strict": False}


def body(**given: Any) -> ResponseBody:
    return ResponseBody.model_validate({"input": "x"} | given)


def read(asked: ResponseBody) -> None:
    """All of it, in the order in which the route does."""
    check_possible(asked)
    said = input_of(asked).conversation
    conversation_id(asked)
    client_tools_of(asked)
    if said.question is not None:
        said.question.files()


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"tools": [TITLE | {"parameters": "x"}]}, "tools"),
        ({"tools": [TITLE], "tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "text"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"conversation": "a", "previous_response_id": "resp_t_1"}, "conversation"),
        ({"conversation": {"id": 1}}, "conversation"),
        ({"input": []}, "input"),
        ({"input": " "}, "input"),
        ({"input": [{"role": "assistant", "content": "x"}]}, "input"),
        ({"input": [{"role": "robot", "content": "x"}]}, "input"),
        ({"input": [{"role": "user", "content": [{"type": "video"}]}]}, "input"),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "image_url": "http://x/"}]},
                ]
            },
            "input",
        ),
        (
            {"input": [{"type": "mcp_approval_response", "approval_request_id": "x", "approve": "yes"}]},
            "input",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_parameter(given: dict[str, Any], param: str) -> None:
    """Never silently left out."""
    with pytest.raises(InvalidRequest) as refused:
        read(body(**given))

    assert refused.value.details == {"param": param}


def test_items_that_come_back_say_only_that_the_model_had_its_say() -> None:
    """Of results and decisions those count that nothing of the model's follows."""
    items = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "summary": []},
        {"type": "mcp_approval_request", "id": "t:1"},
        {"type": "mcp_approval_response", "approval_request_id": "t:1", "approve": True},
        {"type": "mcp_call", "name": "f"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
        {"type": "function_call", "call_id": "t:2"},
        {"type": "something_new"},
        {"type": "function_call_output", "call_id": "t:2", "output": [{"type": "input_text", "text": "c"}]},
        {"type": "mcp_approval_response", "approval_request_id": "t:3", "approve": False, "reason": "no"},
    ]

    said, decisions, _ = input_of(body(input=items))

    assert [(each.question.text, each.answer) for each in said.before] == [("a", "b")]
    assert [(each.call_id, each.text) for each in said.results] == [("t:2", "c"), ("t:3", "")]
    assert (said.question, decisions["t:3"]) == (None, ResponsesDecision(is_approved=False, reason="no"))


def test_results_of_one_turn_come_in_any_order() -> None:
    """Those of calls side by side may stand behind each; what came before the user's message is done."""

    def ran(call: str) -> list[dict[str, Any]]:
        named = {"call_id": call, "name": "f"}
        return [{"type": "function_call", **named}, {"type": "function_call_output", **named, "output": "x"}]

    items = [
        {"role": "user", "content": "a"},
        *ran("t_1:1"),
        {"role": "user", "content": "b"},
        *ran("t_2:1"),
        *ran("t_2:2"),
    ]

    said = input_of(body(input=items)).conversation

    assert [each.call_id for each in said.results] == ["t_2:1", "t_2:2"]
    assert [each.question.text for each in said.before] == ["a", "b"]


def test_after_a_response_that_is_named_the_input_is_new_alone() -> None:
    """Messages that follow each other are one; what has an answer is refused."""
    named = {"previous_response_id": "resp_t_1"}
    asked = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    said = input_of(body(input=asked, **named)).conversation

    assert said.question is not None
    assert (said.question.text, said.before) == ("a\n\nb", ())
    answered = [asked[0], {"role": "assistant", "content": "x"}, asked[1]]
    with pytest.raises(InvalidRequest):
        input_of(body(input=answered, **named))


def test_the_server_of_the_gateways_own_tools_may_be_named() -> None:
    """Agents decide about approvals of servers that they know."""
    tools = [TITLE, {"type": "mcp", "server_label": "gateway", "server_url": "https://x/"}]

    found = client_tools_of(body(input="x", tools=tools))

    assert [each.name for each in found] == ["page_title"]


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        (f"msg_t_{'a' * 32}-3", f"t_{'a' * 32}"),
        (f"mcp_t_{'a' * 32}-toolu_1", f"t_{'a' * 32}"),
        (f"t_{'a' * 32}:toolu_1", f"t_{'a' * 32}"),
        ("msg_67c9f0", None),
    ],
)
def test_an_answer_that_is_only_named_says_its_turn(name: str, turn: str | None) -> None:
    """As the AI SDK does, which keeps no text of what the server has. An answer in words comes before it."""
    items = [
        {"role": "user", "content": "a"},
        {"type": "item_reference", "id": name},
        {"role": "user", "content": "b"},
    ]
    words = [*items[:2], {"role": "assistant", "content": "x"}, items[2]]

    assert input_of(body(input=items)).after == turn
    assert input_of(body(input=words)).after is None
