"""AG-UI without a client of its makers: what is sent for a request, and which requests are refused."""

import asyncio
from itertools import groupby
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from gateway.adapters.client_conversation import MAX_RESULTS
from gateway.service.approvals import MAX_REASON
from tests.harness import TIMEOUT, Client, running_gateway, the, types
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.asking import Outbox

pytestmark = pytest.mark.anyio

SEND = '/call send {"to": "李雷"}\n/then\n/say over'


def question(text: str, name: str = "m1") -> dict[str, Any]:
    return {"id": name, "role": "user", "content": text}


def answer(text: str, name: str) -> dict[str, Any]:
    return {"id": name, "role": "assistant", "content": text}


def input_of(*messages: dict[str, Any], thread: str = "c", **more: Any) -> dict[str, Any]:
    body = {"threadId": thread, "runId": "r1", "protocolVersion": "1.0", "messages": [*messages]}
    return {**body, **more}


def events_in(answer: Any) -> list[dict[str, Any]]:
    *frames, rest = answer.text.split("\n\n")
    assert rest == ""
    return [orjson.loads(frame.removeprefix("data: ")) for frame in frames]


async def turn_of(client: Client, answer: Any) -> Any:
    return (await client.get(f"/api/turns/{answer.headers['x-turn-id']}")).json()


async def test_what_is_sent_is_the_stream_of_the_protocol(client: Client) -> None:
    """One event a frame, from RUN_STARTED to the end of the run, and nothing behind it. Fields and roles that
    are not known do not matter."""
    stranger = {"id": "x", "role": "hologram", "glow": True}
    sent = await client.post("/ag-ui", input_of(stranger, question("/say hi"), state={"a": 1}, more=[]))
    known = await client.post("/ag-ui/connect", input_of())
    unknown = await client.post("/ag-ui/connect", input_of(thread="nothing"))

    assert sent.headers["content-type"].startswith("text/event-stream")
    events = events_in(sent)
    kinds = [kind for kind, _ in groupby(event["type"] for event in events)]  # a text has pieces
    assert kinds == [
        "RUN_STARTED",
        "STEP_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "STEP_FINISHED",
        "RUN_FINISHED",
    ]
    assert (events[0]["runId"], events[-1]["runId"]) == ("r1", "r1")
    assert sent.headers["x-turn-id"] == events[0]["metadata"]["gateway"]["turn_id"]
    again = events_in(known)
    assert again[1:-1] == events[1:-1]
    assert again[0]["input"]["messages"] == [question("/say hi")]
    assert (unknown.status_code, unknown.content) == (200, b"")
    assert (await client.post("/ag-ui/stop", {"threadId": "c"})).status_code == 204
    assert (await client.post("/ag-ui/stop", {"threadId": "nothing"})).status_code == 204


async def test_the_same_message_while_it_is_answered_is_the_same_turn(client: Client) -> None:
    """Also under the id of another run, and where nothing of the answer was seen."""
    message = input_of(question("/pieces 40 /pace 10"))
    first, second = await asyncio.gather(
        client.post("/ag-ui", message), client.post("/ag-ui", {**message, "runId": "r2"})
    )

    one, two = events_in(first), events_in(second)
    assert one[0]["metadata"] == two[0]["metadata"]
    assert (one[0]["runId"], two[0]["runId"]) == ("r1", "r2")
    assert one[1:-1] == two[1:-1]
    assert types(await client.events("c")).count("turn_start") == 1


async def test_another_question_while_a_turn_runs_is_refused(client: Client) -> None:
    session = await client.session()
    await client.begin(session, "/pieces 4000 /pace 20")
    refused = await client.post("/ag-ui", input_of(question("/say hi", "m2"), thread=session))
    await client.post("/ag-ui/stop", {"threadId": session})

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "turn_in_progress")


