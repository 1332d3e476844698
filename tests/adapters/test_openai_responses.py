"""OpenAI's responses as a client: the SDKs from PyPI and npm, unmodified."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from openai import APIError, AsyncOpenAI, BadRequestError, ConflictError, NotFoundError
from openai.types.responses import Response, ResponseStreamEvent

from tests.artifacts.files import png
from tests.clients.programs import needs_npm, run, run_documented_python
from tests.conftest import ROOT
from tests.harness import Client, running_gateway, text_of, the
from tests.product import Settings
from tests.stories.asking import Outbox
from tests.stories.test_released import end_of

pytestmark = pytest.mark.anyio

QUESTION = "How do I resume a stream? And what is 17*23?"
TITLE: Any = {
    "type": "function",
    "name": "page_title",
    "description": "The title of the page.",
    "parameters": {"type": "object", "properties": {}},
    "strict": False,
}


@asynccontextmanager
async def sdk(client: Client, **options: Any) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{client.url}/v1", api_key="none", max_retries=0, **options) as found:
        yield found


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With heartbeats between the events, which no client may mind."""
    return settings.model_copy(update={"model": "demo-model", "heartbeat": 0.05})


async def turn_of(client: Client, response: Response) -> dict[str, Any]:
    return (await client.get(f"/api/turns/{response.id.removeprefix('resp_').partition('.')[0]}")).json()


async def started(client: Client, session: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await client.events(session) if event["type"] == "turn_start"]


async def test_a_turn_with_tools_is_told_whole_and_as_events(client: Client) -> None:
    """The text of the log, the gateway's own calls and what was looked up; both ways the same."""
    async with sdk(client) as api:
        whole = await api.responses.create(model="demo-model", input=QUESTION)
        async with api.responses.stream(model="demo-model", input=QUESTION) as stream:
            told = [event async for event in stream]
            final = await stream.get_final_response()
        again = await api.responses.retrieve(whole.id)

    events = await client.events((await turn_of(client, whole))["session_id"])
    assert again == whole
    assert whole.output_text == text_of(events) == final.output_text
    assert [each.type for each in whole.output] == [each.type for each in final.output]
    assert {"mcp_call", "file_search_call", "message"} == {each.type for each in whole.output}
    assert [event.sequence_number for event in told] == [*range(len(told))]
    assert (whole.status, whole.usage is not None) == ("completed", True)
    assert whole.usage is not None
    spent = the(events, "done")["usage"]
    assert whole.usage.output_tokens == spent["output_tokens"]
    assert whole.usage.input_tokens == sum(count for name, count in spent.items() if name != "output_tokens")


async def test_a_response_names_the_one_before(client: Client) -> None:
    """What comes after one that has a successor is a branch; who sends everything is in the same session."""
    async with sdk(client) as api:

        async def say(word: str, before: Response | None = None) -> Response:
            named: Any = {"previous_response_id": before.id} if before is not None else {}
            return await api.responses.create(model="demo-model", input=f"/say {word}", **named)

        first = await say("one")
        await say("three", await say("two", first))
        other = await say("four", first)
        items: list[Any] = [
            {"role": "user", "content": "/say one"},
            *(each.model_dump(exclude_none=True) for each in first.output),
            {"role": "user", "content": [{"type": "input_text", "text": "/say five"}]},
        ]
        last = await api.responses.create(model="demo-model", input=items, store=False)
        items = [
            {"role": "user", "content": "/say five"},
            *({"type": "item_reference", "id": each.id} for each in last.output),
            {"role": "user", "content": "/say six"},
        ]
        named = await api.responses.create(model="demo-model", input=items)

    sessions = {(await turn_of(client, each))["session_id"] for each in (first, other, last, named)}
    (session,) = sessions
    turns = await started(client, session)
    assert [each["input"][5:] for each in turns] == ["one", "two", "three", "four", "five", "six"]
    assert ["parent_turn_id" in each for each in turns] == [False, False, False, True, True, False]
    assert other.conversation is not None
    assert other.conversation.id == session


