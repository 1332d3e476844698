"""The AI SDK's `useChat` as a client: the classes under it, from npm, unmodified, in versions 7 and 6."""

import base64
from itertools import groupby
from typing import Any

import orjson
import pytest

from gateway.demo.demo_tools import demo_tools
from tests.artifacts.files import png
from tests.clients.programs import needs_npm, run, run_documented
from tests.conftest import ROOT
from tests.harness import Client, running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

VERSIONS = pytest.mark.parametrize("version", ["7", "6"])
QUESTION = "How do I resume a stream? And what is 17*23?"
SEND = '/call send {"to": "李雷"}\n/then\n/say over'
BOTH = '/call send {"to": "李雷"}\n/call post {"text": "hi"}\n/then\n/say over'
Step = dict[str, Any]


async def page(client: Client, version: str, *steps: Step, chat: str = "c") -> list[Any]:
    """What a page shows after each step."""
    return await run("ai_sdk.mjs", f"{client.url}/ai-sdk/chat", version, chat, orjson.dumps(steps).decode())


def parts(shown: Any, kind: str) -> list[Any]:
    return [part for part in shown["messages"][-1]["parts"] if part["type"] == kind]


def said(shown: Any) -> str:
    return "".join(part["text"] for part in parts(shown, "text"))


@needs_npm
@VERSIONS
async def test_a_turn_with_tools_and_sources_is_shown_whole(client: Client, version: str) -> None:
    """Text, calls with their results, what was retrieved and where it stands; a page that is loaded later
    begins with the very same messages. The log is that of any other client."""
    shown, loaded = await page(client, version, {"send": QUESTION}, {"load": True})

    events = await client.events("c")
    assert shown["status"] == "ready"
    assert said(shown) == text_of(events)
    calls = {part["toolName"]: part for part in parts(shown, "dynamic-tool")}
    assert set(calls) == {"search_docs", "calculate"}
    assert (calls["calculate"]["state"], calls["calculate"]["output"]) == ("output-available", "391")
    found = the(events, "retrieval")["results"]
    assert [part["sourceId"] for part in parts(shown, "source-document")] == [hit["id"] for hit in found]
    assert shown["messages"][-1]["id"] == events[0]["turn_id"]
    assert shown["messages"][-1]["metadata"]["usage"] == the(events, "done")["usage"]
    assert without_reasoning_ids(loaded["messages"]) == without_reasoning_ids(shown["messages"])
    assert types(events)[:2] == ["turn_start", "iteration_start"]
    assert the(events, "turn_start")["client_message_id"] == shown["messages"][0]["id"]


def without_reasoning_ids(messages: list[Any]) -> list[Any]:
    """Version 6 has none."""
    for message in messages:
        for part in message["parts"]:
            if part["type"] == "reasoning":
                part.pop("id", None)
    return messages


@needs_npm
@VERSIONS
async def test_thinking_is_shown_as_reasoning(settings: Settings, version: str) -> None:
    async with running_gateway(settings.model_copy(update={"thinking_budget": 2048})) as client:
        shown, loaded = await page(client, version, {"send": "/think 想一想\n/say 好"}, {"load": True})

    assert [part["text"] for part in parts(shown, "reasoning")] == ["想一想"]
    assert said(shown) == "好"
    assert without_reasoning_ids(loaded["messages"]) == without_reasoning_ids(shown["messages"])


@needs_npm
@VERSIONS
async def test_an_approval_ends_the_answer_and_its_decision_goes_on_with_it(
    settings: Settings, version: str
) -> None:
    """One turn and one message; what the page shows before and after a reload is the same."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        steps: list[Step] = [
            {"send": SEND},
            {"approve": True},
            {"load": True},
            {"send": SEND},
            {"approve": False},
        ]
        asked, approved, loaded, _, denied = await page(client, version, *steps)
        events = await client.events("c")

    (call,) = parts(asked, "dynamic-tool")
    assert (asked["status"], call["state"]) == ("ready", "approval-requested")
    (call,) = parts(approved, "dynamic-tool")
    assert (call["state"], call["output"], said(approved)) == ("output-available", "sent to 李雷", "over")
    assert outbox.sent == ["李雷"]
    assert len(approved["messages"]) == 2
    assert approved["messages"][-1]["id"] == asked["messages"][-1]["id"]
    assert said(loaded) == "over"
    (call,) = parts(denied, "dynamic-tool")
    assert (call["state"], said(denied)) == ("output-denied", "over")
    assert [event["data"]["decision"] for event in events if event["type"] == "approval_response"] == [
        "approved",
        "denied",
    ]
    assert len({event["turn_id"] for event in events}) == 2


@needs_npm
async def test_two_questions_are_answered_together(settings: Settings) -> None:
    """The page sends when all are answered; each call has its own end."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        *_, last = await page(
            client, "7", {"send": BOTH}, {"approve": True, "partly": True}, {"approve": False}
        )

    states = {part["toolName"]: part["state"] for part in parts(last, "dynamic-tool")}
    assert states == {"send": "output-available", "post": "output-denied"}
    assert said(last) == "over"