async def test_a_question_in_place_of_an_answer_ends_the_turn_that_waits(settings: Settings) -> None:
    """The client went on to something else, and knows how to say so: it is not kept from it."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await client.post("/ag-ui", input_of(question(SEND)))
        async with asyncio.timeout(TIMEOUT):  # it is parked once its last words are out
            while (await turn_of(client, asked))["status"] != "awaiting_approval":
                await asyncio.sleep(0.01)
        events = events_in(await client.post("/ag-ui", input_of(question(SEND), question("/say hi", "m2"))))
        dones = [event["data"]["status"] for event in await client.events("c") if event["type"] == "done"]

    assert events[-1]["result"]["status"] == "completed"
    assert (dones, outbox.sent) == (["cancelled", "completed"], [])


async def test_a_denial_with_a_new_question_does_both(settings: Settings) -> None:
    """Its reason is as long as one may be, and without what a database does not take."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = events_in(await client.post("/ag-ui", input_of(question(SEND))))
        (interrupt,) = asked[-1]["outcome"]["interrupts"]
        told = {"approved": False, "reason": "\0No" + "!" * 5000}
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": told}]
        body = input_of(question(SEND), question("/say hi", "m2"), resume=resume)
        events = events_in(await client.post("/ag-ui", body))
        again = await client.post("/ag-ui", input_of(question(SEND), resume=resume))
        log = await client.events("c")

    assert events[-1]["result"]["status"] == "completed"
    assert [event["data"]["status"] for event in log if event["type"] == "done"] == ["completed", "completed"]
    answered = the(log, "approval_response")
    assert (answered["decision"], outbox.sent) == ("denied", [])
    assert answered["reason"] == "No" + "!" * (MAX_REASON - 3)
    assert again.status_code == 200


async def test_an_interrupt_is_answered_once(settings: Settings) -> None:
    """The same answer again changes nothing, another one is refused, and so is one about nothing."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = events_in(await client.post("/ag-ui", input_of(question(SEND))))
        (interrupt,) = asked[-1]["outcome"]["interrupts"]

        def answered(approved: object, name: str = interrupt["id"]) -> dict[str, Any]:
            payload = {"approved": approved}
            return input_of(
                question(SEND), resume=[{"interruptId": name, "status": "resolved", "payload": payload}]
            )

        turn = interrupt["id"].partition(":")[0]
        answers = [
            await client.post("/ag-ui", answered(each, name))
            for each, name in [
                ("yes", interrupt["id"]),
                (True, "nothing"),
                (True, f"{turn}:toolu_none"),
                (True, interrupt["id"]),
                (True, interrupt["id"]),
                (False, interrupt["id"]),
            ]
        ]

    assert [each.status_code for each in answers] == [400, 400, 404, 200, 200, 409]
    once, twice = (events_in(each) for each in answers[3:5])
    assert once == twice
    assert outbox.sent == ["李雷"]


async def test_a_turn_that_said_nothing_is_no_obstacle(client: Client) -> None:
    """It failed before its first word: the same message can be asked again, and another one after it."""
    failing, other = question("/fault http_401"), question("/say hi", "m2")
    first = events_in(await client.post("/ag-ui", input_of(failing)))
    again = events_in(await client.post("/ag-ui", input_of(failing, runId="r2")))
    after = events_in(await client.post("/ag-ui", input_of(failing, other, runId="r3")))

    assert first[-1]["type"] == again[-1]["type"] == "RUN_ERROR"
    assert after[-1]["result"]["status"] == "completed"


async def test_a_turn_that_never_began_is_no_obstacle(client: Client) -> None:
    """It waited in the queue, and was cancelled there."""
    running = await client.begin(session := await client.session(), "/pieces 4000 /pace 20")
    queued = await client.begin(session, "/say a", client_message_id="m1", on_conflict="queue")
    for turn in (queued, running):
        await client.post(f"/api/turns/{turn['turn_id']}/cancel")
    await client.post("/ag-ui/connect", input_of(thread=session))
    again = await client.post("/ag-ui", input_of(question("/say a"), thread=session))
    after = await client.post(
        "/ag-ui", input_of(question("/say a"), question("/say b", "m2"), thread=session)
    )

    assert events_in(again)[-1]["result"]["status"] == "completed"
    assert events_in(after)[-1]["result"]["status"] == "completed"


async def test_an_interrupt_that_was_decided_elsewhere_can_be_given_up(settings: Settings) -> None:
    """Clients of 1.0 must say something of it, before they may go on: what was decided stays."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = events_in(await client.post("/ag-ui", input_of(question(SEND))))
        (interrupt,) = asked[-1]["outcome"]["interrupts"]
        turn, _, call = interrupt["id"].partition(":")
        path = f"/api/sessions/c/turns/{turn}/approvals/{call}"
        decided = await client.post(path, {"decision": "approve"})
        resume = [{"interruptId": interrupt["id"], "status": "cancelled"}]
        events = events_in(await client.post("/ag-ui", input_of(question(SEND), resume=resume)))

    assert decided.status_code == 200
    assert events[-1]["result"]["status"] == "completed"
    assert outbox.sent == ["李雷"]


