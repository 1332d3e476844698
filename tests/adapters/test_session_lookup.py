"""Whatever a client makes of the conversation that it sends, each message is once in a session, and the model
reads what the client has."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from gateway.adapters.answer_remarks import STARTS_OVER
from tests.harness import Client, client_at, running_gateway
from tests.product import Settings
from tests.running import gateway_process

pytestmark = pytest.mark.anyio

Messages = list[dict[str, Any]]


async def send(client: Client, messages: Messages, **headers: str) -> tuple[str, str]:
    """Session and answer."""
    answer = await client.post("/v1/chat/completions", {"messages": messages}, **headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-session-id"], answer.json()["choices"][0]["message"]["content"]


def said(*texts: str) -> Messages:
    """By turns the user's and the assistant's."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


async def told(client: Client, session: str) -> Sequence[str]:
    """What the model reads of a session."""
    shown = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    return ["".join(block.get("text", "") for block in each["content"]) for each in shown]


async def test_what_is_changed_missing_or_doubled_is_another_history(client: Client) -> None:
    """It begins a session of its own, with what the client has; the one that is there stays as it was."""
    first, _ = await send(client, said("/say one"))
    await send(client, said("/say one", "one", "/say two"))
    whole = ["/say one", "one", "/say two", "two"]
    others = {
        "an answer is another": ["/say one", "eins", "/say two", "two"],
        "the last answer is another": ["/say one", "one", "/say two", "zwei"],
        "a question is another": ["/say ONE", "one", "/say two", "two"],
        "the first is missing": ["/say two", "two"],
        "reordered": ["/say two", "two", "/say one", "one"],
        "doubled": ["/say one", "one", "/say one", "one", "/say two", "two"],
    }
    for how, history in others.items():
        session, _ = await send(client, said(*history, "/say next"))
        assert session != first, how
        assert await told(client, session) == [*history, "/say next", "next"], how
        again, _ = await send(client, said(*history, "/say next", "next", "/say last"))
        assert again == session, how
    assert await told(client, first) == whole


async def test_a_session_that_other_clients_use_goes_on_after_what_this_one_has(client: Client) -> None:
    """What was said there meanwhile is in another branch; who names the session alone sees it."""
    session, _ = await send(client, said("/say one"))
    await client.chat("/say elsewhere", session_id=session)

    same, _ = await send(client, said("/say one", "one", "/say two"))

    assert same == session
    assert await told(client, session) == ["/say one", "one", "/say two", "two"]
    inputs = [each["data"]["input"] for each in await client.events(session) if each["type"] == "turn_start"]
    assert inputs == ["/say one", "/say elsewhere", "/say two"]


async def test_a_chat_whose_client_changes_what_it_sent_is_found_by_its_name(client: Client) -> None:
    """Open WebUI puts what it retrieved into the message that it sends, not into the one that it keeps."""
    named = {"x-openwebui-chat-id": "c"}
    await send(client, said("Use this: <context>…</context>\n/say one"), **named)

    lost, _ = await send(client, said("/say one", "one", "/say two"))
    found, _ = await send(client, said("/say one", "one", "/say three"), **named)

    assert (found, lost == "c") == ("c", False)


async def test_the_first_message_of_a_named_chat_asked_anew_is_a_branch(client: Client) -> None:
    """Another one there is not known to be an edit: it is beside the chat, and goes on where it is."""
    named = {"x-chat-id": "c"}
    first, _ = await send(client, said("/say one"), **named)
    anew, _ = await send(client, said("/say one"), **named)
    edited, _ = await send(client, said("/say eins"), **named)
    on, _ = await send(client, said("/say eins", "eins", "/say zwei"), **named)

    assert (first, anew) == ("c", "c")
    assert edited == on != "c"
    assert len((await client.get("/api/sessions/c/branches")).json()["branches"]) == 2


async def test_what_is_asked_anew_after_a_history_from_elsewhere_is_a_branch(client: Client) -> None:
    """It is brought along once."""
    history = ["I am Lena.", "Hello!"]
    first, _ = await send(client, said(*history, "/say one"))
    anew, _ = await send(client, said(*history, "/say one"))

    assert first == anew
    inputs = [each["data"]["input"] for each in await client.events(first) if each["type"] == "turn_start"]
    assert inputs == ["I am Lena.", "/say one", "/say one"]
    assert await told(client, first) == [*history, "/say one", "one"]


async def test_a_history_whose_question_is_refused_leaves_no_session(client: Client) -> None:
    """A client that asks the same wrong request again and again would make one each time."""
    taken = [{"type": "function", "function": {"name": "calculate"}}]
    messages = said("I am Lena.", "Hello!", "/say one")

    refused = await client.post("/v1/chat/completions", {"messages": messages, "tools": taken})

    assert refused.status_code == 400
    assert (await client.get("/api/sessions")).json()["sessions"] == []


async def test_words_of_the_model_that_look_like_remarks_are_its_answer(client: Client) -> None:
    """It goes on where it is, and the model reads all of its words."""
    for words in (
        "the <think>is a tag</think> of some",
        f"it said {STARTS_OVER}",
        "[Waiting for approval of it: x] is told",
    ):
        session, answer = await send(client, said(f"/say {words}"))
        again, _ = await send(client, said(f"/say {words}", answer, "/say two"))

        assert again == session
        assert await told(client, session) == [f"/say {words}", words, "/say two", "two"]


