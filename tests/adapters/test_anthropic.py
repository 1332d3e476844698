"""Anthropic's Messages API as a client: the SDKs from PyPI and npm, unmodified."""

import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from anthropic import (
    APIStatusError,
    AsyncAnthropic,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
)
from anthropic.lib.streaming import AsyncMessageStreamManager
from openai import AsyncOpenAI

from tests.artifacts.files import png
from tests.clients.programs import needs_npm, run, run_documented_python
from tests.conftest import ROOT
from tests.harness import Client, running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import Outbox
from tests.stories.test_released import end_of

pytestmark = pytest.mark.anyio

QUESTION = "How do I resume a stream? And what is 17*23?"
BROKEN = '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'
CALCULATE = '/call calculate {"expression": "1+1"}\n/then\n/say two'
MCP: Any = ["mcp-client-2025-11-20"]
TOOLS: Any = [
    {
        "name": "page_title",
        "description": "The title of the page.",
        "input_schema": {"type": "object", "properties": {}},
    }
]
ASKED: Any = {"model": "demo-model", "max_tokens": 100}


@asynccontextmanager
async def sdk(client: Client, **options: Any) -> AsyncGenerator[AsyncAnthropic]:
    given: dict[str, Any] = {"api_key": "none", "max_retries": 0} | options
    async with AsyncAnthropic(base_url=client.url, **given) as found:
        yield found


class Chat:
    """A client that keeps the conversation itself, and sends all of it each time."""

    def __init__(self, api: AsyncAnthropic, *, beta: bool = False) -> None:
        self.messages: list[Any] = []
        self.sessions: list[str] = []
        self._api: Any = api.beta.messages if beta else api.messages
        self._always: dict[str, Any] = ASKED | ({"betas": MCP} if beta else {})

    async def say(self, content: Any, **options: Any) -> Any:
        self.messages.append({"role": "user", "content": content})
        return await self.answer(**options)

    async def answer(self, *, stream: bool = False, **options: Any) -> Any:
        asked = self._always | {"messages": self.messages} | options
        if stream:
            async with self._api.stream(**asked) as events:
                message = await events.get_final_message()
                headers = events.response.headers
        else:
            raw = await self._api.with_raw_response.create(**asked)
            message, headers = await raw.parse(), raw.headers
        assert message.id.startswith(f"msg_{headers['x-turn-id']}")
        self.sessions.append(headers["x-session-id"])
        self.messages.append({"role": "assistant", "content": message.content})
        return message


def said(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


async def read(stream: AsyncMessageStreamManager[None], into: list[str]) -> None:
    async with stream as events:
        async for text in events.text_stream:
            into.append(text)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"model": "demo-model"})


async def started(client: Client, session: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await client.events(session) if event["type"] == "turn_start"]


async def test_a_turn_with_tools_is_told_whole_and_as_a_stream(client: Client) -> None:
    """The text of the log, its usage, and to clients that know such blocks each call with its result; none of
    them is the client's to run."""
    async with sdk(client) as api:
        chat, streamed, plain = Chat(api, beta=True), Chat(api, beta=True), Chat(api)
        whole = await chat.say(QUESTION)
        message = await streamed.say(QUESTION, stream=True)
        texts = [await plain.say(QUESTION, stream=stream) for stream in (False, True)]

    events = await client.events(chat.sessions[0])
    kinds = [block.type for block in whole.content]
    assert [block.type for block in message.content] == kinds
    assert not {"tool_use", "tool_result"} & {*kinds}
    assert {said(each) for each in texts} == {said(whole)} == {said(message)}
    assert {block.type for each in texts for block in each.content} == {"text"}
    assert said(whole).replace("\n\n", "") == text_of(events).replace("\n\n", "")
    called = [block for block in whole.content if block.type == "mcp_tool_use"]
    results = {block.tool_use_id: block for block in whole.content if block.type == "mcp_tool_result"}
    told = [event["data"] for event in events if event["type"] == "tool_result"]
    assert len(called) == len(told) == 2
    assert {call.name: results[call.id].content[0].text for call in called} == {
        each["name"]: each["content"] for each in told
    }
    assert (whole.stop_reason, whole.stop_sequence) == ("end_turn", None)
    for used, session in ((whole.usage, chat.sessions[0]), (message.usage, streamed.sessions[0])):
        spent = the(await client.events(session), "done")["usage"]
        assert (used.input_tokens, used.output_tokens) == (spent["input_tokens"], spent["output_tokens"])
        assert used.cache_read_input_tokens == spent.get("cache_read_input_tokens", 0)
        assert used.cache_creation_input_tokens == spent.get("cache_creation_input_tokens", 0)