async def test_a_client_with_ids_of_its_own_for_answers_is_known_by_its_questions(client: Client) -> None:
    """Another answer to the first question is what the second one comes after; results of the gateway's
    tools are not taken for results of the client's."""
    one = question('/call calculate {"expression": "1+1"}\n/then\n/say one')
    await client.post("/ag-ui", input_of(one))
    second = events_in(await client.post("/ag-ui", input_of(one, runId="r2")))
    call = next(event["toolCallId"] for event in second if event["type"] == "TOOL_CALL_START")
    result = {"id": "own-2", "role": "tool", "toolCallId": call, "content": "2"}
    told = events_in(await client.post("/ag-ui", input_of(one, answer("", "own-1"), result, runId="r3")))
    before = [one, answer("one", "own-3")]
    await client.post("/ag-ui", input_of(*before, question("/say two", "m2"), runId="r4"))
    shown = events_in(await client.post("/ag-ui/connect", input_of()))

    assert told[1:] == [*second[1:-1], {**second[-1], "runId": "r3"}]
    turns = [event["runId"] for event in shown if event["type"] == "RUN_STARTED"]
    assert len(turns) == 2
    assert turns[0] == second[0]["metadata"]["gateway"]["turn_id"]


async def test_a_run_ends_with_its_end_though_it_was_rated_later(client: Client) -> None:
    """A thread is shown as it would be otherwise."""
    one, two = question("/say one"), question("/say two", "m2")
    await client.post("/ag-ui", input_of(one))
    await client.post("/ag-ui", input_of(one, answer("one", "a1"), two, runId="r2"))
    before = events_in(await client.post("/ag-ui/connect", input_of()))
    for turn in (await client.get("/api/turns")).json()["turns"]:
        path = f"/api/sessions/{turn['session_id']}/turns/{turn['turn_id']}/feedback"
        assert (await client.post(path, {"rating": "up"})).status_code == 200
    after = events_in(await client.post("/ag-ui/connect", input_of()))

    assert [event["type"] for event in after] == [event["type"] for event in before]
    assert [event["type"] for event in after].count("RUN_FINISHED") == 2


async def test_threads_of_others_are_not_found(settings: Settings) -> None:
    """Under the same id: nothing is told of it, nothing stopped, nothing added."""
    keys = SecretStr("ada:the-secret-of-ada,bob:the-secret-of-bob")
    async with running_gateway(settings.model_copy(update={"api_keys": keys})) as client:
        ada, bob = ({"authorization": f"Bearer the-secret-of-{name}"} for name in ("ada", "bob"))
        await client.post("/ag-ui", input_of(question("/say hi")), **ada)
        shown = await client.post("/ag-ui/connect", input_of(), **bob)
        added = await client.post("/ag-ui", input_of(question("/say ho", "m2")), **bob)
        stopped = await client.post("/ag-ui/stop", {"threadId": "c"}, **bob)
        again = await client.post("/ag-ui/connect", input_of(), **bob)
        unknown = await client.post("/ag-ui", input_of(question("/say hi")))

    assert (shown.status_code, shown.content, stopped.status_code) == (200, b"", 204)
    assert "ho" in added.text
    assert "hi" not in again.text
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (401, "unauthorized")


async def test_a_history_that_is_another_one_is_refused(client: Client) -> None:
    """Never a silent second question, and never a made-up beginning."""
    gone = f"t_{'0' * 32}-1"
    await client.chat("/say hi", session_id="c")
    for thread in ("c", "new"):
        body = input_of(question("a"), answer("b", gone), question("c", "m2"), thread=thread)
        refused = await client.post("/ag-ui", body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "history_differs")
    assert types(await client.events("c")).count("turn_start") == 1
    assert (await client.get("/api/sessions/new")).status_code == 404


async def test_a_thread_that_was_begun_elsewhere_goes_on_here(client: Client) -> None:
    """Its messages are the beginning of the session; a greeting of the application is not."""
    greeting = answer("How can I help?", "hello")
    before = [greeting, question("I am Lena."), answer("Hello!", "a1")]
    await client.post("/ag-ui", input_of(*before, question("/say yes", "m2")))
    await client.post("/ag-ui", input_of(*before, question("/say yes", "m2"), question("/say no", "m3")))
    shown = events_in(await client.post("/ag-ui/connect", input_of()))

    texts = [event["input"]["messages"][0]["content"] for event in shown if event["type"] == "RUN_STARTED"]
    assert texts == ["I am Lena.", "/say yes", "/say no"]
    said = "".join(event["delta"] for event in shown if event["type"] == "TEXT_MESSAGE_CONTENT")
    assert said == "Hello!yesno"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"runId": "r", "messages": []}, "must be given"),
        (input_of(), "The last message must be a user's, or answer what a turn waits for."),
        (input_of({"role": "user", "content": "x"}), "messages"),
        (input_of(answer("x", "a1")), "The last message must be a user's"),
        (input_of(question("x"), answer("y", "a1")), "The last message must be a user's"),
        (input_of(question(" ")), "must have text, or a file"),
        (input_of({"id": "m", "role": "user", "content": [{"type": "text", "text": 1}]}), "must have text"),
        (input_of(question("x"), tools=[{"description": "no name"}]), "tools"),
        (input_of(question("x"), tools=[{"name": "calculate"}]), "calculate"),
        (input_of(question("x"), context=[{"value": "x"}]), "context"),
        (input_of(question("x"), forwardedProps={"model": "unknown"}), "The model must be one of"),
    ],
)
async def test_what_is_wrong_is_refused_before_anything_runs(
    shared_client: Client, body: dict[str, Any], words: str
) -> None:
    refused = await shared_client.post("/ag-ui", body)

    assert (refused.status_code, words in refused.text) == (400, True), refused.text
    assert (await shared_client.get("/api/sessions/c")).status_code == 404