async def test_thinking_is_reasoning(client: Client) -> None:
    async with sdk(client) as api:
        response = await api.responses.create(model="demo-model", input="/think step by step\n/say so")

    thought, said = response.output
    assert thought.type == "reasoning"
    assert (thought.summary[0].text, said.type) == ("step by step", "message")


async def test_a_response_in_the_background_is_read_while_it_runs(client: Client) -> None:
    """From the last number on that the client has, as often as it likes; each time the same."""
    async with sdk(client) as api:
        begun = await api.responses.create(
            model="demo-model", input="/pieces 60 /pace 20", background=True, store=True
        )
        parts: list[list[ResponseStreamEvent]] = []
        for after in (None, 11):
            named: Any = {"starting_after": after} if after is not None else {}
            events = await api.responses.retrieve(begun.id, stream=True, **named)
            parts.append([event async for event in events])
        whole = await api.responses.retrieve(begun.id)
        none = await api.responses.retrieve(begun.id, stream=True, starting_after=10_000)
        assert [event async for event in none] == []

    first, second = parts
    assert begun.status in {"queued", "in_progress"}
    assert second == first[12:]
    assert first[-1].type == "response.completed"
    assert first[-1].response == whole


async def test_a_lost_connection_is_made_up_for(client: Client) -> None:
    """Who comes back with the last number misses nothing, and the turn goes on."""
    async with sdk(client) as api:
        stream = await api.responses.create(model="demo-model", input="/pieces 40 /pace 20", stream=True)
        had: list[ResponseStreamEvent] = []
        async for event in stream:
            had.append(event)
            if len(had) == 8:
                break
        await stream.close()
        assert had[0].type == "response.created"
        name = had[0].response.id
        rest = [
            event
            async for event in await api.responses.retrieve(
                name, stream=True, starting_after=had[-1].sequence_number
            )
        ]
        whole = [event async for event in await api.responses.retrieve(name, stream=True)]

    assert had + rest == whole
    assert whole[-1].type == "response.completed"


async def test_what_was_withdrawn_is_not_in_the_response(client: Client) -> None:
    """Its item ended in the stream, and is told as incomplete there."""
    async with sdk(client) as api:
        asked = "/pieces 12\n/fault clean_truncation once"
        async with api.responses.stream(model="demo-model", input=asked) as stream:
            done = [event.item async for event in stream if event.type == "response.output_item.done"]
            final = await stream.get_final_response()
        again = await api.responses.retrieve(final.id)

    assert [item.status for item in done if item.type == "message"] == ["incomplete", "completed"]
    assert [item.type for item in final.output] == ["message"]
    assert again.output_text == final.output_text
    assert len(final.output_text) == 12 * 4


