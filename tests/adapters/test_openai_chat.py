"""OpenAI's chat completions as a client: the SDKs from PyPI and npm, unmodified."""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from openai import APIError, AsyncOpenAI, AsyncStream, BadRequestError, NotFoundError, PermissionDeniedError
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from gateway.adapters.foreign_ids import turn_of
from tests.artifacts.files import png
from tests.clients.programs import needs_npm, run, run_documented_python
from tests.conftest import ROOT
from tests.harness import Client, Frame, running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import Outbox
from tests.stories.test_released import end_of

pytestmark = pytest.mark.anyio

QUESTION = "How do I resume a stream? And what is 17*23?"
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "page_title",
            "description": "The title of the page.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
]


@asynccontextmanager
async def sdk(client: Client, **options: Any) -> AsyncGenerator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{client.url}/v1", api_key="none", max_retries=0, **options) as found:
        yield found


class Chat:
    """A client that keeps the conversation itself, and sends all of it each time."""

    def __init__(self, api: AsyncOpenAI, **headers: str) -> None:
        self.messages: list[Any] = []
        self.headers = headers
        self.sessions: list[str] = []
        self._api = api

    async def say(self, content: Any, **options: Any) -> str:
        self.messages.append({"role": "user", "content": content})
        return await self.answer(**options)

    async def answer(self, **options: Any) -> str:
        raw = await self._api.chat.completions.with_raw_response.create(
            model="demo-model", messages=self.messages, extra_headers=self.headers, **options
        )
        self.sessions.append(raw.headers["x-session-id"])
        completion = raw.parse()
        message = completion.choices[0].message
        self.messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
        return message.content or ""


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"model": "demo-model"})


async def read(stream: AsyncStream[ChatCompletionChunk], into: list[str]) -> None:
    async for chunk in stream:
        into.append(chunk.choices[0].delta.content or "")


async def started(client: Client, session: str) -> list[dict[str, Any]]:
    return [event["data"] for event in await client.events(session) if event["type"] == "turn_start"]


async def test_a_turn_with_tools_is_told_whole_and_in_chunks(client: Client) -> None:
    """The text of the log, its usage with the cache in it, and no call of a tool that ran here."""
    async with sdk(client) as api:
        chat = Chat(api)
        whole = await chat.say(QUESTION)
        chunks: list[ChatCompletionChunk] = []
        async for chunk in await api.chat.completions.create(
            model="demo-model",
            messages=[{"role": "user", "content": QUESTION}],
            stream=True,
            stream_options={"include_usage": True},
        ):
            chunks.append(chunk)

    events = await client.events(chat.sessions[0])
    assert whole.replace("\n\n", "") == text_of(events).replace("\n\n", "")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == whole
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:-1]] == ["stop"]
    used, spent = chunks[-1].usage, the(events, "done")["usage"]
    assert (chunks[-1].choices, used is not None) == ([], True)
    assert used is not None
    assert used.completion_tokens == spent["output_tokens"]
    assert used.prompt_tokens == sum(count for name, count in spent.items() if name != "output_tokens")
    assert not any(chunk.choices[0].delta.tool_calls for chunk in chunks[:-1])
    assert "tool_result" in types(events)


async def test_a_conversation_that_is_sent_whole_is_one_session(client: Client) -> None:
    """Each message is once in the log, and nobody named the session."""
    async with sdk(client) as api:
        chat = Chat(api)
        answers = [await chat.say(f"/say {word}") for word in ("one", "two", "three")]

    assert answers == ["one", "two", "three"]
    assert len(set(chat.sessions)) == 1
    assert [each["input"] for each in await started(client, chat.sessions[0])] == [
        "/say one",
        "/say two",
        "/say three",
    ]
    assert all("parent_turn_id" not in each for each in await started(client, chat.sessions[0]))


async def test_two_chats_that_begin_alike_are_two_sessions(client: Client) -> None:
    async with sdk(client) as api:
        first, second = Chat(api), Chat(api)
        for chat in (first, second):
            await chat.say("/say hi")
        await first.say("/say one")
        await second.say("/say two")

    assert len({*first.sessions, *second.sessions}) == 2
    sessions = (await client.get("/api/sessions")).json()["sessions"]
    turns = [await started(client, session["id"]) for session in sessions]
    assert sorted([each["input"] for each in of_one] for of_one in turns) == [
        ["/say hi", "/say one"],
        ["/say hi", "/say two"],
    ]