async def test_what_came_to_nothing_elsewhere_is_not_what_the_client_has(client: Client) -> None:
    """The same was asked in another session since, and failed there: the answer is nobody's but its own."""
    asked = "/fault http_400 once\n/say one"

    async def ask(told: str) -> httpx2.Response:
        system = {"role": "system", "content": told}  # the demo takes it for another request
        return await client.post("/v1/chat/completions", {"messages": [system, *said(asked)]})

    failed, answered, failed_since = await ask("A."), await ask("A."), await ask("B.")
    assert [each.status_code for each in (failed, answered, failed_since)] == [502, 200, 502]

    session, _ = await send(client, said(asked, "one", "/say two"))
    other, _ = await send(client, said(asked, "eins", "/say two"))

    assert session == answered.headers["x-session-id"]
    assert await told(client, session) == [asked, "one", "/say two", "two"]
    assert await told(client, other) == [asked, "eins", "/say two", "two"]


async def test_what_a_frontend_asks_for_itself_is_beside_the_chat_that_it_sends_along(client: Client) -> None:
    """Such as a title of all that was said: it must not become a part of it, nor be learned from."""
    session, _ = await send(client, said("/say one"))
    beside, _ = await send(client, said("/say one", "one", "/say a title"), **{"x-task": "title"})
    again, _ = await send(client, said("/say one", "one", "/say two"))

    assert again == session != beside
    assert await told(client, session) == ["/say one", "one", "/say two", "two"]
    assert await told(client, beside) == ["/say one", "one", "/say a title", "a title"]
    assert (await client.get(f"/api/sessions/{beside}")).json()["role_id"] == "side"


async def test_a_repeated_request_is_the_one_with_its_instructions(client: Client) -> None:
    """Programs send one question with many texts as their system message, at once."""
    retried = {"x-stainless-retry-count": "1"}

    def asked(text: str) -> Messages:
        return [{"role": "system", "content": text}, *said("/say one")]

    first, _ = await send(client, asked("Text A."))
    other, _ = await send(client, asked("Text B."), **retried)
    again, _ = await send(client, asked("Text A."), **retried)

    assert again == first != other


async def test_several_models_that_are_asked_the_same_at_once_answer_one_by_one(settings: Settings) -> None:
    """As Open WebUI does under one chat; each gets the answer of its own model, and goes on after that."""
    both = settings.model_copy(update={"model": "one", "allowed_models": ("two",)})
    named = {"x-openwebui-chat-id": "c"}
    async with running_gateway(both) as client:

        async def ask(model: str) -> httpx2.Response:
            body = {"model": model, "messages": said("/pieces 5 /pace 20")}
            return await client.post("/v1/chat/completions", body, **named)

        answers = await asyncio.gather(ask("one"), ask("two"))
        told = [each.json() for each in answers]
        turns = (await client.get("/api/turns")).json()["turns"]

    assert [each["model"] for each in told] == ["one", "two"]
    assert {each.headers["x-session-id"] for each in answers} == {"c"}
    assert [turn["outcome"] for turn in turns] == ["completed", "completed"]


async def test_placeholders_that_nobody_filled_in_name_nothing(client: Client) -> None:
    """All chats would be one session."""
    sessions = {
        (await send(client, said("/say one"), **{"x-session-id": value}))[0]
        for value in ("{{CHAT_ID}}", "null", "", "None")
    }

    assert len(sessions) == 4


async def test_a_name_that_is_no_id_is_the_same_session_each_time(client: Client) -> None:
    sessions = [(await send(client, said(f"/say {n}"), **{"x-session-id": "chat/1 of me"}))[0] for n in "12"]

    assert sessions[0] == sessions[1]
    assert await told(client, sessions[0]) == ["/say 1", "1", "/say 2", "2"]


async def test_a_history_that_is_compressed_and_archived_is_found(client: Client) -> None:
    """The marks are the turns': whatever became of the messages."""
    history: list[str] = []
    for word in ("one", "two", "three"):
        session, answer = await send(client, said(*history, f"/say {word}"))
        history += [f"/say {word}", answer]
    done = await client.post(f"/api/sessions/{session}/compress")
    assert done.status_code in {200, 202, 409}, done.text

    again, _ = await send(client, said(*history, "/say four"))

    assert again == session
    assert len(orjson.dumps(await told(client, session))) > 0


async def test_a_request_that_is_repeated_after_a_crash_gets_its_turn(tmp_path: Path, demo_url: str) -> None:
    """The process is killed while it answers; the next one has the rest of the answer, and no second turn."""
    body = {"messages": said("/pieces 60 /pace 20"), "stream": True}
    path, retried = "/v1/chat/completions", {"x-stainless-retry-count": "1"}
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client, client.http.stream("POST", path, json=body) as first:
            async for chunk in first.aiter_bytes():
                if b'"delta":{"content":' in chunk:
                    break
            gateway.stop(signal.SIGKILL)
    with gateway_process(tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url) as gateway:
        async with client_at(gateway.url) as client:
            again = await client.post(path, body, **retried)
            turns = (await client.get("/api/turns")).json()["turns"]

    assert again.headers["x-turn-id"] == first.headers["x-turn-id"]
    assert again.text.endswith("data: [DONE]\n\n")
    assert len(turns) == 1


async def test_a_session_that_is_named_is_followed_through_other_dialects(client: Client) -> None:
    """What was said there with another client has no mark: the last answer says where this one is."""
    session, _ = await send(client, said("/say one"))
    two = {"id": "m2", "role": "user", "parts": [{"type": "text", "text": "/say two"}]}
    await client.post("/ai-sdk/chat", {"id": session, "messages": [two]})
    history = ["/say one", "one", "/say two", "two", "/say three"]

    same, _ = await send(client, said(*history), **{"x-session-id": session})

    assert same == session
    assert await told(client, session) == [*history, "three"]
    assert len((await client.get(f"/api/sessions/{session}/branches")).json()["branches"]) == 1