async def test_a_decision_of_another_client_counts(settings: Settings) -> None:
    """The same one is no conflict; what came behind is told to whoever asks."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, sdk(client) as api:
        asked = await api.responses.create(
            model="demo-model", input='/call send {"to": "Lena"}\n/then\n/say over'
        )
        (request,) = asked.output
        assert request.type == "mcp_approval_request"
        assert asked.conversation is not None
        session = asked.conversation.id
        turn, _, call = request.id.partition(":")
        path = f"/api/sessions/{session}/turns/{turn}/approvals/{call}"
        assert (await client.post(path, {"decision": "approve"})).status_code == 200
        await end_of(client, session, turn)
        decision: Any = {"type": "mcp_approval_response", "approval_request_id": request.id}
        answered = await api.responses.create(model="demo-model", input=[decision | {"approve": True}])
        with pytest.raises(ConflictError):
            await api.responses.create(model="demo-model", input=[decision | {"approve": False}])
        again = await api.responses.retrieve(asked.id)

    assert (answered.output_text, outbox.sent) == ("over", ["Lena"])
    assert again == asked


async def test_a_response_is_stopped(client: Client) -> None:
    """There is no event of its own for that: the last one tells it by its status."""
    async with sdk(client) as api:
        begun = await api.responses.create(
            model="demo-model", input="/pieces 4000 /pace 20", background=True, stream=True
        )
        told: list[ResponseStreamEvent] = []
        stopped: Response | None = None
        async for event in begun:
            told.append(event)
            if stopped is None and event.type == "response.output_text.delta":
                assert told[0].type == "response.created"
                stopped = await api.responses.cancel(told[0].response.id)

    assert stopped is not None
    assert told[-1].type == "response.incomplete"
    assert (told[-1].response, stopped.status) == (stopped, "cancelled")
    assert stopped.output_text


async def test_a_client_that_closes_the_connection_stops_the_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the grace, but for one in the background."""
    monkeypatch.setattr("gateway.adapters.conversation_turn.GRACE", 0.0)
    async with sdk(client) as api:
        turns: list[dict[str, Any]] = []
        for background, pieces in ((True, 40), (False, 4000)):
            stream = await api.responses.create(
                model="demo-model", input=f"/pieces {pieces} /pace 20", stream=True, background=background
            )
            async for event in stream:
                if event.type == "response.output_text.delta":
                    break
            turns.append({"session": stream.response.headers["x-session-id"]})
            turns[-1]["turn"] = stream.response.headers["x-turn-id"]
            await stream.close()
        ends = [await end_of(client, each["session"], each["turn"]) for each in turns]

    assert ends == ["completed", "cancelled"]


@pytest.mark.parametrize("sends_all", [False, True])
async def test_a_tool_of_the_client_runs_there(client: Client, sends_all: bool) -> None:
    """Its result goes on with the same turn, of which another response tells what comes behind; either can be
    read again. A client that keeps the conversation itself sends all of it."""
    question = "/say look\n/call page_title {}\n/then\n/say seen"
    async with sdk(client) as api:
        asked = await api.responses.create(model="demo-model", input=question, tools=[TITLE])
        (call,) = [each for each in asked.output if each.type == "function_call"]
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "Home"}
        given: Any = {"input": [result], "previous_response_id": asked.id}
        if sends_all:
            before = [each.model_dump(exclude_none=True) for each in asked.output]
            given = {"input": [{"role": "user", "content": question}, *before, result], "store": False}
        answered = await api.responses.create(model="demo-model", tools=[TITLE], **given)
        after: Any = {"previous_response_id": answered.id}
        if sends_all:
            before = [each.model_dump(exclude_none=True) for each in answered.output]
            after = {}
            given["input"] += before
        follow: list[Any] = [{"role": "user", "content": "/say next"}]
        last = await api.responses.create(
            model="demo-model", input=[*(given["input"] if sends_all else ()), *follow], **after
        )
        again = [await api.responses.retrieve(each.id) for each in (asked, answered)]

    assert (call.name, call.arguments, asked.status) == ("page_title", "{}", "completed")
    assert (asked.output_text, answered.output_text, last.output_text) == ("look", "seen", "next")
    assert again == [asked, answered]
    session = (await turn_of(client, asked))["session_id"]
    assert len(await started(client, session)) == 2
    assert await turn_of(client, answered) == await turn_of(client, asked)