async def test_the_text_at_which_the_model_stopped_is_told(client: Client) -> None:
    """As the endpoint told it; of an answer that ended otherwise there is none."""
    async with sdk(client) as api:
        for stream in (False, True):
            stopped = await Chat(api).say("/say until\n/stop stop_sequence", stream=stream)
            assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "STOP")
            ended = await Chat(api).say("/say all", stream=stream)
            assert (ended.stop_reason, ended.stop_sequence) == ("end_turn", None)


async def test_a_conversation_that_is_sent_whole_is_one_session_and_a_change_is_a_branch(
    client: Client,
) -> None:
    """Each message is once in the log, and the marks of a client's cache make no difference."""
    async with sdk(client) as api:
        chat = Chat(api)
        answers = [said(await chat.say(f"/say {word}", stream=word == "two")) for word in ("one", "two")]
        chat.messages[0]["content"] = [
            {"type": "text", "text": "/say  one", "cache_control": {"type": "ephemeral"}}
        ]
        answers.append(said(await chat.say("/say three", stream=True)))
        chat.messages[4:] = []
        answers.append(said(await chat.say("/say four")))

    assert answers == ["one", "two", "three", "four"]
    assert len(set(chat.sessions)) == 1
    turns = await started(client, chat.sessions[0])
    assert [each["input"] for each in turns] == ["/say one", "/say two", "/say three", "/say four"]
    assert ["parent_turn_id" in each for each in turns] == [False, False, False, True]


