"""A session is compressed while it is used: by hand, by itself, and when the endpoint finds it too long."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gateway.app import build_app
from tests.harness import Client, client_at, running_gateway, settings_for, text_of, the, types
from tests.loopback import TIMEOUT, served
from tests.postgres import on_both_engines
from tests.product import Settings, serve_demo

pytestmark = pytest.mark.anyio

SMALL = 8_500
"""Tokens of the endpoint's window in these stories: system prompt and tools take about a third."""
MEDIUM = 40_000
"""Tokens of one that is not small."""
LONG = "/say " + "One more paragraph about nothing in particular, to fill the window. " * 25


@pytest.fixture
async def small(settings: Settings) -> AsyncGenerator[Client]:
    """A gateway whose endpoint has a small window."""
    async with serve_demo(pace=0, window=SMALL) as url:
        given = {"anthropic_base_url": url, "context_window": SMALL, "summary_tokens": 300}
        async with running_gateway(settings.model_copy(update=given)) as client:
            yield client


@pytest.fixture
async def untold(settings: Settings) -> AsyncGenerator[Client]:
    """A gateway whose endpoint has a window that nobody knows, and that is not small."""
    async with serve_demo(pace=0, window=MEDIUM) as url:
        given = {"anthropic_base_url": url, "summary_tokens": 300}
        async with running_gateway(settings.model_copy(update=given)) as client:
            yield client


async def filled(client: Client, session: str, turns: int) -> None:
    for _ in range(turns):
        await client.chat(LONG, session_id=session)


def compressions(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == "compression"]


@on_both_engines
async def test_a_context_that_is_too_long_is_compressed_once_and_asked_again(untold: Client) -> None:
    """The attempt that was refused is superseded, the history compressed, and the same turn is answered."""
    session = await untold.session()
    events = await untold.chat("My favourite colour is teal.", session_id=session)
    for _ in range(20):
        events = await untold.chat(LONG * 8, session_id=session)
        if compressions(events):
            break

    assert [each["phase"] for each in compressions(events)] == ["started", "completed"]
    assert {each["trigger"] for each in compressions(events)} == {"overflow"}
    superseded = the(events, "iteration_superseded")
    assert superseded["reason"] == "context_overflow"
    assert the(events, "done")["status"] == "completed"
    assert types(events).index("compression") < types(events).index("text")
    assert "teal" in text_of(await untold.chat("What is my favourite colour?", session_id=session))


async def test_a_small_window_that_is_known_is_never_overrun(small: Client) -> None:
    """Older messages make way before a request that would be refused, or leave no room for an answer."""
    session = await small.session()
    told = [event for _ in range(20) for event in await small.chat(LONG, session_id=session)]
    assert {each["trigger"] for each in compressions(told)} == {"overflow"}
    assert not [event for event in told if event["type"] == "iteration_superseded"]
    assert {event["data"]["status"] for event in told if event["type"] == "done"} == {"completed"}


async def test_with_the_switch_off_an_overflow_ends_the_turn(settings: Settings) -> None:
    """Nothing is compressed, and the turn fails with the code that says why."""
    async with serve_demo(pace=0, window=SMALL) as url:
        given = {"anthropic_base_url": url, "compress_on_overflow": False}
        async with running_gateway(settings.model_copy(update=given)) as client:
            session = await client.session()
            events: list[dict[str, Any]] = []
            for _ in range(20):
                events = await client.chat(LONG, session_id=session)
                if the(events, "done")["status"] != "completed":
                    break

    assert the(events, "error")["code"] == "context_overflow"
    assert not compressions(events)


async def test_a_message_that_is_too_long_alone_fails_but_does_not_lame_the_session(small: Client) -> None:
    """There is nothing to compress then: the turn ends with context_overflow. In the next one it is old
    enough to be archived, and the session goes on."""
    session = await small.session()
    failed = await small.chat("x " * 20_000, session_id=session)
    assert the(failed, "error")["code"] == "context_overflow"
    assert not compressions(failed)

    events = await small.chat("/say hello", session_id=session)
    assert the(events, "done")["status"] == "completed"
    assert [each["phase"] for each in compressions(events)] == ["started", "completed"]


async def test_automatic_compression_keeps_a_session_under_its_share(settings: Settings) -> None:
    """Turn after turn, the history is compressed before the endpoint would refuse it, and never twice in a
    row."""
    given = {"context_window": SMALL, "compress_at": 0.7, "summary_tokens": 300}
    async with running_gateway(settings.model_copy(update=given)) as client:
        session = await client.session()
        rounds: list[bool] = []
        for _ in range(16):
            events = await client.chat(LONG, session_id=session)
            assert the(events, "done")["status"] == "completed"
            rounds.append(bool(compressions(events)))
            assert {each["phase"] for each in compressions(events)} <= {"started", "completed"}

    assert sum(rounds) >= 2
    assert not any(one and other for one, other in pairwise(rounds))