async def test_another_answer_and_an_edited_message_are_branches(client: Client) -> None:
    """Nothing is taken from the log."""
    async with sdk(client) as api:
        chat = Chat(api)
        await chat.say("/say one")
        await chat.say("/say two")
        chat.messages.pop()
        await chat.answer()
        chat.messages[2:] = []
        await chat.say("/say three")
        await chat.say("/say four")

    assert len(set(chat.sessions)) == 1
    turns = await started(client, chat.sessions[0])
    assert [each["input"] for each in turns] == [
        "/say one",
        "/say two",
        "/say two",
        "/say three",
        "/say four",
    ]
    assert ["parent_turn_id" in each for each in turns] == [False, False, True, True, False]


async def test_a_history_that_was_said_elsewhere_begins_a_session(client: Client) -> None:
    """And it goes on in that."""
    async with sdk(client) as api:
        chat = Chat(api)
        chat.messages = [
            {"role": "user", "content": "I am Lena."},
            {"role": "assistant", "content": "<think>who?</think>Hello!"},
        ]
        await chat.say("/say yes")
        await chat.say("/say again")

    assert len(set(chat.sessions)) == 1
    shown = (await client.get(f"/api/sessions/{chat.sessions[0]}/messages")).json()["messages"]
    assert orjson.dumps(shown).count(b"Hello!") == 1
    turns = await started(client, chat.sessions[0])
    assert [each.get("seeded", False) for each in turns] == [True, False, False]


async def test_white_space_and_thinking_make_no_difference(client: Client) -> None:
    """Frontends change what they keep of an answer."""
    async with sdk(client) as api:
        chat = Chat(api)
        await chat.say("/say one word")
        chat.messages[-1]["content"] = '<details type="reasoning" done="true">hm</details>\n one word \n'
        await chat.say("/say two")

    assert len(set(chat.sessions)) == 1


async def test_a_chat_that_is_named_has_its_session_and_side_requests_their_own(client: Client) -> None:
    """A lone message that is not the chat's is beside it, as is what says so."""
    headers = {"X-OpenWebUI-Chat-Id": "chat-1"}
    async with sdk(client) as api:
        chat, title, task = (
            Chat(api, **headers),
            Chat(api, **headers),
            Chat(api, **headers, **{"X-Task": "tags"}),
        )
        await chat.say("/say one")
        await title.say("Make a title of this chat.")
        await task.say("Tags of this chat.")
        await chat.say("/say two")

    assert set(chat.sessions) == {"chat-1"}
    assert "chat-1" not in {*title.sessions, *task.sessions}
    assert (await client.get(f"/api/sessions/{title.sessions[0]}")).json()["role_id"] == "side"
    assert len(await started(client, "chat-1")) == 2


async def test_a_session_that_is_named_takes_new_messages_alone(client: Client) -> None:
    async with sdk(client) as api:
        for word in ("one", "two"):
            await Chat(api, **{"X-Session-Id": "mine"}).say(f"/say {word}")

    assert [each["input"] for each in await started(client, "mine")] == ["/say one", "/say two"]


async def test_thinking_is_beside_the_answer(client: Client) -> None:
    """Where programs look for it that know of reasoning, in chunks and whole."""
    said: Any = [{"role": "user", "content": "/think step by step\n/say so"}]
    async with sdk(client) as api:
        whole = await api.chat.completions.create(model="demo-model", messages=said)
        chunks = await api.chat.completions.create(model="demo-model", messages=said, stream=True)
        deltas = [chunk.choices[0].delta async for chunk in chunks]

    message = whole.choices[0].message
    assert (message.content, message.to_dict()["reasoning_content"]) == ("so", "step by step")
    assert "".join(str(each.to_dict().get("reasoning_content", "")) for each in deltas) == "step by step"
    assert "".join(each.content or "" for each in deltas) == "so"


async def test_system_and_developer_are_the_instructions(client: Client) -> None:
    async with sdk(client) as api:
        chat = Chat(api)
        chat.messages = [
            {"role": "system", "content": "Answer in rhyme."},
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        ]
        await chat.say("/say hi")

    session = (await client.get(f"/api/sessions/{chat.sessions[0]}")).json()
    assert session["instructions"] == "Answer in rhyme.\n\nBe brief."