@pytest.mark.parametrize("approve", [True, False])
async def test_an_approval_is_asked_for_and_given(settings: Settings, approve: bool) -> None:
    """As that of a tool of an MCP server; the next response goes on with the same turn."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, sdk(client) as api:
        asked = await api.responses.create(
            model="demo-model", input='/call send {"to": "Lena"}\n/then\n/say over'
        )
        (request,) = asked.output
        assert request.type == "mcp_approval_request"
        async with api.responses.stream(
            model="demo-model",
            previous_response_id=asked.id,
            input=[
                {
                    "type": "mcp_approval_response",
                    "approval_request_id": request.id,
                    "approve": approve,
                    "reason": "Not now.",
                }
            ],
        ) as stream:
            answered = await stream.get_final_response()
        again = await api.responses.retrieve(answered.id)

    assert (request.name, request.arguments, request.server_label) == ("send", '{"to":"Lena"}', "gateway")
    call, said = answered.output
    assert call.type == "mcp_call"
    assert (call.approval_request_id, call.status) == (request.id, "completed" if approve else "failed")
    assert (said.type, answered.output_text, again.output_text) == ("message", "over", "over")
    assert outbox.sent == (["Lena"] if approve else [])


async def test_what_a_response_asks_for_comes_together(settings: Settings) -> None:
    """And may be sent again; another answer to the same is a conflict, what was not asked is refused."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        two = '/call send {"to": "Lena"}\n/call post {"text": "hi"}\n/then\n/say over'
        asked = (await client.post("/v1/responses", {"input": two})).json()
        names = [each["id"] for each in asked["output"]]

        async def decide(*names: str, approve: bool = True) -> tuple[int, str]:
            items = [
                {"type": "mcp_approval_response", "approval_request_id": name, "approve": approve}
                for name in names
            ]
            answer = await client.post("/v1/responses", {"input": items})
            told = answer.json()
            return answer.status_code, told["id"] if answer.status_code == 200 else told["error"]["code"]

        refused = [await decide(names[0]), await decide("t_unknown:toolu_1"), await decide("elsewhere")]
        done = await decide(*names)
        assert await decide(*names) == await decide(*names, f"{names[0]}0") == done
        changed = await decide(*names, approve=False)

    assert refused == [
        (400, "unsupported_value"),
        (404, "turn_not_found"),
        (400, "unsupported_value"),
    ]
    assert (done[0], changed) == (200, (409, "conflict"))
    assert sorted(outbox.sent) == ["Lena", "hi"]


async def test_a_response_that_is_unknown_is_not_found(client: Client) -> None:
    """Nor can one come after it. A place where its turn did not wait is none."""
    async with sdk(client) as api:
        known = await api.responses.create(model="demo-model", input="/say one")
        for name in ("resp_t_unknown", "resp_t_unknown.7", "chatcmpl-1", "resp_", f"{known.id}.3"):
            with pytest.raises(NotFoundError):
                await api.responses.retrieve(name)
            with pytest.raises(NotFoundError):
                await api.responses.cancel(name)
        with pytest.raises(BadRequestError) as refused:
            await api.responses.create(model="demo-model", input="x", previous_response_id="resp_t_unknown")
        with pytest.raises(BadRequestError) as impossible:
            await api.responses.create(model="demo-model", input="x", tools=[TITLE], tool_choice="required")

    assert (refused.value.code, refused.value.param) == (
        "previous_response_not_found",
        "previous_response_id",
    )
    assert (impossible.value.type, impossible.value.param) == ("invalid_request_error", "tool_choice")


async def test_failures_are_raised_before_and_told_within_a_response(client: Client) -> None:
    """The SDKs raise a status; a stream ends with the response as failed, and so it is read again."""
    broken = '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'
    async with sdk(client) as api:
        with pytest.raises(NotFoundError) as unknown:
            await api.responses.create(model="gpt-9", input="x")
        with pytest.raises(APIError) as whole:
            await api.responses.create(model="demo-model", input=broken)
        stream = await api.responses.create(model="demo-model", input=broken, stream=True)
        *_, last = [event async for event in stream]
        assert last.type == "response.failed"
        again = await api.responses.retrieve(last.response.id)

    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    assert whole.value.code == "upstream_auth"
    assert last.response == again
    assert (again.status, again.output_text) == ("failed", "half")
    assert again.error is not None
    assert (again.error.code, again.error.type) == ("server_error", "upstream_auth")


