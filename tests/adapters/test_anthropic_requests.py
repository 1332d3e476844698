"""What clients of Anthropic's Messages API send, read without a server."""

import base64
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.adapters.anthropic.anthropic_requests import (
    MessagesBody,
    check_possible,
    conversation_of,
    counted_messages,
    tools_of,
)
from gateway.artifacts.attached_files import Upload
from gateway.history.tokens import tokens_of
from tests.artifacts.files import png
from tests.product import InvalidRequest

ASK = {"role": "user", "content": "hi"}
PNG = base64.b64encode(png(4, 3)).decode()
NAMES = ["type", "text", "content", "source", "data", "tool_use_id", "title", "memories"]
VALUES = ["", "x", "text", "image", "document", "tool_result", "recalled", "\0", "base64", None, True, 7]
ODD = st.recursive(
    st.sampled_from(VALUES),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inside, max_size=4),
    max_leaves=8,
)
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": ODD})


def body(*messages: Any, **more: Any) -> MessagesBody:
    return MessagesBody.model_validate({"messages": [*messages], **more})


def read(asked: MessagesBody) -> None:
    """All that the route does before it asks."""
    check_possible(asked)
    said = conversation_of(asked)
    tools_of(asked)
    assert tokens_of(counted_messages(asked)) >= 0
    said.asked()
    assert all(each.role for each in said.seeds())


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "output_config"),
        ({"output_format": {"type": "json_schema", "schema": {}}}, "output_config"),
        ({"mcp_servers": [{"type": "url", "url": "https://x.example", "name": "x"}]}, "mcp_servers"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools"),
        ({"tools": [{"type": [], "name": "x", "input_schema": {}}]}, "tools"),
        ({"tools": [{"name": "x"}]}, "tools"),
        ({"messages": []}, "messages"),
        ({"messages": [ASK, {"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "container_upload"}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": []}]}]}, "messages"),
        ({"messages": [{"role": "user", "content": "a\0b"}]}, "messages"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_parameter(given: dict[str, Any], param: str) -> None:
    """Never silently left out."""
    with pytest.raises(InvalidRequest) as refused:
        read(MessagesBody.model_validate({"messages": [ASK], **given}))
    assert refused.value.details == {"param": param}


@given(st.lists(MESSAGE, max_size=4))
def test_whatever_is_in_a_message_is_read_or_refused(messages: list[Any]) -> None:
    """Nothing else is raised."""
    with suppress(InvalidRequest):
        read(body(*messages))


@pytest.mark.parametrize(
    ("block", "name", "data", "mime"),
    [
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            "file.png",
            png(4, 3),
            "image/png",
        ),
        (
            {"type": "image", "source": {"type": "url", "url": f"data:image/png;base64,{PNG}"}},
            "file.png",
            png(4, 3),
            "image/png",
        ),
        (
            {"type": "document", "title": "a.txt", "source": {"type": "text", "data": "hi"}},
            "a.txt",
            b"hi",
            "text/plain",
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "hi"}]}},
            "file.plain",
            b"hi",
            "text/plain",
        ),
        (
            {
                "type": "search_result",
                "title": "A page",
                "source": "https://x.example",
                "content": [{"type": "text", "text": "so"}],
            },
            "A page",
            b"so",
            "text/plain",
        ),
    ],
)
def test_blocks_with_a_content_are_files(block: Any, name: str, data: bytes, mime: str) -> None:
    asked = conversation_of(body({"role": "user", "content": [block]})).asked()

    assert asked is not None
    assert [*asked.files] == [Upload(data, name, mime)]
    assert asked.text == ""


@pytest.mark.parametrize(
    "source",
    [
        {"type": "url", "url": "https://x.example/a.png"},
        {"type": "file", "file_id": "file_1"},
        {"type": "base64", "media_type": "image/png", "data": "%"},
        {"type": "content", "content": [{"type": "image"}]},
        "x",
        None,
    ],
)
def test_files_elsewhere_are_refused(source: Any) -> None:
    said = conversation_of(body({"role": "user", "content": [{"type": "document", "source": source}]}))

    with pytest.raises(InvalidRequest):
        said.asked()


def test_results_of_tools_have_their_text_their_files_and_whether_they_failed() -> None:
    """Those of the last answer; text beside them is a question."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    call = f"t_{'0' * 32}:toolu_1"
    given = {
        "type": "tool_result",
        "tool_use_id": call,
        "is_error": True,
        "content": [{"type": "text", "text": "It broke."}, image],
    }
    calling = {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "x", "input": {}}]}
    alone = conversation_of(body(ASK, calling, {"role": "user", "content": [given]}))
    beside = conversation_of(
        body(ASK, calling, {"role": "user", "content": [given, {"type": "text", "text": "And now?"}]})
    )
    (result,) = alone.results

    assert (result.call_id, result.text, result.is_error) == (call, "It broke.", True)
    assert [(file.name, file.mime) for file in result.files] == [("file.png", "image/png")]
    assert (alone.question, alone.asked()) == (None, None)
    assert beside.question is not None
    assert (beside.question.text, [*beside.results]) == ("And now?", [result])


def test_a_system_prompt_is_text_or_blocks_and_may_come_as_a_message() -> None:
    blocks = [{"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}}]
    later = {"role": "system", "content": "Two."}

    assert conversation_of(body(ASK, system="One.")).instructions == "One."
    assert conversation_of(body(later, ASK, system=blocks)).instructions == "One.\n\nTwo."
