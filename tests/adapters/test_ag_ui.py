"""AG-UI's `HttpAgent` as a client: from npm, unmodified, of protocol 1.0 and of the last draft before it."""

import base64
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from ag_ui.core import Event
from pydantic import TypeAdapter

from gateway.demo.demo_tools import demo_tools
from tests.artifacts.files import png
from tests.clients.programs import needs_npm, run, run_documented
from tests.conftest import ROOT
from tests.harness import Client, running_gateway, text_of, the, types
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

VERSIONS = pytest.mark.parametrize("version", ["1", "0"])
QUESTION = "How do I resume a stream? And what is 17*23?"
SEND = '/call send {"to": "李雷"}\n/then\n/say over'
BOTH = '/call send {"to": "李雷"}\n/call post {"text": "hi"}\n/then\n/say over'
APPROVED = {"status": "resolved", "payload": {"approved": True}}
EVENT: TypeAdapter[Any] = TypeAdapter(Event)
Step = dict[str, Any]


async def application(client: Client, version: str, *steps: Step, thread: str = "c") -> list[Any]:
    """What an application has after each step. Every event is one of the protocol."""
    shown = await run("ag_ui.mjs", f"{client.url}/ag-ui", version, thread, orjson.dumps(steps).decode())
    for each in shown:
        for event in each["events"]:
            EVENT.validate_python({name: value for name, value in event.items() if name != "rawEvent"})
        assert_unique(each["messages"])
    return shown