async def test_files_are_attachments_and_sent_again_they_are_the_same(client: Client) -> None:
    """The events of the session, which each answer names, say what the model gets of them."""
    url = f"data:image/png;base64,{base64.b64encode(png(4, 3)).decode()}"
    file = f"data:text/plain;base64,{base64.b64encode('你好'.encode()).decode()}"
    content = [
        {"type": "text", "text": "/say seen"},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "file", "file": {"filename": "信.txt", "file_data": file}},
    ]
    async with sdk(client) as api:
        chat = Chat(api)
        await chat.say(content)
        await chat.say("/say again")

    assert len(set(chat.sessions)) == 1
    first, second = await started(client, chat.sessions[0])
    assert [each["name"] for each in first["attachments"]] == ["file.png", "信.txt"]
    assert [each["reading"]["how"] for each in first["attachments"]] == ["image", "text"]
    assert "attachments" not in second


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_of_the_client_runs_there(client: Client, stream: bool) -> None:
    """Its result goes on with the same turn, of which the client is told what comes behind."""
    async with sdk(client) as api:
        messages: list[Any] = [
            {"role": "user", "content": "/say look\n/call page_title {}\n/then\n/say seen"}
        ]
        told: list[ChatCompletion] = []
        for _ in range(2):
            if stream:
                async with api.chat.completions.stream(
                    model="demo-model", messages=messages, tools=TOOLS
                ) as events:
                    completion: Any = await events.get_final_completion()
            else:
                completion = await api.chat.completions.create(
                    model="demo-model", messages=messages, tools=TOOLS
                )
            told.append(completion)
            message = completion.choices[0].message
            messages.append(message.model_dump(exclude_none=True, include={"role", "content", "tool_calls"}))
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": '{"title": "Home"}'}
                for call in message.tool_calls or ()
            ]
        messages.append({"role": "user", "content": "/say next"})
        await api.chat.completions.create(model="demo-model", messages=messages)

    asked, answered = (each.choices[0] for each in told)
    assert (asked.finish_reason, asked.message.content) == ("tool_calls", "look")
    assert asked.message.tool_calls is not None
    (call,) = asked.message.tool_calls
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("page_title", "{}")
    assert (answered.finish_reason, answered.message.content) == ("stop", "seen")
    turn_id = turn_of(call.id)
    session = (await client.get(f"/api/turns/{turn_id}")).json()["session_id"]
    assert len(await started(client, session)) == 2


async def test_results_may_be_sent_again_and_only_for_calls_of_this_gateway(client: Client) -> None:
    """A repeated request is told the same; another result of the same call is refused."""
    path = "/v1/chat/completions"
    question = {"role": "user", "content": "/call page_title {}\n/then\n/say seen"}
    asked = (await client.post(path, {"messages": [question], "tools": TOOLS})).json()
    (call,) = asked["choices"][0]["message"]["tool_calls"]

    async def give(text: str, call_id: str = call["id"]) -> tuple[int, Any]:
        result = {"role": "tool", "tool_call_id": call_id, "content": text}
        answer = await client.post(path, {"messages": [question, asked["choices"][0]["message"], result]})
        told = answer.json()
        return answer.status_code, told["error"]["code"] if "error" in told else told["choices"]

    first = await give("Home")
    assert (first[0], first[1][0]["message"]["content"]) == (200, "seen")
    assert await give("Home") == first
    assert await give("Away") == (409, "conflict")
    assert await give("Home", "call_of_another_server") == (400, "unsupported_value")
    assert await give("Home", "t_unknown:toolu_1") == (404, "turn_not_found")


