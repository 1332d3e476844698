"""An endpoint that answers one request at a time, as local servers do: nobody is lost behind others."""

import asyncio
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import TIMEOUT, running_gateway, settings_for, text_of, the, types
from tests.one_slot_server import OneSlotServer, Play, one_slot_server

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

SOON = {"first_byte_timeout": 0.3, "memory": False}
"""A first byte that comes later than others' answers take here."""


def always(**given: Any) -> Callable[[str, str], Play]:
    """Every request is answered that way."""
    return lambda _purpose, _text: Play(**given)


def waits(events: Iterable[dict[str, Any]]) -> list[str]:
    return [each["data"]["code"] for each in events if each["type"] == "warning"]


async def in_time(*chats: Any) -> list[Any]:
    async with asyncio.timeout(TIMEOUT):
        return await asyncio.gather(*chats)


async def test_two_chats_on_one_slot_are_both_answered(tmp_path: Path) -> None:
    """The second waits here and not at the endpoint, is told so, and its time begins when it is sent."""
    async with one_slot_server(play=always(pieces=40, pause=0.02)) as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, model_attempts=1, **SOON)
        async with running_gateway(settings) as client:
            first = asyncio.create_task(client.chat("first"))
            await server.begun("first")
            second = await client.chat("second")

            for events in (await first, second):
                assert the(events, "done")["status"] == "completed"
                assert text_of(events).startswith("word0 ")
            assert waits(first.result()) == []
            warning = the(second, "warning")
            assert (warning["code"], warning["before"]) == ("model_busy", 1)
            assert types(second)[:3] == ["turn_start", "warning", "iteration_start"]
            assert the(second, "iteration_end")["ttft_ms"] < the(second, "done")["ttft_ms"]
            assert server.most == 1


async def test_turns_are_answered_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """Of one user; nothing is sent before its time."""
    async with one_slot_server() as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, **SOON)
        async with running_gateway(settings) as client:
            server.play = lambda _purpose, text: Play(0.5 if "message 00" in text else 0.01)
            queue = client.app.state.gateway.deps.model.queue
            chats = [asyncio.create_task(client.chat("message 00"))]
            await server.begun("message 00")
            for number in range(1, 21):
                chats.append(asyncio.create_task(client.chat(f"message {number:02}")))
                # On a busy machine some have been answered by now.
                while queue.waiting("turn") + len(server.answers) <= number:
                    await asyncio.sleep(0.002)
            await in_time(*chats)

        assert [each.text for each in server.answers] == [f"message {number:02}" for number in range(21)]
        assert server.most == 1


async def test_a_turn_that_is_cancelled_leaves_the_line_at_once(tmp_path: Path) -> None:
    """It never reaches the endpoint, and who stands behind it comes next."""
    async with one_slot_server(play=always(reads=1)) as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, memory=False)
        async with running_gateway(settings) as client:
            queue = client.app.state.gateway.deps.model.queue
            first = asyncio.create_task(client.chat("first"))
            await server.begun("first")
            session = await client.session()
            turn = await client.begin(session, "second")
            while not queue.waiting("turn"):
                await asyncio.sleep(0.002)
            third = asyncio.create_task(client.chat("third"))
            while queue.waiting("turn") < 2:
                await asyncio.sleep(0.002)
            assert server.answers[0].ended_at is None

            await client.post(f"/api/sessions/{session}/turns/{turn['turn_id']}/cancel")
            while queue.waiting("turn") > 1:
                await asyncio.sleep(0.002)
            assert server.answers[0].ended_at is None
            await in_time(first, third)

            done = the(await client.events(session), "done")
            assert done["status"] == "cancelled"
            assert [each.text for each in server.answers] == ["first", "third"]
            assert (queue.taken, queue.waiting("turn")) == (0, 0)