def assert_unique(messages: Sequence[Any]) -> None:
    ids = [message["id"] for message in messages]
    ids += [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert len(ids) == len(set(ids)), ids


def said(shown: Any) -> str:
    """The text of the last answer."""
    texts: list[str] = []
    for message in reversed(shown["messages"]):
        if message["role"] == "user":
            break
        if message["role"] == "assistant":
            texts.insert(0, message.get("content") or "")
    return "".join(texts)


def told(shown: Any) -> list[str]:
    """The questions and answers."""
    return [message["content"] for message in shown["messages"] if message.get("content")]


def of_role(shown: Any, role: str) -> list[Any]:
    return [message for message in shown["messages"] if message["role"] == role]


def custom(shown: Any, name: str) -> list[Any]:
    return [each["value"] for each in shown["events"] if each["type"] == "CUSTOM" and each["name"] == name]


def last(shown: Any) -> Any:
    return shown["events"][-1]


@needs_npm
@VERSIONS
async def test_a_turn_with_tools_and_sources_is_shown_whole(client: Client, version: str) -> None:
    """Text, calls with their results, what was retrieved, the steps and what they took; a page that takes up
    the thread later has the very same messages. The log is that of any other client."""
    shown, _, loaded = await application(
        client, version, {"send": QUESTION}, {"fresh": True}, {"connect": True}
    )

    events = await client.events("c")
    assert said(shown) == text_of(events)
    calls = [call for message in shown["messages"] for call in message.get("toolCalls", ())]
    assert {call["function"]["name"] for call in calls} == {"search_docs", "calculate"}
    results = {message["toolCallId"]: message for message in of_role(shown, "tool")}
    assert results.keys() == {call["id"] for call in calls}
    calculated = next(call["id"] for call in calls if call["function"]["name"] == "calculate")
    assert results[calculated]["content"] == "391"
    (sources,) = [
        each["metadata"]["gateway"]["retrieval"]
        for each in results.values()
        if "search" in each["content"] or "retrieval" in each["metadata"]["gateway"]
    ]
    assert sources == [the(events, "retrieval")] == custom(shown, "retrieval")
    started, finished = shown["events"][0], last(shown)
    assert started["metadata"]["gateway"]["turn_id"] == events[0]["turn_id"]
    assert started.get("protocolVersion") == ("1.0" if version == "1" else None)
    assert finished["outcome"] == {"type": "success"}
    usage = the(events, "done")["usage"]
    (used,) = finished["usage"]
    assert used["outputTokens"] == usage["output_tokens"]
    assert used["inputTokens"] == usage["input_tokens"] + usage.get("cache_read_input_tokens", 0) + usage.get(
        "cache_creation_input_tokens", 0
    )
    assert loaded["messages"] == shown["messages"]
    assert types(events)[:2] == ["turn_start", "iteration_start"]
    assert the(events, "turn_start")["client_message_id"] == "c-0"


@needs_npm
@VERSIONS
async def test_thinking_is_reasoning(settings: Settings, version: str) -> None:
    async with running_gateway(settings.model_copy(update={"thinking_budget": 2048})) as client:
        shown, again, _, loaded = await application(
            client,
            version,
            {"send": "/think 想一想\n/say 好"},
            {"connect": True},
            {"fresh": True},
            {"connect": True},
        )

    assert [message["content"] for message in of_role(shown, "reasoning")] == ["想一想"]
    assert said(shown) == "好"
    assert loaded["messages"] == again["messages"] == shown["messages"]


@needs_npm
@VERSIONS
async def test_an_approval_interrupts_the_run_and_its_answer_goes_on_with_it(
    settings: Settings, version: str
) -> None:
    """One turn in two runs; what a page has before and after a reload is the same."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked, approved, _, loaded, _, denied = await application(
            client,
            version,
            {"send": SEND},
            {"resume": [APPROVED]},
            {"fresh": True},
            {"connect": True},
            {"send": SEND},
            {"resume": [{"status": "resolved", "payload": {"approved": False, "reason": "not him"}}]},
        )
        events = await client.events("c")

    (interrupt,) = asked["pending"]
    (call,) = asked["messages"][-1]["toolCalls"]
    assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", call["id"])
    assert interrupt["responseSchema"]["required"] == ["approved"]
    assert last(asked)["outcome"]["type"] == "interrupt"
    assert approved["pending"] == []
    assert (told(approved), outbox.sent) == ([SEND, "sent to 李雷", "over"], ["李雷"])
    assert loaded["messages"] == approved["messages"]
    assert said(denied) == "over"
    assert of_role(denied, "tool")[-1]["metadata"]["gateway"]["status"] == "denied"
    decisions = [event["data"] for event in events if event["type"] == "approval_response"]
    assert [each["decision"] for each in decisions] == ["approved", "denied"]
    assert decisions[1]["reason"] == "not him"
    assert len({event["turn_id"] for event in events}) == 2


@needs_npm
@VERSIONS
async def test_a_page_that_is_loaded_anew_answers_what_was_asked_before(
    settings: Settings, version: str
) -> None:
    """Both questions; one with other arguments."""
    outbox = Outbox()
    edited = {"status": "resolved", "payload": {"approved": True, "editedArgs": {"to": "Ada"}}}
    async with running_gateway(settings, *outbox.tools) as client:
        _, _, loaded, ended = await application(
            client,
            version,
            {"send": BOTH},
            {"fresh": True},
            {"connect": True},
            {"resume": [edited, {"status": "cancelled"}]},
        )

    assert len(loaded["pending"]) == 2
    assert outbox.sent == ["Ada"]
    statuses = [message["metadata"]["gateway"]["status"] for message in of_role(ended, "tool")]
    assert (sorted(statuses), said(ended)) == (["denied", "ok"], "over")


@needs_npm
@VERSIONS
async def test_a_file_goes_to_an_artifact_and_comes_back_as_its_address(client: Client, version: str) -> None:
    """An event of its own says what the model gets of it, in the run and when the thread is told anew."""
    source = {"type": "data", "value": base64.b64encode(png(4, 3)).decode(), "mimeType": "image/png"}
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": source, "metadata": {"filename": "照片.png"}},
    ]
    first, _, loaded, again = await application(
        client, version, {"send": parts}, {"fresh": True}, {"connect": True}, {"send": "and now?"}
    )

    started = [event["data"] for event in await client.events("c") if event["type"] == "turn_start"]
    (attached,) = started[0]["attachments"]
    assert (attached["name"], attached["mime"]) == ("照片.png", "image/png")
    assert attached["reading"] == {"how": "image"}
    assert custom(first, "attachments") == custom(loaded, "attachments") == [{"attachments": [attached]}]
    assert loaded["messages"][0]["content"] == [
        {
            "type": "image",
            "source": {
                "type": "url",
                "value": f"/api/artifacts/{attached['ref']}",
                "mimeType": "image/png",
            },
            "metadata": {"filename": "照片.png"},
        },
        {"type": "text", "text": "look"},
    ]
    assert ("failure" in again, "attachments" in started[1]) == (False, False)


@needs_npm
@VERSIONS
async def test_who_leaves_finds_the_turn_again_and_only_stop_ends_it(client: Client, version: str) -> None:
    """With half of the answer at hand, by /connect or by the same run; and with nothing."""
    slow = "/pieces 60 /pace 20"
    left, connected, _, loaded = await application(
        client, version, {"send": slow, "leave": True}, {"connect": True}, {"fresh": True}, {"connect": True}
    )
    _, again = await application(client, version, {"send": slow, "leave": True}, {"again": True}, thread="d")

    whole = text_of(await client.events("c"))
    assert 0 < len(said(left)) < len(whole)
    assert said(connected) == said(loaded) == whole
    assert said(again) == text_of(await client.events("d"))
    assert types(await client.events("d")).count("turn_start") == 1

    *_, connected = await application(
        client,
        version,
        {"send": "/pieces 4000 /pace 20", "leave": True},
        {"stop": True},
        {"connect": True},
        thread="e",
    )
    assert the(await client.events("e"), "done")["status"] == "cancelled"
    finished = last(connected)
    if version == "1":
        assert finished["outcome"] == {"type": "cancelled"}
    else:
        assert ("outcome" in finished, finished["result"]["status"]) == (False, "cancelled")


@needs_npm
@VERSIONS
async def test_who_leaves_at_any_event_has_the_whole_turn_afterwards(
    settings: Settings, version: str
) -> None:
    """By /connect; and by running once more, where something of the answer is there."""
    message = '/think 想\n/say one\n/call calculate {"expression": "1+1"}\n/then\n/say two'
    async with running_gateway(settings.model_copy(update={"thinking_budget": 2048})) as client:
        (whole,) = await application(client, version, {"send": message})
        steps: list[Step] = []
        for at in range(1, len(whole["events"])):
            steps += [
                {"fresh": f"by-connect-{at}"},
                {"send": message, "leaveAt": at},
                {"connect": True},
                {"fresh": f"again-{at}"},
                {"send": message, "leaveAt": at},
                {"again": True},
            ]
        shown = await application(client, version, *steps)
        begun = [
            types(await client.events(f"{way}-{at}")).count("turn_start")
            for at in range(1, len(whole["events"]))
            for way in ("by-connect", "again")
        ]

    wanted = [*map(content_of, whole["messages"])]
    for connected, again in zip(shown[2::6], shown[5::6], strict=True):
        assert [*map(content_of, connected["messages"])] == wanted
        assert [*map(content_of, again["messages"])] == wanted
    assert set(begun[0::2]) == {1}
    assert begun[1::2].count(2) <= 3  # nothing of the answer was there, and it was over


def content_of(message: Any) -> tuple[object, ...]:
    calls = [call["function"] for call in message.get("toolCalls", ())]
    return message["role"], message.get("content"), calls


@needs_npm
@VERSIONS
async def test_who_leaves_behind_an_approval_resumes_once_more(settings: Settings, version: str) -> None:
    """The client holds the interrupt until a run has ended; what it has of the rest is not shown twice."""
    outbox = Outbox()
    message = '/say before\n/call send {"to": "Ada"}\n/then\n/pieces 60 /pace 20'
    async with running_gateway(settings, *outbox.tools) as client:
        _, left, resumed = await application(
            client,
            version,
            {"send": message},
            {"resume": [APPROVED], "leave": True},
            {"resume": [APPROVED]},
        )
        whole = text_of(await client.events("c"))

    assert (left["pending"] == [], resumed["pending"]) == (False, [])
    assert 0 < len(said(left)) < len(whole)
    assert (said(resumed), outbox.sent) == (whole, ["Ada"])


@needs_npm
@VERSIONS
async def test_failures_before_and_within_an_answer_are_told(client: Client, version: str) -> None:
    """With their code; what had been said stays."""
    file = {"type": "document", "source": {"type": "url", "value": "https://x.y"}}
    before, _, within = await application(
        client,
        version,
        {"send": [file]},
        {"fresh": True},
        {"send": '/say half\n/call calculate {"expression": "1+1"}\n/then\n/fault http_401'},
    )

    problem = before["failure"]["payload"]["error"]
    assert problem["code"] == "invalid_request"
    assert problem["message"] == "A file must be a data: URL, or the address of an artifact of yours."
    assert (last(within)["type"], last(within)["code"]) == ("RUN_ERROR", "upstream_auth")
    assert last(within)["metadata"]["gateway"]["retryable"] is False
    assert said(within) == "half"


@needs_npm
@VERSIONS
async def test_an_attempt_that_is_withdrawn_is_taken_back(client: Client, version: str) -> None:
    """The page has the second attempt alone, and what it had before stays; so when it is loaded."""
    _, shown, _, loaded = await application(
        client,
        version,
        {"send": "/say one"},
        {"send": f"/pieces 1{version}\n/fault clean_truncation once"},
        {"fresh": True},
        {"connect": True},
    )

    events = await client.events("c")
    second = max(index for index, event in enumerate(events) if event["type"] == "iteration_superseded")
    assert said(shown) == text_of(events[second:])
    assert told(shown)[:2] == ["/say one", "one"]
    (superseded,) = custom(shown, "iteration_superseded")
    assert not {message["id"] for message in shown["messages"]} & {*superseded["messageIds"]}
    assert loaded["messages"] == shown["messages"]
    assert custom(loaded, "iteration_superseded") == []


@needs_npm
@VERSIONS
async def test_another_answer_and_an_edited_message_are_branches(client: Client, version: str) -> None:
    """The page shows what is in force; nothing is taken from the log."""
    shown = await application(
        client,
        version,
        {"send": "/say one"},
        {"send": "/say two"},
        {"regenerate": True},
        {"edit": 2, "send": "/say three"},
        {"fresh": True},
        {"connect": True},
        {"send": "/say four"},
    )

    assert told(shown[2]) == told(shown[1]) == ["/say one", "one", "/say two", "two"]
    assert shown[2]["messages"][-1]["id"] != shown[1]["messages"][-1]["id"]
    assert told(shown[3]) == told(shown[5]) == ["/say one", "one", "/say three", "three"]
    assert told(shown[6]) == [*told(shown[5]), "/say four", "four"]
    events = await client.events("c")
    assert [event["data"]["input"] for event in events if event["type"] == "turn_start"] == [
        "/say one",
        "/say two",
        "/say two",
        "/say three",
        "/say four",
    ]


@needs_npm
@VERSIONS
async def test_a_tool_of_the_application_runs_there(client: Client, version: str) -> None:
    """The run ends with the open call; its result goes on with the same turn."""
    asked, shown, _, loaded = await application(
        client,
        version,
        {"send": "/call page_title {}\n/then\n/say seen", "tools": True},
        {"tool": '{"title":"Home"}'},
        {"fresh": True},
        {"connect": True},
    )

    (call,) = asked["messages"][-1]["toolCalls"]
    outcome = {"type": "success"} | ({"pendingToolCallIds": [call["id"]]} if version == "1" else {})
    assert last(asked)["outcome"] == outcome
    assert (asked["pending"], said(shown)) == ([], "seen")
    assert [each["content"] for each in of_role(shown, "tool")] == ['{"title":"Home"}']
    events = await client.events("c")
    result = the(events, "tool_result")
    assert (result["status"], '{"title":"Home"}' in result["content"]) == ("ok", True)
    assert types(events).count("turn_start") == 1
    assert said(loaded) == "seen"


@needs_npm
@VERSIONS
async def test_context_is_the_applications_instructions(client: Client, version: str) -> None:
    context = [{"description": "The page", "value": "Invoice 17"}]
    await application(client, version, {"send": "/say hi", "context": context})
    told = (await client.get("/api/sessions/c")).json()["instructions"]
    await application(client, version, {"fresh": True}, {"connect": True}, {"send": "/say ho", "id": "m2"})

    assert told == "The page:\nInvoice 17"
    assert (await client.get("/api/sessions/c")).json().get("instructions") is None


@needs_npm
async def test_the_client_of_the_documentation_runs_as_it_stands_there(settings: Settings) -> None:
    """It asks for something that needs an approval, allows it, and prints the answer."""
    async with running_gateway(settings, *demo_tools(settings.data_dir)) as client:
        printed = await run_documented(ROOT / "docs" / "ag-ui.md", GATEWAY_URL=client.url)

    lines = printed.splitlines()
    (call,) = [line for line in lines if line.startswith("call: write_note {")]
    assert "4711" in call
    assert "allowed: " in printed
    assert not lines[-1].startswith(("call: ", "allowed: "))
