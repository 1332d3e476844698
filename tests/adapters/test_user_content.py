"""Files as clients of other makers send them, in the message itself."""

import base64
import tracemalloc
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from gateway.adapters.ag_ui.ag_ui_requests import RunBody, user_content
from gateway.adapters.ai_sdk.ai_sdk_requests import UiChatBody
from gateway.adapters.anthropic.anthropic_requests import MessagesBody
from gateway.adapters.openai.openai_requests import CHAT, ChatCompletionBody, conversation_of
from gateway.adapters.openai.responses_requests import ResponseBody, input_of
from gateway.adapters.user_content import MAX_ESCAPED, MAX_MESSAGES, file_at
from gateway.artifacts.attached_files import Upload
from tests.product import InvalidRequest


@pytest.mark.parametrize(
    ("url", "data", "mime"),
    [
        ("data:text/plain;base64,aGk=", b"hi", "text/plain"),
        ("data:text/plain;charset=utf-8;base64,aGk%3D", b"hi", "text/plain"),
        (f"data:image/png;base64,{base64.b64encode(bytes([251, 255])).decode()}", b"\xfb\xff", "image/png"),
        ("data:image/png;base64,%2b%2F8%3d", b"\xfb\xff", "image/png"),
        ("data:,a%20b%2C,c", b"a b,,c", None),
        ("data:text/plain;base64x,aGk=", b"aGk=", "text/plain"),
    ],
)
def test_a_data_url_is_a_file(url: str, data: bytes, mime: str | None) -> None:
    found = file_at(url)
    assert isinstance(found, Upload)
    assert (found.data, found.mime) == (data, mime)


@pytest.mark.parametrize(
    "url",
    [
        "data:" + ";" * 300_000,
        "data:" + ";base64" * 50_000 + ",%",
        "data:;base64," + "%" * 300_000,
        "data:," + "%41" * MAX_ESCAPED,
    ],
)
def test_a_url_that_is_no_file_costs_no_more_than_its_length(url: str) -> None:
    """One of 32 MB of semicolons would take gigabytes and stop the server for many seconds, else."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRequest):
            file_at(url)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5 * len(url)


@pytest.mark.parametrize("kind", [[], {}, None, 7])
def test_a_part_of_an_odd_type_is_refused(kind: Any) -> None:
    message = {"id": "m", "role": "user", "content": [{"type": kind, "text": 7}]}
    for read in (
        lambda: conversation_of([(0, message)], CHAT),
        lambda: input_of(ResponseBody.model_validate({"input": [message]})),
        lambda: user_content(message),
    ):
        with pytest.raises(InvalidRequest):
            read()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (ChatCompletionBody, "messages"),
        (MessagesBody, "messages"),
        (ResponseBody, "input"),
        (UiChatBody, "messages"),
        (RunBody, "messages"),
    ],
)
def test_a_request_has_no_more_messages_and_tools_than_it_may(body: type[BaseModel], field: str) -> None:
    """A message of a few bytes takes a hundred times as many while it is read."""
    given: dict[str, Any] = {"threadId": "t", field: [{"id": "m", "role": "user"}]}
    tool = {"name": "f"}
    tools: Any = {str(n): tool for n in range(129)} if body is UiChatBody else [tool] * 129

    body.model_validate(given)
    for more in ({field: given[field] * (MAX_MESSAGES + 1)}, {"tools": tools}):
        with pytest.raises(ValidationError):
            body.model_validate({**given, **more})