async def test_another_dialect_goes_on_with_the_same_history(client: Client) -> None:
    """And a history that was said elsewhere begins a session."""
    async with (
        sdk(client) as api,
        AsyncOpenAI(base_url=f"{client.url}/v1", api_key="none", max_retries=0) as other,
    ):
        chat, stranger = Chat(api), Chat(api)
        await chat.say("/say one")
        messages: list[Any] = [
            {"role": "user", "content": "/say one"},
            {"role": "assistant", "content": "one"},
            {"role": "user", "content": "/say two"},
        ]
        raw = await other.chat.completions.with_raw_response.create(model="demo-model", messages=messages)
        stranger.messages = [
            {"role": "user", "content": "I am Lena."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "who?", "signature": "x"},
                    {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "nobody"}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]},
        ]
        await stranger.say("/say yes")

    assert raw.headers["x-session-id"] == chat.sessions[0]
    assert stranger.sessions[0] != chat.sessions[0]
    turns = await started(client, stranger.sessions[0])
    assert [(each["input"], each.get("seeded", False)) for each in turns] == [
        ("I am Lena.", True),
        ("/say yes", False),
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_thinking_is_told_with_our_signature_and_passed_over_when_it_comes_back(
    settings: Settings, stream: bool
) -> None:
    thinking = settings.model_copy(update={"thinking_budget": 1024})
    async with running_gateway(thinking) as client, sdk(client) as api:
        chat = Chat(api)
        first = await chat.say("/think hm\n/say one", stream=stream, thinking={"type": "adaptive"})
        second = await chat.say("/say two", stream=stream)

    thought, text = first.content
    assert (thought.type, thought.thinking, text.text) == ("thinking", "hm", "one")
    assert thought.signature.startswith("gateway:")
    assert (said(second), len(set(chat.sessions))) == ("two", 1)


async def test_system_is_the_instructions_and_files_are_attachments(client: Client) -> None:
    """Sent again they are the same, wherever the client's cache ends by then."""
    image = {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(png(4, 3)).decode(),
        },
        "cache_control": {"type": "ephemeral"},
    }
    letter = {
        "type": "document",
        "title": "信.txt",
        "source": {"type": "text", "media_type": "text/plain", "data": "你好"},
    }
    system = [{"type": "text", "text": "Answer in rhyme."}, {"type": "text", "text": "Be brief."}]
    async with sdk(client) as api:
        chat = Chat(api)
        await chat.say([{"type": "text", "text": "/say seen"}, image, letter], system=system)
        image.pop("cache_control")
        await chat.say("/say again", system="Answer in rhyme.\n\nBe brief.")

    assert len(set(chat.sessions)) == 1
    first, second = await started(client, chat.sessions[0])
    assert [each["name"] for each in first["attachments"]] == ["file.png", "信.txt"]
    assert "attachments" not in second
    session = (await client.get(f"/api/sessions/{chat.sessions[0]}")).json()
    assert session["instructions"] == "Answer in rhyme.\n\nBe brief."


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_the_client_runs_there(client: Client, stream: bool) -> None:
    """Its result goes on with the same turn, of which the client is told what comes behind. Each answer has
    an id of its own."""
    async with sdk(client) as api:
        chat = Chat(api)
        asked = await chat.say("/say look\n/call page_title {}\n/then\n/say seen", tools=TOOLS, stream=stream)
        text, call = asked.content
        result = {
            "type": "tool_result",
            "tool_use_id": call.id,
            "is_error": True,
            "content": [{"type": "text", "text": "It has none."}],
        }
        answered = await chat.say([result], tools=TOOLS, stream=stream)
        await chat.say("/say next", stream=stream)

    assert (asked.stop_reason, text.text, call.name, call.input) == ("tool_use", "look", "page_title", {})
    assert (answered.stop_reason, said(answered)) == ("end_turn", "seen")
    assert answered.id != asked.id
    assert len(set(chat.sessions)) == 1
    events = await client.events(chat.sessions[0])
    told = the(events, "tool_result")
    assert (told["status"], "It has none." in told["content"]) == ("error", True)
    assert types(events).count("turn_start") == 2


async def test_a_message_beside_a_result_is_asked_when_the_result_is_known(client: Client) -> None:
    """The turn that waited has the result, and gives way. A result of another server's call is history."""
    async with sdk(client) as api:
        chat = Chat(api)
        asked = await chat.say("/call page_title {}\n/then\n/say seen", tools=TOOLS)
        (call,) = asked.content
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "Home"}
        answered = await chat.say([result, {"type": "text", "text": "/say fine"}], tools=TOOLS)
        chat.messages[-1:] = [{"role": "assistant", "content": []}]
        elsewhere = {"type": "tool_result", "tool_use_id": "toolu_elsewhere", "content": "x"}
        await chat.say([elsewhere, {"type": "text", "text": "/say more"}])

    assert said(answered) == "fine"
    events = await client.events(chat.sessions[0])
    (told,) = [event["data"] for event in events if event["type"] == "tool_result"]
    assert (told["status"], "Home" in told["content"]) == ("ok", True)
    assert len(set(chat.sessions)) == 1