async def test_a_long_turn_is_compressed_between_its_tool_calls(settings: Settings) -> None:
    """What the turn's tools returned is archived too; the question stays word for word."""
    given = {"context_window": SMALL, "compress_at": 0.6, "summary_tokens": 300}
    async with running_gateway(settings.model_copy(update=given)) as client:
        session = await client.session()
        step = '/call search_docs {"query": "resume a stream", "limit": 8}\n/then\n'
        events = await client.chat(step * 8 + "/say done", session_id=session)

        assert the(events, "done")["status"] != "failed"
        assert "completed" in {each["phase"] for each in compressions(events)}
        view = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
        assert any(block.get("text", "").startswith("/call search_docs") for block in view[0]["content"])


async def test_a_failed_summary_keeps_the_old_view_and_pauses_after_two(settings: Settings) -> None:
    """Each failure is told; after two in a row no more are tried, and that is told once."""
    given = {"context_window": SMALL, "compress_at": 0.5, "summary_tokens": 300}
    async with running_gateway(settings.model_copy(update=given)) as client:
        demo = str(settings.anthropic_base_url)
        await client.http.post(f"{demo}/demo/summaries", json={"next": ["/say No.\n/stop refusal"] * 4})
        session = await client.session()
        before = 0
        events: list[dict[str, Any]] = []
        for _ in range(12):
            events += await client.chat(LONG, session_id=session)
            before += 2
        await client.http.delete(f"{demo}/demo/requests")

        assert [each["phase"] for each in compressions(events)] == ["started", "failed"] * 2
        warnings = [event["data"]["code"] for event in events if event["type"] == "warning"]
        assert warnings == ["compression_paused"]
        assert (await client.get(f"/api/sessions/{session}/compressions")).json() == {"versions": []}
        assert len((await client.get(f"/api/sessions/{session}/messages")).json()["messages"]) == before

        by_hand = await client.post(f"/api/sessions/{session}/compress")
        assert by_hand.status_code == 201, by_hand.text


async def test_a_prompt_that_is_too_long_by_itself_is_told_once(settings: Settings) -> None:
    """No compression is tried, however long the conversation: none could help. One by hand still can be."""
    given = {"context_window": SMALL, "compress_at": 0.05, "summary_tokens": 300}
    async with running_gateway(settings.model_copy(update=given)) as client:
        session, other = await client.session(), await client.session()
        told = [event for _ in range(4) for event in await client.chat(LONG, session_id=session)]
        beside = [event for _ in range(3) for event in await client.chat("Hello.", session_id=other)]
        by_hand = await client.post(f"/api/sessions/{session}/compress")

    assert not compressions(told)
    (warning,) = [event["data"] for event in told if event["type"] == "warning"]
    assert warning["code"] == "prompt_too_long"
    assert "GATEWAY_COMPRESS_AT" in warning["message"]
    assert [event["data"]["code"] for event in beside if event["type"] == "warning"] == ["prompt_too_long"]
    assert [event["data"]["status"] for event in told if event["type"] == "done"] == ["completed"] * 4
    assert by_hand.status_code == 201, by_hand.text


async def test_a_message_that_arrives_while_a_compression_runs_is_kept(client: Client) -> None:
    """The turn is answered beside the compression, and what it said is in the new view word for word."""
    session = await client.session()
    await filled(client, session, 6)

    compressing = asyncio.create_task(client.post(f"/api/sessions/{session}/compress"))
    events = await client.chat("/say I came in between.", session_id=session)
    row = (await compressing).json()

    assert the(events, "done")["status"] == "completed"
    assert row["to_position"] <= 12
    view = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
    assert view[-1]["content"] == [{"type": "text", "text": "I came in between."}]
    everything = await client.events(session)
    assert [event["seq"] for event in everything] == list(range(1, len(everything) + 1))
    assert [each["phase"] for each in compressions(everything)] == ["started", "completed"]


async def test_two_compressions_at_once_give_one_version_and_one_clear_answer(client: Client) -> None:
    """The second is told that one runs."""
    session = await client.session()
    await filled(client, session, 6)

    both = await asyncio.gather(*(client.post(f"/api/sessions/{session}/compress") for _ in range(2)))

    assert sorted(answer.status_code for answer in both) == [201, 409]
    refused = next(answer.json()["error"] for answer in both if answer.status_code == 409)
    assert refused["code"] in {"compression_in_progress", "nothing_to_compress"}