async def test_a_result_that_comes_too_late_keeps_nobody_from_another_question(client: Client) -> None:
    tool = {"name": "page_title", "description": "The title of the page."}
    first = question("/call page_title {}\n/then\n/say seen")
    asked = events_in(await client.post("/ag-ui", input_of(first, tools=[tool])))
    (call,) = asked[-1]["outcome"]["pendingToolCallIds"]
    await client.post("/ag-ui/stop", {"threadId": "c"})
    turn_id = asked[0]["metadata"]["gateway"]["turn_id"]
    await client.all_frames(f"/api/sessions/c/events?turn_id={turn_id}")  # to its end
    made = {"id": call, "type": "function", "function": {"name": "page_title", "arguments": "{}"}}
    assistant = {"id": f"{turn_id}-calls", "role": "assistant"}
    result = {"id": "r1", "role": "tool", "toolCallId": call, "content": "Home"}
    before = [first, {**assistant, "toolCalls": [made]}, result]

    late = await client.post("/ag-ui", input_of(*before))
    after = await client.post("/ag-ui", input_of(*before, question("/say hi", "m2")))

    assert late.status_code == 409
    assert events_in(after)[-1]["result"]["status"] == "completed"


async def test_a_turn_goes_from_dialect_to_dialect(settings: Settings) -> None:
    """Begun by a client of ours, approved in AG-UI, seen in the AI SDK: one turn in one log."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        session = await client.session()
        await client.begin(session, SEND)
        shown = events_in(await client.post("/ag-ui/connect", input_of(thread=session)))
        (interrupt,) = shown[-1]["outcome"]["interrupts"]
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        ended = events_in(await client.post("/ag-ui", input_of(thread=session, resume=resume)))
        messages = (await client.get(f"/ai-sdk/chat/{session}/messages")).json()
        log = await client.events(session)

    assert ended[-1]["result"]["status"] == "completed"
    assert [part["text"] for part in messages[-1]["parts"] if part["type"] == "text"] == ["over"]
    assert types(log).count("turn_start") == types(log).count("done") == 1
    assert outbox.sent == ["李雷"]


@on_both_engines
async def test_names_of_any_characters_name_nothing(client: Client) -> None:
    """What is no id is not looked for: an engine may refuse it with an error of its own."""
    odd = f"t_{'0' * 32}:\0"
    decided = {"interruptId": odd, "status": "resolved", "payload": {"approved": True}}
    result = {"id": "r", "role": "tool", "toolCallId": odd, "content": "\0"}

    known = await client.post("/ag-ui", input_of(question("/say hi")))
    interrupt = await client.post("/ag-ui", input_of(question("/say hi"), resume=[decided]))
    answered = await client.post("/ag-ui", input_of(question("/say hi"), result))

    assert [each.status_code for each in (known, interrupt, answered)] == [200, 404, 409], interrupt.text


async def test_a_request_has_no_more_results_than_a_model_makes_calls(client: Client) -> None:
    """Each of them is looked for."""
    results = [
        {"id": f"r{n}", "role": "tool", "toolCallId": f"t_{'0' * 32}:c{n}", "content": ""}
        for n in range(MAX_RESULTS + 1)
    ]
    asked = {"role": "user", "content": "hi"}
    told = [{"role": "tool", "tool_call_id": each["toolCallId"], "content": ""} for each in results]

    there = await client.post("/ag-ui", input_of(question("hi"), *results))
    here = await client.post("/v1/chat/completions", {"messages": [asked, *told]})

    assert [there.status_code, here.status_code] == [400, 400]
    assert str(MAX_RESULTS) in there.text + here.text