async def test_an_approval_is_asked_for_in_words_with_the_place_to_decide(settings: Settings) -> None:
    """The next message makes the turn that waits give way."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, sdk(client) as api:
        chat = Chat(api)
        asked = await chat.say('/call send {"to": "Lena"}\n/then\n/say over', stream=True)
        after = await chat.say("/say fine")

    assert said(asked) == f"[Waiting for approval of send: {client.url}/#s={chat.sessions[0]}]"
    assert (asked.stop_reason, said(after), outbox.sent) == ("end_turn", "fine", [])
    assert len(set(chat.sessions)) == 1


async def test_failures_are_raised_before_and_within_an_answer(client: Client) -> None:
    """With the SDK's own classes, our code, and the id of the request; a failed turn is not repeated."""
    async with sdk(client, max_retries=2) as api:
        with pytest.raises(NotFoundError) as unknown:
            await api.messages.create(**ASKED | {"model": "claude-9"}, messages=[])
        with pytest.raises(BadRequestError) as empty:
            await api.messages.create(**ASKED, messages=[])
        messages: Any = [{"role": "user", "content": "/say hi"}]
        unusable: Any = ([{**TOOLS[0], "name": "a.b"}], [*TOOLS, *TOOLS])
        for tools in unusable:
            with pytest.raises(BadRequestError, match="tool"):
                await api.messages.count_tokens(model="demo-model", messages=messages, tools=tools)
            with pytest.raises(BadRequestError, match="tool"):
                await api.messages.create(**ASKED, messages=messages, tools=tools)
        pieces: list[str] = []
        stream = api.messages.stream(**ASKED, messages=[{"role": "user", "content": BROKEN}])
        with pytest.raises(APIStatusError) as within:
            await read(stream, pieces)
        with pytest.raises(InternalServerError) as whole:
            await api.messages.create(**ASKED, messages=[{"role": "user", "content": BROKEN}])

    assert (unknown.value.type, unknown.value.error_code) == ("not_found_error", "model_not_found")
    assert empty.value.type == "invalid_request_error"
    assert "".join(pieces) == "half"
    assert (within.value.type, within.value.error_code) == ("api_error", "upstream_auth")
    assert (whole.value.status_code, whole.value.error_code) == (502, "upstream_auth")
    assert all(each.value.request_id for each in (unknown, empty, within, whole))
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 2