@needs_npm
@VERSIONS
async def test_a_file_goes_to_an_artifact_and_comes_back_as_its_address(client: Client, version: str) -> None:
    """A data part of the answer says what the model gets of it, also after a reload."""
    url = f"data:image/png;base64,{base64.b64encode(png(4, 3)).decode()}"
    file = {"type": "file", "mediaType": "image/png", "filename": "照片.png", "url": url}

    first, loaded, again = await page(
        client, version, {"send": "look", "files": [file]}, {"load": True}, {"send": "and now?"}
    )

    started = [event["data"] for event in await client.events("c") if event["type"] == "turn_start"]
    (attached,) = started[0]["attachments"]
    assert (attached["name"], attached["mime"]) == ("照片.png", "image/png")
    assert attached["reading"] == {"how": "image"}
    for each in (first, loaded):
        (told,) = parts(each, "data-attachments")
        assert told["data"] == {"attachments": [attached]}
    shown = loaded["messages"][0]["parts"][0]
    assert shown == {
        "type": "file",
        "mediaType": "image/png",
        "filename": "照片.png",
        "url": f"/api/artifacts/{attached['ref']}",
    }
    assert (again["status"], "attachments" in started[1]) == ("ready", False)


@needs_npm
@VERSIONS
async def test_who_leaves_finds_the_turn_again_and_only_stop_ends_it(client: Client, version: str) -> None:
    """A page that is loaded anew has the user's message, and is brought the whole answer."""
    slow = "/pieces 60 /pace 20"
    left, loaded, resumed, idle = await page(
        client, version, {"send": slow, "leave": True}, {"load": True}, {"resume": True}, {"resume": True}
    )

    whole = text_of(await client.events("c"))
    assert 0 < len(said(left)) < len(whole)
    assert [message["role"] for message in loaded["messages"]] == ["user"]
    assert said(resumed) == whole
    assert idle["messages"] == resumed["messages"]  # 204: nothing runs

    stopped, after, _ = await page(
        client,
        version,
        {"send": "/pieces 4000 /pace 20", "leave": True},
        {"stop": True},
        {"load": True},
        chat="d",
    )
    turn = stopped["messages"][-1]["id"]
    frames = await client.all_frames(f"/api/sessions/d/events?turn_id={turn}")
    assert the([frame.data for frame in frames], "done")["status"] == "cancelled"
    assert stopped["status"] == after["status"] == "ready"


@needs_npm
@VERSIONS
async def test_failures_before_and_within_an_answer_are_the_pages_error(client: Client, version: str) -> None:
    """In plain words; what had been said stays."""
    before, within = await page(
        client,
        version,
        {"send": "x", "files": [{"type": "file", "mediaType": "a/b", "url": "https://x.y"}]},
        {"send": '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'},
    )

    assert before["status"] == within["status"] == "error"
    assert before["error"] == "A file must be a data: URL, or the address of an artifact of yours."
    assert within["error"].startswith("upstream_auth: ")
    assert said(within) == "half"


@needs_npm
async def test_an_attempt_that_is_withdrawn_is_taken_back_where_the_client_can(client: Client) -> None:
    """Version 7 shows the second attempt alone; 6 is told in a data part that the first does not count."""
    message = "/pieces 10\n/fault clean_truncation once"
    (new,) = await page(client, "7", {"send": message}, chat="new")
    (old,) = await page(client, "6", {"send": message + "\n"}, chat="old")

    for chat, shown in (("new", new), ("old", old)):
        events = await client.events(chat)
        superseded = [event for event in events if event["type"] == "iteration_superseded"]
        assert superseded, types(events)
        assert len(parts(shown, "data-superseded")) == (0 if chat == "new" else 1)
    assert said(new) == text_after_superseded(await client.events("new"))