async def test_an_approval_is_asked_for_in_words_with_the_place_to_decide(settings: Settings) -> None:
    """The next message makes the turn that waits give way."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client, sdk(client) as api:
        chat = Chat(api)
        asked = await chat.say('/call send {"to": "Lena"}\n/then\n/say over')
        after = await chat.say("/say fine")
        events = await client.events(chat.sessions[0])

    assert asked == f"[Waiting for approval of send: {client.url}/#s={chat.sessions[0]}]"
    assert (after, outbox.sent, len(set(chat.sessions))) == ("fine", [], 1)
    assert types(events).count("turn_start") == 2


async def test_failures_are_raised_before_and_within_an_answer(client: Client) -> None:
    """A stream that fails is no answer, and a whole one has its status."""
    broken = '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'
    async with sdk(client) as api:
        with pytest.raises(NotFoundError) as unknown:
            await api.chat.completions.create(model="gpt-9", messages=[{"role": "user", "content": "x"}])
        said: list[str] = []
        stream = await api.chat.completions.create(
            model="demo-model", messages=[{"role": "user", "content": broken}], stream=True
        )
        with pytest.raises(APIError) as within:
            await read(stream, said)
        with pytest.raises(APIError) as whole:
            await api.chat.completions.create(
                model="demo-model", messages=[{"role": "user", "content": broken}]
            )

    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    assert ("".join(said), within.value.code, whole.value.code) == ("half", "upstream_auth", "upstream_auth")


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"n": 2}, "n"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "response_format"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_choice"),
        ({"tools": [{"type": "function", "function": {"name": "a b\0"}}]}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": "x"}}]}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "calculate"}}]}, "tools"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_its_parameter(
    client: Client, given: dict[str, Any], param: str
) -> None:
    """Never silently left out."""
    asked: dict[str, Any] = {"model": "demo-model", "messages": [{"role": "user", "content": "x"}]} | given
    async with sdk(client) as api:
        with pytest.raises(BadRequestError) as refused:
            await api.chat.completions.create(**asked)

    assert (refused.value.param, refused.value.type) == (param, "invalid_request_error")


async def test_a_client_that_closes_the_connection_stops_the_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the grace; what it has of the answer is enough to go on from there."""
    monkeypatch.setattr("gateway.adapters.conversation_turn.GRACE", 0.0)
    async with sdk(client) as api:
        chat = Chat(api)
        stream = await api.chat.completions.create(
            model="demo-model", messages=[{"role": "user", "content": "/pieces 4000 /pace 20"}], stream=True
        )
        said = ""
        async for chunk in stream:
            said += chunk.choices[0].delta.content or ""
            if said:
                break
        session, turn = (stream.response.headers[name] for name in ("x-session-id", "x-turn-id"))
        await stream.close()
        outcome = await end_of(client, session, turn)
        chat.messages = [
            {"role": "user", "content": "/pieces 4000 /pace 20"},
            {"role": "assistant", "content": said},
        ]
        await chat.say("/say next")

    assert outcome == "cancelled"
    assert chat.sessions == [session]


