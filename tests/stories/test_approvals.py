"""A person's say in tool calls, over real sockets."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness import Client, events, running_gateway, text_of, the, types
from tests.loopback import TIMEOUT
from tests.postgres import on_both_engines
from tests.product import Settings
from tests.stories.asking import Asked, Outbox, ask, parked

pytestmark = pytest.mark.anyio

SEND = '/call send {"to": "李雷"}\n/then\n/say over'
BOTH = '/call send {"to": "李雷"}\n/call post {"text": "hi"}\n/then\n/say over'


async def _waiting(client: Client, message: str = SEND, **options: Any) -> Asked:
    return await parked(await ask(client, message, **options))


@on_both_engines
async def test_an_effectful_call_waits_for_a_person_and_runs_when_approved(settings: Settings) -> None:
    """Nothing runs before; the stream stays open and tells the rest; the call has one result."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        session = await client.session()
        asked = await _waiting(client, session=session)
        assert outbox.sent == []
        following = asyncio.create_task(asked.all_events())

        reply = await asked.decide("approve")
        seen = await following

    assert (reply.status_code, reply.json()["decision"]) == (200, "approved")
    assert outbox.sent == ["李雷"]
    assert types(seen) == [
        "turn_start",
        "iteration_start",
        "iteration_end",
        "tool_call",
        "approval_request",
        "approval_response",
        "tool_result",
        "iteration_start",
        "text",
        "iteration_end",
        "done",
    ]  # fmt: skip - a story is read in lines
    request, response = the(seen, "approval_request"), the(seen, "approval_response")
    assert request["name"] == "send"
    assert request["arguments"] == {"to": "李雷"}
    assert request["expires_at"] > 0
    assert (response["decision"], response["scope"]) == ("approved", "once")
    assert (the(seen, "tool_result")["status"], the(seen, "done")["status"]) == ("ok", "completed")
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))