async def test_a_client_that_closes_the_connection_stops_the_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the grace; what it has of the answer is enough to go on from there."""
    monkeypatch.setattr("gateway.adapters.conversation_turn.GRACE", 0.0)
    async with sdk(client) as api:
        chat = Chat(api)
        chat.messages = [{"role": "user", "content": "/pieces 4000 /pace 20"}]
        async with api.messages.stream(**ASKED, messages=chat.messages) as stream:
            async for text in stream.text_stream:
                chat.messages.append({"role": "assistant", "content": text})
                break
            session, turn = (stream.response.headers[name] for name in ("x-session-id", "x-turn-id"))
        outcome = await end_of(client, session, turn)
        await chat.say("/say next")

    assert outcome == "cancelled"
    assert chat.sessions == [session]


async def test_a_repeated_request_is_told_the_same_and_another_result_is_a_conflict(client: Client) -> None:
    """What the SDK repeats by itself, and what a program gives twice."""
    body = ASKED | {"messages": [{"role": "user", "content": "/call page_title {}"}], "tools": TOOLS}
    first = await client.post("/v1/messages?beta=true", body)
    again = await client.post("/v1/messages", body, **{"x-stainless-retry-count": "1"})
    assert again.content == first.content
    (call,) = first.json()["content"]

    async with sdk(client, max_retries=2) as api:

        async def give(text: str) -> Any:
            result: Any = {"type": "tool_result", "tool_use_id": call["id"], "content": text}
            messages: Any = [*body["messages"], {"role": "user", "content": [result]}]
            raw = await api.messages.with_raw_response.create(**ASKED, messages=messages)
            return await raw.text()

        once = await give("Home")
        assert await give("Home") == once
        with pytest.raises(ConflictError) as other:
            await give("Away")
    assert (other.value.type, other.value.response.headers["x-should-retry"]) == ("conflict_error", "false")


async def test_tokens_are_counted_with_the_gateways_own_prompt(client: Client) -> None:
    """An estimate of what a stream says of its prompt, too; whatever blocks there are."""
    messages: Any = [{"role": "user", "content": "/say hi"}]
    recalled = [{"type": "recalled", "memories": [{}]}]
    result = {"type": "tool_result", "tool_use_id": "t", "content": recalled}
    odd: Any = [
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "attached"}]},
        *messages,
    ]
    async with sdk(client) as api:
        alone = await api.messages.count_tokens(model="demo-model", messages=messages)
        more = await api.messages.count_tokens(
            model="demo-model", messages=[*odd], system="Be brief. " * 50, tools=TOOLS
        )
        async with api.messages.stream(**ASKED, messages=messages) as stream:
            start = await anext(aiter(stream))

    assert start.type == "message_start"
    assert start.message.usage.input_tokens == alone.input_tokens
    assert alone.input_tokens + 100 < more.input_tokens


async def test_both_ways_to_send_a_key_and_the_list_of_models(settings: Settings) -> None:
    """Where this dialect alone is switched on."""
    keyed = settings.model_validate(
        settings.model_dump() | {"api_keys": "lena:0123456789abcdef", "adapters": "anthropic"}
    )
    async with running_gateway(keyed) as client:
        async with sdk(client, api_key="0123456789abcdef") as api:
            found = [each.id async for each in api.models.list()]
            one = await api.models.retrieve("demo-model")
            with pytest.raises(NotFoundError) as unknown:
                await api.models.retrieve("other/model")
        async with sdk(client, api_key=None, auth_token="0123456789abcdef") as api:
            await api.messages.count_tokens(model="demo-model", messages=[{"role": "user", "content": "x"}])
        async with sdk(client, api_key="fedcba9876543210") as api:
            with pytest.raises(AuthenticationError) as stranger:
                await api.messages.create(**ASKED, messages=[])
        by_header = await client.get("/v1/models", **{"x-api-key": "0123456789abcdef"})
        missing = await client.post("/v1/chat/completions", {}, authorization="Bearer 0123456789abcdef")

    assert (found, one.type) == (["demo-model"], "model")
    assert (by_header.status_code, missing.status_code) == (200, 404)
    assert (unknown.value.type, stranger.value.type) == ("not_found_error", "authentication_error")


async def test_the_beta_client_and_its_tool_runner_work(client: Client) -> None:
    """The runner calls a function of the program, and asks again with its result."""
    from anthropic import beta_async_tool

    @beta_async_tool
    async def page_title() -> str:
        """The title of the page."""
        return "Home"

    async with sdk(client) as api:
        runner = api.beta.messages.tool_runner(
            **ASKED,
            messages=[{"role": "user", "content": "/call page_title {}\n/then\n/say seen"}],
            tools=[page_title],
            betas=MCP,
        )
        last = await runner.until_done()

    assert said(last) == "seen"


@needs_npm
async def test_the_sdk_of_npm_has_the_same_conversation(client: Client) -> None:
    """As a stream and whole, with a tool that runs in its program, an answer asked anew, and failures."""
    steps: list[dict[str, Any]] = [
        {"models": True},
        {"count": "/say one"},
        {"say": "/say one", "stream": True},
        {"say": "/say two"},
        {"anew": True, "stream": True},
        {"say": "/call page_title {}\n/then\n/say seen", "tools": True, "stream": True},
        {"say": CALCULATE, "stream": True},
        {"say": CALCULATE, "stream": True, "beta": True},
        {"say": BROKEN, "stream": True},
        {"say": BROKEN},
    ]
    told = await run("anthropic.mjs", client.url, orjson.dumps(steps).decode())

    names, counted, *answers, within, whole = told
    assert (names, counted > 0) == (["demo-model"], True)
    assert [each["content"] for each in answers] == ["one", "two", "two", "seen", "two", "two"]
    assert {each["stop"] for each in answers} == {"end_turn"}
    assert [each["kinds"] for each in answers[-2:]] == [["text"], ["mcp_tool_use", "mcp_tool_result", "text"]]
    assert answers[0]["usage"]["output_tokens"] > 0
    assert (within["type"], whole["type"], whole["name"]) == ("api_error", "api_error", "InternalServerError")
    assert all(each["request"] for each in (within, whole))
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert len(await started(client, session["id"])) == 8


async def test_the_client_of_the_documentation_runs_as_it_stands_there(client: Client) -> None:
    """It asks twice, in one session, and prints each answer with its tokens."""
    printed = await run_documented_python(ROOT / "docs" / "anthropic.md", GATEWAY_URL=client.url)

    assert printed.count(" tokens: ") == 2
    assert "391" in printed
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert len(await started(client, session["id"])) == 2