@on_both_engines
async def test_undo_sends_every_message_again(client: Client) -> None:
    """Activating 0 brings the whole history back, activating the version the summary; nothing is lost."""
    session = await client.session()
    await filled(client, session, 6)
    whole = (await client.get(f"/api/sessions/{session}/messages")).json()
    await client.post(f"/api/sessions/{session}/compress")
    short = (await client.get(f"/api/sessions/{session}/messages")).json()

    undone = await client.post(f"/api/sessions/{session}/compressions/0/activate")
    assert "active" not in undone.json()
    assert (await client.get(f"/api/sessions/{session}/messages")).json() == whole

    await client.post(f"/api/sessions/{session}/compressions/1/activate")
    assert (await client.get(f"/api/sessions/{session}/messages")).json() == short != whole


async def test_a_session_that_is_too_short_is_left_alone(client: Client) -> None:
    """409 with the counts and the reason; no event, no version."""
    session = await client.session()
    await client.chat("/say hello", session_id=session)
    head = len(await client.events(session))

    answer = await client.post(f"/api/sessions/{session}/compress")

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "nothing_to_compress")
    assert {"messages", "tokens", "reason"} <= set(error["details"])
    assert len(await client.events(session)) == head


async def test_thinking_from_before_a_compression_is_not_sent_again(settings: Settings) -> None:
    """It was signed for another prefix: the endpoint would refuse it. New thoughts are kept."""
    given = {"thinking_budget": 1024, "max_tokens": 4096}
    async with running_gateway(settings.model_copy(update=given)) as client:
        session = await client.session()
        for _ in range(6):
            await client.chat("/think A thought.\n" + LONG, session_id=session)
        await client.post(f"/api/sessions/{session}/compress")
        kept = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
        assert "thinking" not in {block["type"] for message in kept for block in message["content"]}

        events = await client.chat(
            '/think Hm.\n/call calculate {"expression": "6*7"}\n/then\n/say 42', session_id=session
        )
        assert the(events, "done")["status"] == "completed"
        now = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
        assert "thinking" in {block["type"] for message in now for block in message["content"]}