def text_after_superseded(events: list[dict[str, Any]]) -> str:
    last = max(index for index, event in enumerate(events) if event["type"] == "iteration_superseded")
    return text_of(events[last:])


@needs_npm
@VERSIONS
async def test_another_answer_and_an_edited_message_are_branches(client: Client, version: str) -> None:
    """The page shows what is in force; nothing is taken from the log."""
    shown = await page(
        client,
        version,
        {"send": "/say one"},
        {"send": "/say two"},
        {"regenerate": True},
        {"send": "/say three", "edit": 2},
        {"load": True},
        {"send": "/say four"},
    )

    texts = [[said_in(message) for message in each["messages"]] for each in shown]
    assert texts[2] == ["/say one", "one", "/say two", "two"]
    assert texts[2] == texts[1]
    assert shown[2]["messages"][-1]["id"] != shown[1]["messages"][-1]["id"]
    assert texts[3] == texts[4] == ["/say one", "one", "/say three", "three"]
    assert texts[5] == [*texts[4], "/say four", "four"]
    events = await client.events("c")
    assert [event["data"]["input"] for event in events if event["type"] == "turn_start"] == [
        "/say one",
        "/say two",
        "/say two",
        "/say three",
        "/say four",
    ]


def said_in(message: Any) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


@needs_npm
async def test_the_client_of_the_documentation_runs_as_it_stands_there(settings: Settings) -> None:
    """It asks for something that needs an approval, allows it, and prints the answer."""
    async with running_gateway(settings, *demo_tools(settings.data_dir)) as client:
        printed = await run_documented(ROOT / "docs" / "ai-sdk.md", GATEWAY_URL=client.url)

    allowed, *answer = printed.splitlines()
    assert allowed.startswith('allowed: write_note {"')
    assert "4711" in allowed
    assert answer


def message(text: str, name: str = "m1", role: str = "user") -> dict[str, Any]:
    return {"id": name, "role": role, "parts": [{"type": "text", "text": text}]}


async def test_what_is_sent_is_the_stream_of_the_protocol(client: Client) -> None:
    """Its header, one chunk a frame, and its end, which clients do not ask for."""
    body = {"id": "c", "messages": [message("/say hi")], "trigger": "submit-message", "unknown": {"a": 1}}
    answer = await client.post("/ai-sdk/chat", body)
    again = await client.post("/ai-sdk/chat", body)

    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-resumable-stream-id"] == answer.headers["x-turn-id"]
    frames = answer.text.split("\n\n")
    assert frames[-2:] == ["data: [DONE]", ""]
    chunks = [orjson.loads(frame.removeprefix("data: ")) for frame in frames[:-2]]
    kinds = [kind for kind, _ in groupby(chunk["type"] for chunk in chunks)]  # a text has pieces
    assert kinds == ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"]
    assert again.content == answer.content  # the same turn
    assert (await client.get("/ai-sdk/chat/c/stream")).status_code == 204
    assert (await client.get("/ai-sdk/chat/unknown/stream")).status_code == 204
    assert (await client.get("/ai-sdk/chat/unknown/messages")).json() == []
    assert (await client.post("/ai-sdk/chat/c/stop")).status_code == 204