async def test_a_denied_call_never_runs_and_the_model_reads_why(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        await asked.decide("deny", reason="先别发")
        seen = await asked.all_events()

    assert outbox.sent == []
    result = the(seen, "tool_result")
    assert result["status"] == "denied"
    assert "先别发" in result["content"]
    assert the(seen, "approval_response")["reason"] == "先别发"
    assert text_of(seen) == "over"


async def test_a_call_runs_with_the_arguments_a_person_put_in_their_place(settings: Settings) -> None:
    """The model is told so; arguments that do not fit are refused before anything is decided."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        wrong = await asked.decide("approve", arguments={"to": 5})
        lasting = await asked.decide("approve", arguments={"to": "x"}, scope="always")
        denied = await asked.decide("deny", arguments={"to": "x"})
        assert {reply.status_code for reply in (wrong, lasting, denied)} == {400}
        assert "to" in wrong.json()["error"]["message"]
        assert await asked.status() == "awaiting_approval"

        await asked.decide("approve", arguments={"to": "韩梅梅"})
        seen = await asked.all_events()

    assert outbox.sent == ["韩梅梅"]
    assert the(seen, "approval_response")["arguments"] == {"to": "韩梅梅"}
    assert the(seen, "tool_call")["arguments"] == {"to": "李雷"}
    assert "韩梅梅" in the(seen, "tool_result")["content"].splitlines()[0]


async def test_a_decision_is_made_once(settings: Settings) -> None:
    """Again the same is the same, another is a conflict, and only the owner finds the call at all."""
    keys = settings.model_copy(
        update={"api_keys": type(settings.api_keys)("ann:ann-secret-0123456789,bob:bob-secret-0123456789")}
    )
    outbox = Outbox()
    async with running_gateway(keys, *outbox.tools) as client:
        client.http.headers["x-api-key"] = "ann-secret-0123456789"
        asked = await _waiting(client)
        path = f"{asked.path}/approvals/{asked.calls['send']}"
        strange = await client.post(path, {"decision": "approve"}, **{"x-api-key": "bob-secret-0123456789"})
        unknown = await client.post(f"{asked.path}/approvals/toolu_none", {"decision": "approve"})
        first = await asked.decide("approve")
        again = await asked.decide("approve")
        other = await asked.decide("deny")
        turn = await asked.all_events()
        late = await asked.decide("deny")
        seen = (await client.get(path)).json()

    assert [reply.status_code for reply in (strange, unknown, first, again, other, late)] == [
        404, 404, 200, 200, 409, 409,
    ]  # fmt: skip
    assert first.json() == again.json() == seen
    assert the(turn, "approval_response")["by"] == "ann"
    assert outbox.sent == ["李雷"]


async def test_calls_that_need_nobody_do_not_wait_for_those_that_do(settings: Settings) -> None:
    """They run while a person thinks; a decision that comes meanwhile counts."""
    outbox = Outbox()
    message = '/call look {"what": "sky"}\n/call send {"to": "a"}\n/then\n/say over'
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await ask(client, message)
        assert await asked.status() == "running"
        reply = await asked.decide("approve")
        assert reply.status_code == 200
        outbox.slow.set()
        seen = await asked.all_events()

    assert [event["data"]["name"] for event in seen if event["type"] == "tool_result"] == ["look", "send"]
    assert outbox.sent == ["a"]


async def test_each_of_two_calls_is_decided_on_its_own(settings: Settings) -> None:
    """After the first decision that call runs and the turn waits again."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await parked(await ask(client, BOTH, waiting=2))
        await asked.decide("approve", "post")
        async with asyncio.timeout(TIMEOUT):
            while not outbox.sent:
                await asyncio.sleep(0.005)
        await parked(asked)
        assert outbox.sent == ["hi"]
        await asked.decide("deny", "send")
        seen = await asked.all_events()
        messages = (await client.get(f"/api/sessions/{asked.session}/messages")).json()["messages"]

    results = messages[2]["content"]
    assert [block["tool_use_id"] for block in results] == [asked.calls["send"], asked.calls["post"]]
    assert the(seen, "done")["status"] == "completed"


async def test_what_is_granted_is_not_asked_again(settings: Settings) -> None:
    """For a session, or always until it is taken back; the events still tell that it was allowed."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        await asked.decide("approve", scope="session")
        await asked.all_events()
        same = await client.chat(SEND, session_id=asked.session)
        other = await _waiting(client)
        await other.decide("approve", scope="always")
        await other.all_events()
        third = await client.chat(SEND)
        grants = (await client.get("/api/grants")).json()["grants"]
        taken = await client.http.delete("/api/grants/send")
        again = await client.http.delete("/api/grants/send")
        fourth = await _waiting(client)
        await fourth.decide("deny")

    for answered, scope in ((same, "session"), (third, "always")):
        response = the(answered, "approval_response")
        assert (response["by"], response["scope"]) == ("grant", scope)
        assert "approval_request" not in types(answered)
    assert [(grant["tool"], grant.get("session_id")) for grant in grants] == [
        ("send", asked.session),
        ("send", None),
    ]
    assert (taken.status_code, again.status_code) == (204, 404)
    assert len(outbox.sent) == 4


async def test_the_policy_decides_by_name(settings: Settings) -> None:
    """The first rule that fits: some calls never run, some ask though they only read, some do not ask."""
    rules = settings.model_copy(update={"tool_policy": ("send=deny", "p*=allow", "look=ask")})
    outbox = Outbox()
    outbox.slow.set()
    async with running_gateway(rules, *outbox.tools) as client:
        denied = await client.chat(SEND)
        allowed = await client.chat('/call post {"text": "hi"}\n/then\n/say over')
        asked = await _waiting(client, '/call look {"what": "sky"}\n/then\n/say over')
        await asked.decide("approve", "look")
        await asked.all_events()

    assert the(denied, "tool_result")["status"] == "denied"
    assert "send=deny" in the(denied, "tool_result")["content"]
    assert the(denied, "approval_response")["by"] == "policy"
    assert the(allowed, "tool_result")["status"] == "ok"
    assert outbox.sent == ["hi"]


async def test_nobody_is_asked_about_a_call_that_cannot_run(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        seen = await client.chat('/call send {"to": 5}\n/then\n/say over')

    assert "approval_request" not in types(seen)
    assert the(seen, "tool_result")["status"] == "error"
    assert "to" in the(seen, "tool_result")["content"]


async def test_an_approval_that_does_not_come_in_time_is_a_denial(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(
        settings.model_copy(update={"approval_timeout": 0.2}), *outbox.tools
    ) as client:
        asked = await ask(client, SEND)
        seen = await asked.all_events()
        stored = (await client.get(f"{asked.path}/approvals/{asked.calls['send']}")).json()
        waiting = (await client.get("/api/approvals")).json()["approvals"]

    assert (stored["decision"], stored["by"], waiting) == ("denied", "expiry", [])
    assert the(seen, "approval_response")["by"] == "expiry"
    assert the(seen, "tool_result")["status"] == "denied"
    assert the(seen, "done")["status"] == "completed"
    assert outbox.sent == []


async def test_a_turn_that_cannot_be_woken_does_not_keep_the_others_waiting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deadline is the first; the one after it is kept all the same, and operators are told."""
    outbox = Outbox()
    brief = settings.model_copy(update={"approval_timeout": 0.2})
    async with running_gateway(brief, *outbox.tools) as client:
        approvals, broken = client.app.state.gateway.approvals, list[str]()
        take_up = approvals.take_up

        async def fail_for_the_first(turn_id: str) -> None:
            broken.append(turn_id)
            if turn_id == broken[0]:
                raise KeyError("a mistake")
            await take_up(turn_id)

        monkeypatch.setattr(approvals, "take_up", fail_for_the_first)
        await ask(client, SEND)
        seen = await (await ask(client, SEND)).all_events()
        ready = (await client.get("/readyz")).json()

    assert the(seen, "approval_response")["by"] == "expiry"
    assert the(seen, "done")["status"] == "completed"
    assert ready["status"] == "ok"
    assert ready["failing_tasks"]["deadlines of approvals"]["why"] == "KeyError"


async def test_a_waiting_turn_can_be_stopped(settings: Settings) -> None:
    """Its call certainly did not run, and its result says so; deciding is too late then."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        assert (await client.post(f"{asked.path}/cancel")).status_code in {200, 202}
        seen = await asked.all_events()
        late = await asked.decide("approve")

    assert the(seen, "tool_result")["status"] == "cancelled"
    assert the(seen, "done")["status"] == "cancelled"
    assert late.status_code == 409
    assert outbox.sent == []


async def test_the_next_message_waits_for_a_waiting_turn_or_takes_its_place(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        body = {"message": "/say next", "on_conflict": "reject"}
        rejected = await client.post(f"/api/sessions/{asked.session}/turns", body)
        queued = await client.begin(asked.session, "/say queued", on_conflict="queue")
        assert rejected.status_code == 409
        assert queued["status"] == "accepted"
        await asked.decide("approve")
        path = f"/api/sessions/{asked.session}/events?turn_id="
        after = events(await client.all_frames(path + queued["turn_id"]))

        second = await _waiting(client, session=asked.session)
        interrupting = await client.begin(asked.session, "/say instead", on_conflict="interrupt")
        stopped = await second.all_events()
        instead = events(await client.all_frames(path + interrupting["turn_id"]))

    assert text_of(after) == "queued"
    assert the(stopped, "done")["status"] == "cancelled"
    assert text_of(instead) == "instead"
    assert outbox.sent == ["李雷"]


@on_both_engines
async def test_a_waiting_turn_outlives_its_process(settings: Settings) -> None:
    """The next process asks nothing anew, and goes on when the decision comes."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
    async with running_gateway(settings, *outbox.tools) as client:
        assert await asked.status(client) == "awaiting_approval"
        snapshot = (await client.get(f"/api/sessions/{asked.session}/snapshot")).json()
        waiting = (await client.get("/api/approvals")).json()["approvals"]
        await asked.decide("approve", client=client)
        seen = await asked.all_events(client)

    assert snapshot["open_turn"]["status"] == "awaiting_approval"
    assert [(each["turn_id"], each["tool_call_id"]) for each in waiting] == [
        (asked.turn, asked.calls["send"])
    ]
    assert types(seen).count("approval_request") == 1
    assert the(seen, "tool_result")["status"] == "ok"
    assert outbox.sent == ["李雷"]
    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert the(seen, "done")["status"] == "completed"


async def test_a_turn_that_waits_for_long_is_not_out_of_time(settings: Settings) -> None:
    """The time that a person takes does not count as the turn's."""
    outbox = Outbox()
    async with running_gateway(settings.model_copy(update={"turn_timeout": 2.0}), *outbox.tools) as client:
        asked = await _waiting(client)
        await asyncio.sleep(2.1)
        await asked.decide("approve")
        seen = await asked.all_events()

    assert the(seen, "done")["status"] == "completed"


async def test_a_session_with_a_waiting_turn_cannot_be_deleted(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        refused = await client.http.delete(f"/api/sessions/{asked.session}")
        await asked.decide("deny")
        await asked.all_events()
        gone = await client.http.delete(f"/api/sessions/{asked.session}")

    assert (refused.status_code, gone.status_code) == (409, 204)


async def test_a_session_with_a_waiting_turn_is_not_compressed_or_archived(settings: Settings) -> None:
    """What a person has yet to decide about stays as it was asked; the answer says what to do."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        compressed = await client.post(f"/api/sessions/{asked.session}/compress")
        archived = await client.post(f"/api/sessions/{asked.session}/archive")
        await asked.decide("deny")
        await asked.all_events()

    assert (compressed.status_code, compressed.json()["error"]["code"]) == (409, "awaiting_approval")
    assert archived.status_code == 409


def _raw(call_id: str, to: str) -> str:
    """A call under an id of the endpoint's own choice, as the demo is told to stream it."""
    block = {"type": "tool_use", "id": call_id, "name": "send", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": orjson.dumps({"to": to}).decode()}
    frames = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
    ]
    return "\n".join([*(f"/raw {orjson.dumps(each).decode()}" for each in frames), "/stop tool_use"])


@pytest.mark.parametrize("call_id", ["call_1", "functions.send:0", "a/b"])
async def test_what_is_approved_is_one_call_whatever_ids_the_endpoint_uses(
    settings: Settings, call_id: str
) -> None:
    """Some count from 1 in every answer, some use ids that no URL can hold."""
    outbox = Outbox()
    message = f"{_raw(call_id, 'alice')}\n/then\n{_raw(call_id, 'everybody')}\n/then\n/say over"
    async with running_gateway(settings, *outbox.tools) as client:
        first = await _waiting(client, message)
        assert (await first.decide("approve")).status_code == 200
        async with asyncio.timeout(TIMEOUT):
            while not (waiting := (await client.get("/api/approvals")).json()["approvals"]):
                await asyncio.sleep(0.01)
        assert outbox.sent == ["alice"]
        second = waiting[0]["tool_call_id"]
        await client.post(f"{first.path}/approvals/{second}", {"decision": "deny"})
        seen = await first.all_events()
        view = (await client.get(f"/api/sessions/{first.session}/messages")).json()["messages"]

    assert outbox.sent == ["alice"]
    calls = [event["tool_call_id"] for event in seen if event["type"] == "tool_call"]
    assert calls == [first.calls["send"], second]
    assert len(set(calls)) == 2
    used = [block["id"] for message in view for block in message["content"] if block["type"] == "tool_use"]
    assert used == calls


async def test_a_rule_that_forbids_a_call_meanwhile_wins_over_its_approval(settings: Settings) -> None:
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
    stricter = settings.model_copy(update={"tool_policy": ("send=deny",)})
    async with running_gateway(stricter, *outbox.tools) as client:
        await asked.decide("approve", client=client)
        seen = await asked.all_events(client)

    assert outbox.sent == []
    assert the(seen, "approval_response")["by"] == "policy"
    assert the(seen, "tool_result")["status"] == "denied"


async def test_a_prompt_that_changes_while_a_turn_waits_begins_a_generation(
    settings: Settings, tmp_path: Path
) -> None:
    """What was thought before was signed for another prefix, also in a session's first turn."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "style.md").write_text("Be short.")
    outbox = Outbox()
    async with running_gateway(settings.model_copy(update={"prompts_dir": prompts}), *outbox.tools) as client:
        asked = await _waiting(client)
        (prompts / "style.md").write_text("Be very long, and kind.")
        await asked.decide("approve")
        seen = await asked.all_events()

    assert the(seen, "warning")["code"] == "prompt_changed"
    hashes = [event["data"]["prefix_hash"] for event in seen if event["type"] == "iteration_start"]
    assert len(set(hashes)) == 2


async def test_a_call_that_is_overdue_at_the_start_has_one_owner(settings: Settings) -> None:
    """Nobody woke it while the server was down; the new process takes it up once, and not as a crash."""
    outbox = Outbox()
    brief = settings.model_copy(update={"approval_timeout": 1.5, "recover_attempts": 0})
    async with running_gateway(brief, *outbox.tools) as client:
        asked = await _waiting(client)
    await asyncio.sleep(1.6)
    async with running_gateway(brief, *outbox.tools) as client:
        seen = await asked.all_events(client)

    assert the(seen, "approval_response")["by"] == "expiry"
    assert the(seen, "done")["status"] == "completed"
    assert outbox.sent == []


async def test_a_turn_whose_cancel_was_cut_short_does_not_wait_on(settings: Settings) -> None:
    """The process ended between storing the wish and waking the turn; what was queued behind it runs."""
    outbox = Outbox()
    async with running_gateway(settings, *outbox.tools) as client:
        asked = await _waiting(client)
        queued = await client.begin(asked.session, "/say queued", on_conflict="queue")
        await client.app.state.deps.turns.request_cancel(asked.turn)
    async with running_gateway(settings, *outbox.tools) as client:
        seen = await asked.all_events(client)
        path = f"/api/sessions/{asked.session}/events?turn_id={queued['turn_id']}"
        after = events(await client.all_frames(path))

    assert the(seen, "done")["status"] == "cancelled"
    assert text_of(after) == "queued"
