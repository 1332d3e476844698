"""What clients send along that is not for the model, or not for this gateway, and is left out."""

from collections.abc import Callable
from typing import Any

import pytest

from gateway.adapters.client_conversation import lasting
from tests.harness import Client, the

pytestmark = pytest.mark.anyio

BILLING = "x-anthropic-billing-header: cc_version=2.1.{n}.d3f; cc_entrypoint=cli; cch={n}0f3;"
PROMPT = "You are Claude Code."
SCHEMA = {"type": "object", "properties": {}}
OTHERS: list[dict[str, Any]] = [
    {
        "type": "custom",
        "name": "apply_patch",
        "format": {"type": "grammar", "syntax": "lark", "definition": "x"},
    },
    {"type": "web_search"},
    {"type": "local_shell"},
    {"type": "namespace", "name": "mcp", "tools": []},
    {"type": "image_generation", "output_format": "png"},
    {"type": "mcp", "server_label": "elsewhere", "server_url": "https://example.org/mcp"},
]


def anthropic_system(n: int) -> list[dict[str, Any]]:
    marked = {"cache_control": {"type": "ephemeral"}}
    return [{"type": "text", "text": BILLING.format(n=n)}, {"type": "text", "text": PROMPT, **marked}]


SYSTEMS: dict[str, Callable[[int], Any]] = {
    "blocks": anthropic_system,
    "one text": lambda n: f"{BILLING.format(n=n)}\n\n{PROMPT}",
    "on its own": lambda n: [{"type": "text", "text": BILLING.format(n=n)}],
}


async def instructions(client: Client) -> tuple[list[str], list[str]]:
    """The warnings of the only session, and what its prompt has of the client's instructions."""
    (session,) = [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]]
    events = await client.events(session)
    warned = [each["data"]["code"] for each in events if each["type"] == "warning"]
    shown = (await client.get(f"/api/sessions/{session}/turns/{events[-1]['turn_id']}/prompt")).text
    return warned, [PROMPT] * (PROMPT in shown) + ["billing"] * ("billing-header" in shown)


@pytest.mark.parametrize("form", SYSTEMS)
async def test_a_line_that_changes_each_time_changes_nothing(client: Client, form: str) -> None:
    """Three turns of one conversation of Claude Code are one prompt generation."""
    said: list[dict[str, Any]] = []
    for n in range(3):
        said.append({"role": "user", "content": f"/say answer {n}"})
        body = {"max_tokens": 99, "system": SYSTEMS[form](n), "messages": said}
        answer = await client.post("/v1/messages?beta=true", body)
        assert answer.status_code == 200, answer.text
        said.append({"role": "assistant", "content": answer.json()["content"]})

    warned, shown = await instructions(client)
    assert "prompt_changed" not in warned
    assert shown == ([] if form == "on its own" else [PROMPT])


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses"])
async def test_it_is_left_out_where_a_proxy_translates_it(client: Client, path: str) -> None:
    """Routers in front of Claude Code send its system prompt in OpenAI's form."""
    said: list[dict[str, Any]] = []
    for n in range(2):
        text = f"{BILLING.format(n=n)}\n{PROMPT}"
        said.append({"role": "user", "content": f"/say answer {n}"})
        if path == "/v1/responses":
            body: dict[str, Any] = {"instructions": text, "input": said}
        else:
            parts = [{"type": "text", "text": BILLING.format(n=n)}, {"type": "text", "text": PROMPT}]
            body = {"messages": [{"role": "system", "content": parts}, *said]}
        assert (answer := await client.post(path, body)).status_code == 200, answer.text
        said.append({"role": "assistant", "content": f"answer {n}"})

    warned, shown = await instructions(client)
    assert "prompt_changed" not in warned
    assert shown == [PROMPT]


@pytest.mark.parametrize(
    "text",
    [
        "Explain what x-anthropic-billing-header: cc_version=1; cch=2 means.",
        "x-anthropic-billing-header is a header of Claude Code; cch= changes.",
        f"{PROMPT}\nx-anthropic-billing-header: cc_version=1; cch=2;",
        "x-anthropic-billing-header: write about it",
        "",
    ],
)
def test_what_only_speaks_of_it_stays(text: str) -> None:
    """The line alone, at the beginning, with what changes in it."""
    assert lasting([text]) == [text]


def test_it_is_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any length."""
    long = "x-anthropic-billing-header:" + " cc_version" * 500_000
    assert lasting([long, "\n" * 500_000 + "x"]) == [long, "\n" * 500_000 + "x"]


@pytest.mark.parametrize("only", [False, True])
async def test_tools_of_responses_that_are_no_functions_are_left_out(client: Client, only: bool) -> None:
    """Codex sends several with each request; the functions beside them can be called."""
    own = [] if only else [{"type": "function", "name": "page_title", "parameters": SCHEMA}]
    message = "/say hi" if only else "/call page_title {}"

    answer = await client.post(
        "/v1/responses", {"input": message, "tools": [*OTHERS, *own], "tool_choice": "auto"}
    )

    assert answer.status_code == 200, answer.text
    kinds = [each["type"] for each in answer.json()["output"]]
    assert kinds[-1] == ("message" if only else "function_call")


async def test_tools_of_completions_that_are_no_functions_are_left_out(client: Client) -> None:
    """The same in the older API; a function that is none is refused as before."""
    own = {"type": "function", "function": {"name": "page_title", "parameters": SCHEMA}}
    body = {"messages": [{"role": "user", "content": "/call page_title {}"}]}

    answer = await client.post("/v1/chat/completions", {**body, "tools": [*OTHERS, own]})
    broken = await client.post("/v1/chat/completions", {**body, "tools": [{"type": "function"}]})

    assert answer.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert (broken.status_code, broken.json()["error"]["param"]) == (400, "tools")


async def test_tools_that_anthropic_runs_are_left_out_beside_others(client: Client) -> None:
    """A request that has no other tool is about them, and refused."""
    theirs = [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "bash_20250124", "name": "bash"},
    ]
    own = {"name": "page_title", "input_schema": SCHEMA}
    body = {"max_tokens": 99, "messages": [{"role": "user", "content": "/call page_title {}"}]}

    answer = await client.post("/v1/messages", {**body, "tools": [*theirs, own]})
    alone = await client.post("/v1/messages", {**body, "tools": theirs})
    counted = await client.post("/v1/messages/count_tokens", {**body, "tools": [*theirs, own]})

    assert answer.json()["stop_reason"] == "tool_use"
    assert (alone.status_code, "web_search_20250305" in alone.text) == (400, True)
    assert counted.status_code == 200
    (session,) = [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]]
    assert the(await client.events(session), "turn_start")["input"] == "/call page_title {}"