async def test_a_changed_prompt_begins_a_generation_and_says_so(settings: Settings, tmp_path: Any) -> None:
    """Once, in the first turn after the change."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    async with running_gateway(settings.model_copy(update={"prompts_dir": prompts})) as client:
        session = await client.session()
        first = await client.chat("/think Hm.\n/say one", session_id=session)
        (prompts / "style.md").write_text("Answer like a pirate.")
        second = await client.chat("/say two", session_id=session)
        third = await client.chat("/say three", session_id=session)

    changed = [
        [event["data"]["code"] for event in turn if event["type"] == "warning"]
        for turn in (first, second, third)
    ]
    assert changed == [[], ["prompt_changed"], []]


async def test_a_new_session_is_told_of_former_ones_of_the_same_project(client: Client) -> None:
    """The summary is labelled context of the next session of that project, and of no other."""
    for project in ("blue", "red"):
        session = f"first-{project}"
        await client.chat(f"My {project} code is {project}-77.", session_id=session, project_id=project)
        made = await client.post("/api/session/summary", {"session_id": session})
        assert made.status_code == 201, made.text

    events = await client.chat("What is my blue code?", session_id="second", project_id="blue")

    assert "blue-77" in text_of(events)
    assert "blue-77" in (await client.get("/api/sessions/second")).json()["carried_context"]
    unknown = await client.chat("What is my red code?", session_id="third", project_id="blue")
    assert "red-77" not in text_of(unknown)
    listed = (await client.get("/api/session/summaries?project_id=blue")).json()["summaries"]
    assert [row["session_id"] for row in listed] == ["first-blue"]


async def test_what_a_lawyer_was_told_does_not_stand_in_a_cooks_prompt(client: Client) -> None:
    """A summary is carried to sessions in the same role alone, and can be listed by it."""
    await client.chat("My client Mr Zebulon, file 4711.", session_id="first", role_id="lawyer")
    made = await client.post("/api/session/summary", {"session_id": "first"})
    assert made.status_code == 201, made.text

    for session, role in (("at-the-stove", {"role_id": "cook"}), ("nowhere", {})):
        await client.chat("Hello.", session_id=session, **role)
        assert "carried_context" not in (await client.get(f"/api/sessions/{session}")).json()
    await client.chat("Hello.", session_id="in-court", role_id="lawyer")
    assert "4711" in (await client.get("/api/sessions/in-court")).json()["carried_context"]
    moved = await client.post("/api/chat", {"session_id": "first", "role_id": "cook", "message": "Hello."})
    assert (moved.status_code, moved.json()["error"]["code"]) == (409, "conflict")
    assert "is in the role lawyer, and stays there" in moved.json()["error"]["message"]
    for role, sessions in (("lawyer", ["first"]), ("cook", [])):
        listed = (await client.get(f"/api/session/summaries?role_id={role}")).json()["summaries"]
        assert [row["session_id"] for row in listed] == sessions


async def test_within_a_project_roles_may_share_their_summaries(settings: Settings) -> None:
    """Where the operator says so: another role in the same project is shown them, one in another project or
    in none is not, and neither is another role without a project."""
    sharing = settings.model_copy(update={"share_summaries": "project"})
    async with running_gateway(sharing) as client:
        for session, place in (("planned", {"project_id": "site"}), ("alone", {})):
            said = f"The {session} colour is {session}-77."
            await client.chat(said, session_id=session, role_id="planner", **place)
            made = await client.post("/api/session/summary", {"session_id": session})
            assert made.status_code == 201, made.text

        told = await client.chat("Which colour?", session_id="built", role_id="coder", project_id="site")
        for session, place in (("other", {"project_id": "shop"}), ("nowhere", {})):
            await client.chat("Hello.", session_id=session, role_id="coder", **place)
        carried = {
            session: (await client.get(f"/api/sessions/{session}")).json().get("carried_context", "")
            for session in ("built", "other", "nowhere")
        }

    assert "planned-77" in carried["built"]
    assert "planned-77" in text_of(told)
    assert (carried["other"], carried["nowhere"]) == ("", "")


async def test_what_was_streamed_live_is_replayed_elsewhere(
    client: Client, tmp_path: Path, demo_url: str
) -> None:
    """A reader follows a session live through turns and a compression; after that it is archived, exported
    and imported by another gateway, whose replay has the very same bytes."""
    session = await client.session()
    live: list[bytes] = []

    async def follow() -> None:
        async with client.frames(f"/api/sessions/{session}/events") as frames:
            async for frame in frames:
                if not frame.event.startswith("stream_"):
                    live.append(frame.raw)

    following = asyncio.create_task(follow())
    await client.chat("What is 17*23? 我的猫叫豆豆。", session_id=session)
    await filled(client, session, 5)
    assert (await client.post(f"/api/sessions/{session}/compress")).status_code == 201
    await client.chat("我的猫叫什么？", session_id=session)
    head = (await client.get(f"/api/sessions/{session}")).json()["head"]
    while len(live) < head:
        await asyncio.sleep(0.01)
    following.cancel()
    view = (await client.get(f"/api/sessions/{session}/messages")).content

    assert (await client.post(f"/api/sessions/{session}/archive")).status_code == 200
    file = (await client.get(f"/api/sessions/{session}/export")).content
    async with running_gateway(settings_for(tmp_path / "other", demo_url)) as other:
        kind = {"content-type": "application/x-ndjson"}
        made = await other.http.post("/api/sessions/import", content=file, headers=kind)
        assert made.status_code == 201, made.text
        replayed = await other.all_frames(f"/api/sessions/{session}/replay?speed=max")

        assert [frame.raw for frame in replayed if not frame.event.startswith("stream_")] == live
        assert (await other.get(f"/api/sessions/{session}/export")).content == file
        assert (await other.get(f"/api/sessions/{session}/messages")).content == view
        assert "豆豆" in text_of(await other.chat("我的猫叫什么？", session_id=session))


async def test_a_damaged_archive_ends_a_turn_by_name_and_leaves_the_rest(
    client: Client, settings: Settings
) -> None:
    """What needs the archive says which one; versions, undo and what needs it not go on."""
    session = await client.session()
    await filled(client, session, 6)
    await client.post(f"/api/sessions/{session}/compress")
    await client.post(f"/api/sessions/{session}/archive")
    (file,) = (settings.data_dir / "blobs").rglob("messages-1-*")
    path = file.relative_to(settings.data_dir / "blobs").as_posix()
    file.write_bytes(b"something else")

    events = await client.chat("/say hello", session_id=session)
    error = the(events, "error")
    assert (error["code"], error["retryable"]) == ("archive_damaged", False)
    assert path in error["message"]
    assert the(events, "done")["status"] == "failed"

    refused = await client.get(f"/api/sessions/{session}/messages")
    assert (refused.status_code, refused.json()["error"]["code"]) == (500, "archive_damaged")
    assert (await client.get(f"/api/sessions/{session}")).json()["versions"] == [1]
    undone = await client.post(f"/api/sessions/{session}/compressions/0/activate")
    assert (undone.status_code, "active" in undone.json()) == (200, False)
    assert (await client.events(session))[-1]["type"] == "done"


async def test_stop_during_a_compression_ends_it_by_name(settings: Settings) -> None:
    """The compression that began is told to have failed, before the turn's done; the old view stays."""
    given = {"context_window": SMALL, "compress_at": 0.5, "summary_tokens": 300}
    async with running_gateway(settings.model_copy(update=given)) as client:
        demo = str(settings.anthropic_base_url)
        session = await client.session()
        events: list[dict[str, Any]] = []
        await client.http.post(f"{demo}/demo/summaries", json={"next": ["/pieces 2000 /pace 50"]})
        for _ in range(8):
            turn = await client.begin(session, LONG)
            path = f"/api/sessions/{session}/events?turn_id={turn['turn_id']}"
            async with client.frames(path) as frames:
                async for frame in frames:
                    events.append(frame.data)
                    if frame.event == "compression" and frame.data["data"]["phase"] == "started":
                        await client.post(f"/api/sessions/{session}/turns/{turn['turn_id']}/cancel")
            if compressions(events):
                break
        await client.http.delete(f"{demo}/demo/requests")

    assert [each["phase"] for each in compressions(events)] == ["started", "failed"]
    assert events[-1]["data"]["status"] == "cancelled"


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api/sessions/{s}/compress", {}), ("/api/session/summary", {"session_id": "{s}"})],
    ids=["compression", "summary"],
)
async def test_a_shutdown_ends_what_somebody_asked_for_with_a_clear_answer(
    path: str, body: dict[str, str], settings: Settings
) -> None:
    """503: the client asks the next process. The log says that the compression came to nothing, and what
    else is asked for now is refused at once."""
    async with running_gateway(settings) as client:
        demo = str(settings.anthropic_base_url)
        session = await client.session()
        await filled(client, session, 6)
        await client.http.post(f"{demo}/demo/summaries", json={"next": ["/pieces 2000 /pace 50"]})
        filling = {name: value.format(s=session) for name, value in body.items()}
        answer = asyncio.create_task(client.post(path.format(s=session), filling))
        async with asyncio.timeout(TIMEOUT):
            while not (await client.get(f"{demo}/demo/requests?limit=1")).json()["counters"]["streams"]:
                await asyncio.sleep(0.01)
        await client.app.state.begin_shutdown()
        response, late = await answer, await client.post(path.format(s=session), filling)
        await client.http.delete(f"{demo}/demo/requests")
        phases = [each["phase"] for each in compressions(await client.events(session))]

    for refused in (response, late):
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
        assert refused.headers["retry-after"]
    assert phases == (["started", "failed"] if "compress" in path else [])