async def test_a_client_that_leaves_before_a_whole_answer_stops_the_turn(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a stream."""
    monkeypatch.setattr("gateway.adapters.conversation_turn.GRACE", 0.0)
    async with sdk(client) as api:
        await client.post("/api/sessions", {"id": "mine"})
        chat = Chat(api, **{"X-Session-Id": "mine"})
        asking = asyncio.create_task(chat.say("/pieces 4000 /pace 20"))
        async with client.frames("/api/sessions/mine/events") as frames:
            turns = {frame.data["turn_id"] async for frame in frames_to(frames, "text")}
        asking.cancel()  # nobody else reads it
        await asyncio.wait({asking})

    assert [await end_of(client, "mine", turn) for turn in turns] == ["cancelled"]


async def frames_to(frames: AsyncIterator[Frame], kind: str) -> AsyncGenerator[Frame]:
    """Up to the first event of that type."""
    async for frame in frames:
        if not frame.event.startswith("stream_"):
            yield frame
        if frame.event == kind:
            return


async def test_heartbeats_and_a_repeated_request_do_no_harm(settings: Settings) -> None:
    """A request that an SDK repeats gets the turn that the first one began."""
    slow = settings.model_copy(update={"heartbeat": 0.05})
    body = {
        "model": "demo-model",
        "stream": True,
        "messages": [{"role": "user", "content": "/pieces 8 /pace 120"}],
    }
    async with running_gateway(slow) as client, sdk(client) as api:
        first = asyncio.create_task(client.post("/v1/chat/completions", body))
        stream = await api.chat.completions.create(
            model="demo-model", messages=[{"role": "user", "content": "/pieces 9 /pace 120"}], stream=True
        )
        said = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        whole = await first
        again = await client.post("/v1/chat/completions", body, **{"x-stainless-retry-count": "1"})

    assert said
    assert b"\n:\n" in whole.content
    assert again.headers["x-turn-id"] == whole.headers["x-turn-id"]
    assert again.content == whole.content.replace(b":\n", b"") if b"\n:\n" in whole.content else again.content
    assert not {b"id:", b"event:", b"retry:"} & {line[:3] for line in whole.content.splitlines()}
    assert whole.content.endswith(b"data: [DONE]\n\n")


async def test_models_are_listed_for_both_sdks_and_for_a_key_that_names_nobody(settings: Settings) -> None:
    """A frontend asks for them before any of its users comes; all else needs one."""
    keys: dict[str, Any] = {"api_keys": "front:0123456789abcdef", "delegate_keys": ("front",)}
    keyed = settings.model_validate(settings.model_dump() | keys)
    async with running_gateway(keyed) as client:
        async with AsyncOpenAI(base_url=f"{client.url}/v1", api_key="0123456789abcdef") as api:
            found = [each.id async for each in api.models.list()]
            one = await api.models.retrieve("demo-model")
            with pytest.raises(NotFoundError):
                await api.models.retrieve("other/model")
            with pytest.raises(BadRequestError) as nobody:
                await api.chat.completions.create(
                    model="demo-model", messages=[{"role": "user", "content": "x"}]
                )
        listed = (await client.get("/v1/models?beta=true", authorization="Bearer 0123456789abcdef")).json()

    assert (found, one.id, nobody.value.code) == (["demo-model"], "demo-model", "user_required")
    assert (listed["first_id"], listed["data"][0]["type"]) == ("demo-model", "model")


async def test_two_users_of_one_key_share_nothing(settings: Settings) -> None:
    """The same history of another user is unknown."""
    keys: dict[str, Any] = {"api_keys": "front:0123456789abcdef", "delegate_keys": ("front",)}
    keyed = settings.model_validate(settings.model_dump() | keys)
    async with (
        running_gateway(keyed) as client,
        AsyncOpenAI(base_url=f"{client.url}/v1", api_key="0123456789abcdef") as api,
    ):
        lena, omar = Chat(api, **{"X-User-Id": "lena"}), Chat(api, **{"X-User-Id": "omar"})
        await lena.say("/say one")
        omar.messages = [*lena.messages]
        await lena.say("/say two")
        await omar.say("/say two")

    assert len(set(lena.sessions)) == 1
    assert omar.sessions[0] not in lena.sessions


async def test_a_host_that_is_not_ours_is_refused_in_this_dialect(client: Client) -> None:
    async with sdk(client, default_headers={"host": "elsewhere.example"}) as api:
        with pytest.raises(PermissionDeniedError) as refused:
            await api.models.list()

    assert refused.value.code == "forbidden"


@needs_npm
async def test_the_sdk_of_npm_has_the_same_conversation(client: Client) -> None:
    """In chunks and whole, with a tool that runs in its program, an answer asked anew, and failures."""
    broken = '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'
    steps: list[dict[str, Any]] = [
        {"models": True},
        {"say": "/say one", "stream": True, "usage": True},
        {"say": "/say two"},
        {"anew": True, "stream": True},
        {"say": "/call page_title {}\n/then\n/say seen", "tools": True, "stream": True},
        {"say": "/call page_title {}\n/then\n/say again", "tools": True},
        {"say": broken, "stream": True},
        {"say": broken},
    ]
    told = await run("openai.mjs", f"{client.url}/v1", orjson.dumps(steps).decode())

    names, *answers, within, whole = told
    assert names == ["demo-model"]
    assert [each["content"] for each in answers] == ["one", "two", "two", "seen", "again"]
    assert {each["finish"] for each in answers} == {"stop"}
    assert answers[0]["usage"]["total_tokens"] > 0
    assert (within["code"], whole["code"], whole["status"]) == ("upstream_auth", "upstream_auth", 502)
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert len(await started(client, session["id"])) == 7


async def test_the_client_of_the_documentation_runs_as_it_stands_there(client: Client) -> None:
    """It asks twice, in one session, and prints each answer with its tokens."""
    printed = await run_documented_python(ROOT / "docs" / "openai.md", GATEWAY_URL=client.url)

    assert printed.count(" tokens: ") == 2
    assert "391" in printed
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    assert len(await started(client, session["id"])) == 2