async def test_a_history_that_is_another_one_is_refused(client: Client) -> None:
    """Never a silent second question, and never a made-up beginning."""
    await client.chat("/say hi", session_id="c")
    other = [message("a", "m0"), message("b", "t_nobody", "assistant"), message("c", "m2")]

    for chat in ("c", "new"):
        refused = await client.post("/ai-sdk/chat", {"id": chat, "messages": other})
        assert (refused.status_code, refused.headers["content-type"]) == (409, "text/plain; charset=utf-8")
        assert refused.text == "The messages are not those of this chat. Load it anew."
    assert types(await client.events("c")).count("turn_start") == 1
    assert (await client.get("/api/sessions/new")).status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"messages": []}, "messages must not be empty."),
        ({"messages": [{"role": "robot"}]}, "A message must have a role and parts."),
        ({"messages": [message("x", role="system")]}, "The last message must be a user's"),
        ({"id": "c", "messages": [message("x", role="assistant")]}, "no answer to an approval"),
        (
            {"messages": [{"role": "user", "parts": [{"type": "text", "text": 1}]}]},
            "must have text, or a file",
        ),
        ({"messages": [message(" ")]}, "must have text, or a file"),
        ({"messages": [message("x")], "tools": {"a b": {}}}, "The name 'a b' must be 1 to 64 letters"),
        ({"messages": "x"}, "messages: must be a list"),
    ],
)
async def test_what_is_wrong_is_refused_in_plain_words(
    client: Client, body: dict[str, Any], words: str
) -> None:
    """The page shows the body as its error; so with what is refused before any handler."""
    refused = await client.post("/ai-sdk/chat", body)

    assert (refused.status_code, refused.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert words in refused.text


async def test_refusals_are_in_the_dialect_of_their_path(settings: Settings) -> None:
    """401, 404, 405 and 413 are plain text here and JSON elsewhere; more than elsewhere may be sent here."""
    small: dict[str, Any] = {"max_body_size": 2000, "adapter_body_size": 4000}
    async with running_gateway(settings.model_copy(update=small)) as client:
        long = {"id": "c", "messages": [message("/say " + "x" * 1500)], "more": "x" * 1500}
        taken = await client.post("/ai-sdk/chat", long)
        refused = [
            await client.post("/ai-sdk/chat", {"messages": [message("x" * 5000)]}),
            await client.get("/ai-sdk/nothing"),
            await client.get("/ai-sdk/chat"),
            await client.get("/ai-sdk/chat/c/stream", host="elsewhere.example"),
        ]
        ours = [await client.get("/ai-sdk-x"), await client.get("/api/nothing")]

    assert taken.status_code == 200
    assert [each.status_code for each in refused] == [413, 404, 405, 403]
    assert {each.headers["content-type"] for each in refused} == {"text/plain; charset=utf-8"}
    assert all(each.json()["error"]["code"] == "not_found" for each in ours)


async def test_the_system_text_of_a_page_is_its_instructions(client: Client) -> None:
    """assistant-ui sends it beside the messages."""
    body = {"id": "c", "messages": [message("/say hi")], "system": "Answer in rhyme."}
    await client.post("/ai-sdk/chat", body)

    assert (await client.get("/api/sessions/c")).json()["instructions"] == "Answer in rhyme."


@needs_npm
@VERSIONS
async def test_a_tool_of_the_page_runs_in_the_page(client: Client, version: str) -> None:
    """`onToolCall` is asked, its output goes on with the same turn, and stays in the page as it was given."""
    shown, loaded = await page(
        client, version, {"send": "/call page_title {}\n/then\n/say seen", "tools": True}, {"load": True}
    )

    (call,) = parts(shown, "tool-page_title")
    assert (call["state"], call["output"], said(shown)) == ("output-available", {"title": "Home"}, "seen")
    events = await client.events("c")
    result = the(events, "tool_result")
    assert (result["status"], '{"title":"Home"}' in result["content"]) == ("ok", True)
    assert types(events).count("turn_start") == 1
    (call,) = parts(loaded, "tool-page_title")
    assert (call["state"], said(loaded)) == ("output-available", "seen")


async def test_a_chat_that_was_begun_elsewhere_goes_on_here(client: Client) -> None:
    """Its messages are the beginning of the session; one with answers of this gateway has to be there."""
    told = [
        message("I am Lena.", "m1"),
        message("Hello!", "a1", "assistant"),
        message("/say yes", "m2"),
    ]
    answer = await client.post("/ai-sdk/chat", {"id": "c", "messages": told})
    gone = [told[0], message("Hello!", "t_0123456789abcdef0123456789abcdef", "assistant"), told[2]]
    refused = await client.post("/ai-sdk/chat", {"id": "gone", "messages": gone})

    shown = (await client.get("/ai-sdk/chat/c/messages")).json()
    assert [(each["role"], said_in(each)) for each in shown] == [
        ("user", "I am Lena."),
        ("assistant", "Hello!"),
        ("user", "/say yes"),
        ("assistant", "yes"),
    ]
    assert answer.status_code == 200
    assert refused.status_code == 409
