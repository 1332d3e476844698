"""The names of calls that clients get: such as every provider takes, and those of former versions."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.adapters.anthropic.anthropic_message import call_named, tool_use_id
from gateway.adapters.foreign_ids import call_in_full, call_name, call_of, turn_of
from gateway.ids import new_client_call_id, new_turn_id
from tests.harness import Client, the

pytestmark = pytest.mark.anyio

ANYWHERE = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Ids that OpenAI (40 characters), Anthropic, Bedrock and Gemini take for a call."""
ASKS = "/call page_title {}\n/then\n/say seen"
SCHEMA = {"type": "object", "properties": {}}


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=12, max_size=12))
def test_a_name_leads_back_to_its_call(turn: bytes, call: bytes) -> None:
    """It has 40 characters that everybody takes, and stands for one turn and one call."""
    turn_id, call_id = f"t_{turn.hex()}", f"client_{call.hex()}"
    for name in (call_name(turn_id, call_id), tool_use_id(turn_id, call_id)):
        assert ANYWHERE.fullmatch(name)
        assert (turn_of(name), call_of(name)) == (turn_id, call_id)
        assert call_in_full(name) == call_named(name) == f"{turn_id}:{call_id}"


@given(st.text(max_size=60) | st.from_regex(r"k_[A-Za-z0-9_-]{38}", fullmatch=True))
def test_any_other_name_is_left_alone(name: str) -> None:
    """Two names are never one call, whatever a client sends."""
    full = call_in_full(name)
    assert full == name or call_name(*full.split(":")) == name


def test_names_of_former_versions_are_known() -> None:
    """With a colon (OpenAI, AG-UI) and with a hyphen (Anthropic)."""
    turn_id, call_id = new_turn_id(), new_client_call_id()

    assert (turn_of(f"{turn_id}:{call_id}"), call_of(f"{turn_id}:{call_id}")) == (turn_id, call_id)
    assert call_named(f"{turn_id}-{call_id}") == f"{turn_id}:{call_id}"
    assert call_named(f"{turn_id}:{call_id}") == f"{turn_id}:{call_id}"


def chat(text: str) -> tuple[str, dict[str, Any]]:
    tool = {"type": "function", "function": {"name": "page_title", "parameters": SCHEMA}}
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": text}], "tools": [tool]}


def responses(text: str) -> tuple[str, dict[str, Any]]:
    return "/v1/responses", {
        "input": text,
        "tools": [{"type": "function", "name": "page_title", "parameters": SCHEMA}],
    }


def messages(text: str) -> tuple[str, dict[str, Any]]:
    tool = {"name": "page_title", "input_schema": SCHEMA}
    return "/v1/messages", {
        "max_tokens": 99,
        "messages": [{"role": "user", "content": text}],
        "tools": [tool],
    }


def result_of(path: str, body: dict[str, Any], name: str) -> dict[str, Any]:
    """What a client sends with the result of the call of that name."""
    if path == "/v1/chat/completions":
        return {
            **body,
            "messages": [*body["messages"], {"role": "tool", "tool_call_id": name, "content": "Home"}],
        }
    if path == "/v1/responses":
        return {**body, "input": [{"type": "function_call_output", "call_id": name, "output": "Home"}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "Home"}]}
    return {**body, "messages": [*body["messages"], result]}


@pytest.mark.parametrize("asking", [chat, responses, messages])
@pytest.mark.parametrize("form", ["as it is", "with a colon", "with a hyphen"])
async def test_a_client_gives_its_result_by_either_name(client: Client, asking: Any, form: str) -> None:
    """The one that it got, and the one that a former version gave it for the same call."""
    path, body = asking(ASKS)
    answer = await client.post(path, body)
    assert answer.status_code == 200, answer.text
    (name,) = set(re.findall(r'"(k_[^"]{38})"', answer.text))
    assert ANYWHERE.fullmatch(name)
    full = call_in_full(name)
    old = {"as it is": name, "with a colon": full, "with a hyphen": full.replace(":", "-")}[form]
    if form == "with a hyphen" and asking is not messages:
        return

    done = await client.post(path, result_of(path, body, old))

    assert done.status_code == 200, done.text
    assert "seen" in done.text
    (session,) = [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]]
    assert "Home" in the(await client.events(session), "tool_result")["content"]