async def test_instructions_files_and_a_conversation_are_the_sessions(client: Client) -> None:
    """A conversation takes what is new alone; both APIs go on with each other's history."""
    url = f"data:image/png;base64,{base64.b64encode(png(4, 3)).decode()}"
    async with sdk(client) as api:
        first = await api.responses.create(
            model="demo-model",
            conversation="mine",
            instructions="Answer in rhyme.",
            input=[
                {"role": "developer", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "/say seen"},
                        {"type": "input_image", "image_url": url, "detail": "auto"},
                    ],
                },
            ],
        )
        await api.responses.create(model="demo-model", conversation={"id": "mine"}, input="/say two")
        said: list[Any] = [{"role": "user", "content": "/say hi"}]
        chat = await api.chat.completions.with_raw_response.create(model="demo-model", messages=said)
        said += [{"role": "assistant", "content": "hi"}, {"role": "user", "content": "/say three"}]
        third = await api.responses.create(model="demo-model", input=said)

    session = (await client.get("/api/sessions/mine")).json()
    turns = await started(client, "mine")
    assert session["instructions"] == "Answer in rhyme.\n\nBe brief."
    assert [len(each.get("attachments", ())) for each in turns] == [1, 0]
    assert first.conversation is not None
    assert first.conversation.id == "mine"
    assert (await turn_of(client, third))["session_id"] == chat.headers["x-session-id"]


async def test_a_request_that_the_sdk_repeats_is_the_same_response(client: Client) -> None:
    """Also after one that is named; asked anew it is another."""
    first = (await client.post("/v1/responses", {"input": "/say one"})).json()["id"]
    body = {"input": "/say two", "previous_response_id": first}
    retried = {"x-stainless-retry-count": "1"}
    second, again, anew = [
        (await client.post("/v1/responses", body, **headers)).json()["id"] for headers in ({}, retried, {})
    ]

    assert second == again
    assert anew != second


@needs_npm
async def test_the_sdk_of_npm_has_the_same_responses(settings: Settings) -> None:
    """As events and whole, with a tool that runs in its program, an approval, a response read again from a
    place on, one that is stopped, and failures."""
    broken = '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'
    steps: list[dict[str, Any]] = [
        {"say": QUESTION, "stream": True},
        {"read": 3},
        {"say": "/call page_title {}\n/then\n/say seen", "tools": True, "stream": True},
        {"give": "Home", "stream": True},
        {"say": '/call send {"to": "Lena"}\n/then\n/say over'},
        {"give": ""},
        {"read": 1},
        {"stop": "/pieces 4000 /pace 20"},
        {"say": broken},
        {"say": "/say on", "tools": True},
    ]
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        told = await run("openai_responses.mjs", f"{client.url}/v1", orjson.dumps(steps).decode())
        sessions = (await client.get("/api/sessions")).json()["sessions"]

    first, rest, asked, seen, asks, over, after, stopped, failed, last = told
    assert "391" in first["text"]
    assert (rest["numbers"][0], after["numbers"][0], rest["same"], after["same"]) == (4, 2, True, True)
    assert (asked["types"], seen["text"]) == (["function_call"], "seen")
    assert (asks["types"], over["types"]) == (["mcp_approval_request"], ["mcp_call", "message"])
    assert (stopped["status"], failed["code"], last["text"]) == ("cancelled", "upstream_auth", "on")
    assert (outbox.sent, len(sessions)) == (["Lena"], 1)


async def test_the_client_of_the_documentation_runs_as_it_stands_there(client: Client) -> None:
    """It asks in the background, loses its connection, reads the rest, and asks again."""
    page = ROOT / "docs" / "openai.md"
    printed = await run_documented_python(page, "## Responses", GATEWAY_URL=client.url)

    assert "391" in printed
    assert "completed" in printed
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert len(await started(client, session["id"])) == 2