async def test_background_calls_give_way_to_the_next_message(tmp_path: Path) -> None:
    """A title is being made when the user goes on: its call ends, the turn is answered first, and the title
    is made after it, and counted once."""

    def play(purpose: str, text: str) -> Play:
        return Play(pieces=2000, pause=0.01) if purpose == "title" and "once" not in made else Play()

    made: set[str] = set()
    async with one_slot_server(play=play) as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, titles=True, **SOON)
        async with running_gateway(settings) as client:
            client.app.state.gateway.deps.model.queue.quiet = 0.05
            await client.chat("first words", session_id="s")
            title = await server.begun("How it began")
            made.add("once")
            events = await client.chat("second words", session_id="s")

            assert the(events, "done")["status"] == "completed"
            assert not title.is_answered
            async with asyncio.timeout(TIMEOUT), client.frames("/api/sessions/s/events") as frames:
                made_title = await anext(each async for each in frames if each.event == "title")
            assert made_title.data["data"]["usage"]["output_tokens"] == 3
            assert [each.purpose for each in server.asked] == ["answer", "title", "answer", "title"]
            assert title.max_tokens == 1000


async def test_learning_and_titles_do_not_delay_the_next_message(tmp_path: Path) -> None:
    """Both would keep the slot for a minute; the turns that follow wait for a cancellation alone."""

    def play(purpose: str, _text: str) -> Play:
        return Play() if purpose == "answer" else Play(reads=0.05, pieces=6000, pause=0.01)

    async with one_slot_server(play=play) as server:
        settings = settings_for(
            tmp_path, server.url, model_slots=1, titles=True, memory_learning="turns", model_attempts=1
        )
        async with running_gateway(settings) as client:
            client.app.state.gateway.deps.model.queue.quiet = 0.02
            for number in range(4):
                events = await client.chat(f"I live in Oslo, number {number}.", session_id="s")
                assert the(events, "done")["status"] == "completed"
                while not any(each.purpose != "answer" and each.ended_at is None for each in server.asked):
                    await asyncio.sleep(0.01)
            beside = [each for each in server.asked if each.purpose == "beside"]
            assert all(each.max_tokens <= 1000 for each in beside)
            assert not any(each.is_answered for each in server.asked if each.purpose != "answer")


async def test_a_prompt_that_takes_long_to_read_is_not_abandoned_while_the_server_is_healthy(
    tmp_path: Path,
) -> None:
    """It is asked once, though the first byte comes after many times the usual wait."""
    async with one_slot_server(play=always(reads=2)) as server:
        settings = settings_for(tmp_path, server.url, first_byte_timeout=0.1, model_attempts=1, memory=False)
        async with running_gateway(settings) as client:
            events = await client.chat("a long prompt")

    assert the(events, "done")["status"] == "completed"
    assert len(server.asked) == 1


async def test_a_server_without_signs_of_life_has_the_time_that_is_set(tmp_path: Path) -> None:
    """It has no health route: the first byte's time counts, and the failure says so."""
    async with one_slot_server(play=always(reads=60), health=False) as server:
        settings = settings_for(tmp_path, server.url, first_byte_timeout=0.2, model_attempts=1, memory=False)
        async with running_gateway(settings) as client:
            events = await client.chat("hello")

    assert the(events, "error")["code"] == "upstream_timeout"


async def test_a_server_that_is_killed_while_it_reads_ends_the_wait(tmp_path: Path) -> None:
    """Its connection breaks, nothing answers any more, and there is no time set to wait for it."""
    async with one_slot_server(play=always(reads=60)) as server:
        settings = settings_for(tmp_path, server.url, model_loading_timeout=0, **SOON)
        async with running_gateway(settings) as client:
            chat = asyncio.create_task(client.chat("hello"))
            await server.begun("hello")
            await server.kill()
            (events,) = await in_time(chat)

    assert the(events, "done")["status"] == "failed"
    assert the(events, "error")["code"] in {"upstream_error", "upstream_truncated"}


async def test_a_server_that_is_restarted_in_mid_answer_is_waited_for(tmp_path: Path) -> None:
    """It is away for a while and loads for another: the answer is begun anew, and the person is told."""
    async with one_slot_server(play=always(pieces=50, pause=0.02)) as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, **SOON)
        async with running_gateway(settings) as client:
            chat = asyncio.create_task(client.chat("hello"))
            await server.begun("hello")
            await asyncio.sleep(0.2)
            await server.kill()
            await asyncio.sleep(1.5)
            await server.start(loads=1)
            (events,) = await in_time(chat)

    assert the(events, "done")["status"] == "completed"
    last = [each for each in events if each["seq"] > _last(events, "iteration_start")]
    assert text_of(last).count("word") == 50
    assert waits(events) == ["model_starting"]
    reasons = [each["data"]["reason"] for each in events if each["type"] == "iteration_superseded"]
    assert reasons[0] == "upstream_truncated"
    assert len(reasons) <= 5