async def test_a_request_that_outlasts_the_shutdown_is_answered(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The HTTP server cancels it; that is no failure of the gateway: 503 and no traceback."""
    app = build_app(settings)
    entered = asyncio.Event()

    async def wait_for_ever(*_: Any) -> None:
        entered.set()
        await asyncio.Event().wait()

    async with AsyncExitStack() as stack, app.router.lifespan_context(app):
        monkeypatch.setattr(app.state.gateway.sessions, "get", wait_for_ever)
        async with served(app, lifespan=False) as url:
            client = await stack.enter_async_context(client_at(url))
            answer = asyncio.create_task(client.get("/api/sessions/s"))
            await asyncio.wait_for(entered.wait(), TIMEOUT)
            await app.state.begin_shutdown()
        events = await answer

    assert (events.status_code, events.json()["error"]["code"]) == (503, "draining")
    assert "Traceback" not in "".join(capsys.readouterr())


async def test_an_older_summary_never_replaces_a_newer_one(client: Client, settings: Settings) -> None:
    """Two requests at once make one summary: the second is told that one is being made."""
    demo = str(settings.anthropic_base_url)
    session = await client.session()
    await client.chat("I bought a teal lamp today.", session_id=session)
    await client.http.post(f"{demo}/demo/summaries", json={"next": ["/pieces 40 /pace 50"]})
    body = {"session_id": session}
    first = asyncio.create_task(client.post("/api/session/summary", body))
    async with asyncio.timeout(TIMEOUT):
        while not (await client.http.get(f"{demo}/demo/requests")).json()["counters"]["streams"]:
            await asyncio.sleep(0.01)
    second = await client.post("/api/session/summary", body)
    await first
    await client.http.delete(f"{demo}/demo/requests")

    assert (second.status_code, second.json()["error"]["code"]) == (409, "summary_in_progress")
    assert (await client.post("/api/session/summary", body)).json()["to_position"] == 2