async def test_a_server_that_loads_is_waited_for_with_one_attempt(tmp_path: Path) -> None:
    """503 with "Loading model" is no failure of the model, and takes no attempt."""
    async with one_slot_server() as server:
        await server.kill()
        await server.start(loads=1.5)
        settings = settings_for(tmp_path, server.url, model_attempts=1, memory=False)
        async with running_gateway(settings) as client:
            events = await client.chat("hello")

    assert the(events, "done")["status"] == "completed"
    assert waits(events) == ["model_starting"]


async def test_where_nothing_ever_listened_the_wait_is_short_and_the_words_are_clear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address may be wrong, and the message names it."""
    monkeypatch.setattr("gateway.model.endpoint_liveness.NEVER_SEEN", 1.0)
    server = OneSlotServer()
    settings = settings_for(tmp_path, server.url, memory=False)
    async with running_gateway(settings) as client, asyncio.timeout(20):
        events = await client.chat("hello")

    error = the(events, "error")
    assert error["code"] == "upstream_error"
    assert server.url in error["message"]
    assert "cannot be reached" in error["message"]


async def test_the_number_of_slots_may_change_while_turns_wait(tmp_path: Path) -> None:
    """What the endpoint says of itself counts from then on: more are sent, and all of them where it says
    nothing."""
    async with one_slot_server(slots=50, play=always(reads=2.5)) as server:
        settings = settings_for(tmp_path, server.url, memory=False)
        async with running_gateway(settings) as client:
            model = client.app.state.gateway.deps.model
            model.facts.slots = 1
            chats = [asyncio.create_task(client.chat(f"message {number}")) for number in range(9)]
            await _until(lambda: len(server.asked) == 1 and model.queue.waiting("turn") == 8)
            model.facts.slots = 4
            await _until(lambda: len(server.asked) == 4)
            assert model.queue.taken <= 4
            model.facts.slots = None
            await in_time(*chats)

            assert [each.result()[-1]["data"]["status"] for each in chats] == ["completed"] * 9
            assert (model.queue.taken, model.queue.waiting("turn")) == (0, 0)


async def test_an_endpoint_without_slots_has_no_line(tmp_path: Path) -> None:
    """As many requests as there are turns."""
    async with (
        one_slot_server(slots=50, play=always(reads=1)) as server,
        running_gateway(settings_for(tmp_path, server.url, memory=False)) as client,
    ):
        await in_time(*(client.chat(f"message {number}") for number in range(6)))

    assert server.most == 6


async def _until(holds: Any) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not holds():
            await asyncio.sleep(0.005)


def _last(events: list[dict[str, Any]], kind: str) -> int:
    return max(each["seq"] for each in events if each["type"] == kind)


@pytest.mark.parametrize("seed", range(2))
async def test_after_cancellations_and_restarts_every_turn_has_its_end(tmp_path: Path, seed: int) -> None:
    """Turns are cancelled at any moment, and the server is killed and comes back twice, loading: no turn
    hangs, those that nobody cancelled are answered, and all slots are free."""
    chance = random.Random(seed)
    async with one_slot_server(play=always(reads=0.05, pieces=10, pause=0.01)) as server:
        settings = settings_for(tmp_path, server.url, model_slots=1, titles=True, model_attempts=5, **SOON)
        async with running_gateway(settings) as client, asyncio.timeout(TIMEOUT):
            queue = client.app.state.gateway.deps.model.queue
            queue.quiet = 0.02
            begun: dict[str, bool] = {}
            for number in range(14):
                session = await client.session()
                turn = (await client.begin(session, f"message {number}"))["turn_id"]
                begun[session] = chance.random() < 0.4
                await asyncio.sleep(chance.random() / 5)
                if begun[session]:
                    await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")
                if number in {4, 9}:
                    await server.kill()
                    await asyncio.sleep(0.2)
                    await server.start(loads=0.3)
            for session, is_cancelled in begun.items():
                async with client.frames(f"/api/sessions/{session}/events") as frames:
                    done = await anext(each async for each in frames if each.event == "done")
                ends = {"completed", "cancelled"} if is_cancelled else {"completed"}
                assert done.data["data"]["status"] in ends
            await _until(lambda: queue.waiting("turn") == 0)
            await _until(lambda: queue.waiting("background") == 0 and queue.taken == 0)
