"""Sessions are learned from in the background, and no turn waits for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.memory.changes import Attribution
from gateway.memory.extraction import extractor
from gateway.memory.validation import NewMemory
from gateway.service import learning_worker
from gateway.service.archiver import Archiver
from gateway.service.learning_worker import LearningWorker
from gateway.service.session_events import SessionEvents
from tests.harness import running_gateway
from tests.history.scripted import words
from tests.loopback import TIMEOUT
from tests.memory.extraction.conversing import SOURCE, offer, offers
from tests.memory.extraction.sessions import Sessions, sessions
from tests.memory.extraction.test_suggestions import write
from tests.postgres import database_in, on_postgres
from tests.product import Filter, LimitReached, ModelError, ModelRequest, Scope, Settings, Take
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

TEA, CITY = "我喜欢喝茶", "我住在上海"
BUSY = ModelError("busy", code="upstream_overloaded", retryable=True)


def by_words(request: ModelRequest) -> str:
    """Offers those of the two that are shown as new statements."""
    text = request.messages[0].content[0]["text"]
    heads = [line for line in text.splitlines() if line.endswith(" user:")]
    return offers(
        *(
            offer(quote, message=int(head[1:].split("]")[0]), type="fact")
            for head in heads
            for quote in (TEA, CITY)
            if f"{head}\n  {quote}" in text
        )
    )


async def test_after_a_turn_what_the_user_said_is_remembered_and_told(tmp_path: Path) -> None:
    """In the log of the session, under an operation of its own; the next turn is read by itself."""
    async with sessions(tmp_path, by_words) as opened:
        await opened.say(TEA)
        await opened.learning.settled()
        await opened.say(CITY)
        await opened.learning.settled()

        assert await opened.remembered() == [TEA, CITY]
        published = await opened.memory_events()
    assert [event["data"]["content"] for event in published] == [TEA, CITY]
    assert all(event["turn_id"] not in opened.turns for event in published)
    assert f"user, before:\n  {TEA}" in opened.model.asked[1]


async def test_turns_that_end_together_are_read_together(tmp_path: Path) -> None:
    """A session that is being read meanwhile is read once more, from the first turn that was not."""
    async with sessions(tmp_path, by_words) as opened:
        await asyncio.gather(opened.say(TEA, "a"), opened.say(CITY, "b"))
        await opened.say(CITY, "a")
        await opened.learning.settled()

        assert sorted(await opened.remembered()) == sorted([TEA, CITY])


async def test_a_turn_that_runs_is_learned_from_when_it_is_over(tmp_path: Path) -> None:
    """Its model may be about to save the same in its own words: to forget that would leave the other."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        finish = await opened.say(CITY, end=False)
        await opened.end()
        await opened.learning.settled()
        assert await opened.remembered() == [TEA]

        await finish()
        await opened.end()
        await opened.learning.settled()
        assert await opened.remembered() == [TEA, CITY]


async def test_a_failure_is_tried_again(tmp_path: Path) -> None:
    """With all later statements; it is a line in the log."""
    with structlog.testing.capture_logs() as lines:
        async with sessions(tmp_path, BUSY, "no JSON", by_words) as opened:
            await opened.say(TEA)
            await opened.learning.settled()
            assert await opened.remembered() == [TEA]

    failed = [line["code"] for line in lines if line["event"] == "memory_learning_failed"]
    assert failed == ["upstream_overloaded", "learning_failed"]
    assert TEA not in str(lines)


async def test_what_a_spent_limit_holds_back_waits_and_is_not_lost(tmp_path: Path) -> None:
    """However often it is looked whether there is room: it counts as no failure."""
    spent = LimitReached("spent", code="budget_exhausted", retryable=False, details={}, standing=None)
    with structlog.testing.capture_logs() as lines:
        async with sessions(tmp_path, *[spent] * (learning_worker.MAX_ATTEMPTS + 2), by_words) as opened:
            await opened.say(TEA)
            await opened.learning.settled()
            assert await opened.remembered() == [TEA]

    assert [line for line in lines if line["event"] == "memory_learning_failed"] == []


async def test_attempts_are_bounded_and_others_get_their_turn(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> Any:
        return BUSY if TEA in request.messages[0].content[0]["text"] else by_words(request)

    async with sessions(tmp_path, answer) as opened:
        await opened.say(TEA, "a")
        await opened.say(CITY, "b")
        await opened.learning.settled()

        assert await opened.remembered() == [CITY]
    assert sum(TEA in asked for asked in opened.model.asked) == learning_worker.MAX_ATTEMPTS


async def test_what_the_endpoint_refused_is_read_after_the_next_turn(tmp_path: Path) -> None:
    """It is not repeated before: somebody has to mend something."""
    refused = ModelError("no", code="upstream_auth", retryable=False)
    async with sessions(tmp_path, refused, by_words) as opened:
        await opened.say(TEA)
        await opened.learning.settled()
        assert len(opened.model.requests) == 1
        await opened.say(CITY)
        await opened.learning.settled()

        assert await opened.remembered() == [TEA, CITY]


@pytest.mark.parametrize(
    "failure", [ModelError("no", code="content_refused", retryable=False), RuntimeError("a mistake")]
)
async def test_what_no_repetition_can_mend_is_passed_over(tmp_path: Path, failure: Exception) -> None:
    """Nor does a mistake of ours end the learning."""
    async with sessions(tmp_path, failure, by_words) as opened:
        await opened.say(TEA)
        await opened.learning.settled()
        await opened.say(CITY)
        await opened.learning.settled()

        assert await opened.remembered() == [CITY]
    assert len(opened.model.requests) == 2


async def test_sessions_that_fail_do_not_hold_up_others(tmp_path: Path) -> None:
    """Each waits for its own next attempt."""

    def answer(request: ModelRequest) -> Any:
        return "no JSON" if TEA in request.messages[0].content[0]["text"] else by_words(request)

    async with sessions(tmp_path, answer, first_retry=3600) as opened:
        published = opened.next_memory_event()
        for name in ("a1", "a2", "a3"):
            await opened.say(TEA, name)
        await opened.say(CITY, "b")
        await asyncio.wait_for(published, TIMEOUT)

        assert await opened.remembered() == [CITY]


async def test_a_failing_endpoint_is_not_asked_by_all_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody's session is tried before its next attempt is due."""
    monkeypatch.setattr(learning_worker, "DRAIN_TIMEOUT", 0.05)
    async with sessions(tmp_path, BUSY, by_words, first_retry=3600) as opened:
        await opened.say(TEA, "a")
        await opened.say(CITY, "b")
        await opened.learning.close()

        assert len(opened.model.requests) == 1


async def test_what_was_not_learned_from_survives_a_crash(tmp_path: Path) -> None:
    """Of a turn that ended before: it is read at the next start, once."""
    async with sessions(tmp_path, by_words) as opened:
        await opened.say("我叫小明")
        await opened.learning.settled()
        await opened.say(TEA, crash=True)
    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        assert await opened.remembered() == [TEA]
        assert "user, before:\n  我叫小明" in opened.model.asked[0]
    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        assert opened.model.requests == []


async def test_what_was_asked_otherwise_is_not_learned_from(tmp_path: Path) -> None:
    """The active branch is read alone: of a message and what became of it the second, and nothing twice when
    the other branch is gone back to."""
    async with sessions(tmp_path, by_words) as opened:
        await opened.say("我叫小明")
        await opened.learning.settled()
        await opened.say(TEA, crash=True)
        await opened.say(CITY, parent=opened.turns[0])
    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        assert await opened.remembered() == [CITY]
        assert TEA not in repr(opened.model.asked)
        assert "user, before:\n  我叫小明" in opened.model.asked[0]
        await opened.storage.branches.activate("s", 0)
        await opened.say("谢谢")
        await opened.learning.settled()
        assert CITY not in repr(opened.model.asked[1:])
    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        assert opened.model.requests == []


async def test_the_end_of_a_session_survives_a_crash(tmp_path: Path) -> None:
    """Many of them: they are looked up in small parts."""
    names = [f"s{number}" for number in range(learning_worker.BATCH + 2)]
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        for name in names:
            await opened.say(f"{TEA}，{name}号茶", name, crash=name == names[-1])
        for name in names:
            await opened.end(name)
    # A session that begins in the millisecond of the start counts as one from before, and is read at once.
    read = len(opened.model.requests)
    assert read < len(names)
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()
        assert await opened.remembered() == [TEA]
        assert read + len(opened.model.requests) == len(names)


async def test_what_was_said_while_it_was_off_is_never_read(tmp_path: Path) -> None:
    """Neither in the sessions from before, nor in one that goes on."""
    async with sessions(tmp_path, by_words, memory_learning="off") as opened:
        await opened.say(TEA)
        await opened.say(TEA, "old")
        await opened.learning.settled()
    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        await opened.say(CITY)
        await opened.learning.settled()

        assert await opened.remembered() == [CITY]
    assert len(opened.model.requests) == 1


async def test_what_was_compressed_meanwhile_is_read(tmp_path: Path) -> None:
    """The view of the session does not show it any more; the session has it."""
    async with sessions(tmp_path, BUSY, first_retry=3600) as opened:
        await opened.say(TEA)
        for _ in range(12):
            await opened.say(words(300))
        await opened.compress()
    async with sessions(tmp_path, by_words) as opened:
        assert TEA not in str((await opened.storage.sessions.history("s")).messages)
        await opened.learning.settled()

        assert await opened.remembered() == [TEA]


async def save_and_forget(opened: Sessions, content: str) -> None:
    """As a user has the model do it."""
    memories, by = opened.services.memories, Attribution("model", "asked to")
    saved = await memories.save(Scope(OWNER), NewMemory(content, source="model"), by)
    await memories.delete(Scope(OWNER), saved.row.id, by)


async def test_what_the_user_forgets_while_a_long_session_is_read_is_not_learned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though something of it was learned before, from an earlier excerpt."""
    monkeypatch.setattr(extractor, "MAX_EXCERPT_TOKENS", 200)
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        ask = opened.model.stream

        @asynccontextmanager
        async def stream(request: ModelRequest, take: Take | None = None) -> AsyncGenerator[Any]:
            if opened.model.requests:
                await save_and_forget(opened, TEA)
            async with ask(request, take) as chunks:
                yield chunks

        monkeypatch.setattr(opened.model, "stream", stream)
        for text in (CITY, TEA):
            await opened.say(f"{text}\n{'word ' * 150}")
        await opened.end()
        await opened.learning.settled()

        assert len(opened.model.requests) == 2
        assert await opened.remembered() == [CITY]


async def test_what_the_user_forgot_in_the_same_session_is_not_learned_again(tmp_path: Path) -> None:
    """As when the model was asked to remember it, and then to forget it, before the session ended."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        await save_and_forget(opened, TEA)
        await opened.say(CITY)
        await opened.end()
        await opened.learning.settled()

        assert await opened.remembered() == [CITY]


@pytest.mark.parametrize(
    ("settings", "warned"),
    [
        ({}, True),
        ({"summary_after": 60, "session_summaries": False}, True),
        ({"summary_after": 60}, False),
        ({"archive_after": 60}, False),
        ({"memory_learning": "turns"}, False),
    ],
)
async def test_where_no_session_ever_ends_a_start_says_what_to_set(
    tmp_path: Path, settings: dict[str, Any], warned: bool
) -> None:
    with structlog.testing.capture_logs() as lines:
        given: dict[str, Any] = {"memory_learning": "sessions", **settings}
        async with sessions(tmp_path, **given) as opened:
            await opened.learning.settled()

    found = [line["error"] for line in lines if line["event"] == "memory_learning_never"]
    assert ["GATEWAY_ARCHIVE_AFTER" in error for error in found] == [True] * warned


async def test_a_full_store_is_a_line_in_the_log_without_what_is_in_it(tmp_path: Path) -> None:
    """It is not tried again: somebody has to make room first."""
    with structlog.testing.capture_logs() as lines:
        async with sessions(tmp_path, by_words, memory_limit=1) as opened:
            await opened.say(TEA)
            await opened.learning.settled()
            await opened.say(CITY)
            await opened.learning.settled()

    assert [line["count"] for line in lines if line["event"] == "memory_full"] == [1]
    assert len(opened.model.requests) == 2
    assert TEA not in str(lines)


async def test_at_the_end_of_a_session_all_of_it_is_read_once(tmp_path: Path) -> None:
    """At its next end only what was said since."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        await opened.say("我叫小明")
        assert opened.model.requests == []
        await opened.end()
        await opened.learning.settled()
        await opened.end()
        await opened.learning.settled()
        assert len(opened.model.requests) == 1

        await opened.say(CITY)
        await opened.end()
        await opened.learning.settled()

        assert await opened.remembered() == [TEA, CITY]
    assert f"user, before:\n  {TEA}" in opened.model.asked[1]


async def test_an_archived_session_is_learned_from(tmp_path: Path) -> None:
    """Its messages are read in the archive."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        archiver = Archiver(opened.deps, ended=opened.learning.session_ended)
        await archiver.archive(await opened.storage.sessions.get("s", OWNER))
        await opened.learning.settled()

        assert await opened.remembered() == [TEA]
        assert len(await opened.memory_events()) == 1


async def test_a_session_that_was_deleted_is_passed_over(tmp_path: Path) -> None:
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        session = await opened.storage.sessions.get("s", OWNER)
        await opened.storage.sessions.delete("s", OWNER)
        opened.learning.session_ended(session)
        await opened.learning.settled()

    assert opened.model.requests == []


async def test_nothing_is_learned_from_the_session_of_another_that_has_the_id_now(tmp_path: Path) -> None:
    """Neither for the user whose session had it, nor told there."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(CITY)
        session = await opened.end()
        await opened.learning.settled()
        await opened.storage.sessions.delete("s", OWNER)
        await opened.say(TEA, owner="another")
        opened.learning.session_ended(session)
        await opened.learning.settled()

        assert await opened.remembered() == [CITY]
        assert await opened.memory_events() == []
    assert TEA not in repr(opened.model.asked)


@pytest.mark.parametrize("settings", [{"memory_learning": "off"}, {"memory": False}])
async def test_where_it_is_off_nothing_is_learned(tmp_path: Path, settings: dict[str, Any]) -> None:
    async with sessions(tmp_path, by_words, **settings) as opened:
        await opened.say(TEA)
        await opened.end()
        await opened.learning.settled()
        assert await opened.learned.learned_to("s") is None

    assert opened.model.requests == []


async def test_what_is_learned_while_a_turn_is_written_elsewhere_waits_in_the_outbox(tmp_path: Path) -> None:
    """That turn's owner puts it into the log."""
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        await opened.learning.settled()  # what a start looks for is over
        await opened.say(TEA)
        await opened.say(CITY, end=False)
        await opened.end()
        await opened.learning.settled()

        assert await opened.remembered() == [TEA]
        entries = await opened.storage.log.outbox_of("s")
    assert [name for entry in entries for name, _ in entry.events] == ["memory"]


async def test_what_tools_suggest_is_told_in_the_log(tmp_path: Path) -> None:
    """Once the turn is over, if it is not running here."""
    async with sessions(tmp_path, memory_learning="off") as opened:
        await opened.say(TEA)
        await opened.learning.settled()
        await opened.extractor.suggest([write(owner_id=OWNER)], SOURCE._replace(owner=OWNER))

        (event,) = await opened.memory_events()
    assert event["data"]["quarantined"] is True


async def test_more_sessions_than_may_wait_are_looked_up_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue is bounded, and nothing is lost."""
    monkeypatch.setattr(learning_worker, "MAX_WAITING", 2)
    async with sessions(tmp_path, by_words, memory_learning="sessions") as opened:
        for name in "abcd":
            await opened.say(f"{TEA}，{name}号茶", name)
        rows = [await opened.storage.sessions.get(name, OWNER) for name in "abcd"]
        for row in rows:
            opened.learning.session_ended(row)
        await opened.learning.settled()

    assert len(opened.model.requests) == 4


async def test_the_end_waits_shortly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is still to be learned from is for the next start."""
    monkeypatch.setattr(learning_worker, "DRAIN_TIMEOUT", 0.01)
    with structlog.testing.capture_logs() as lines:
        async with sessions(tmp_path, BUSY, first_retry=3600) as opened:
            await opened.say(TEA)
            await opened.learning.close()
    assert "memory_learning_put_off" in [line["event"] for line in lines]

    async with sessions(tmp_path, by_words) as opened:
        await opened.learning.settled()
        assert await opened.remembered() == [TEA]


async def test_a_gateway_learns_after_its_turns(settings: Settings) -> None:
    """A reader of the session hears of it in an event, after the turn's `done`."""
    given = settings.model_copy(update={"memory_learning": "turns"})
    async with running_gateway(given) as client:
        await client.chat("My office is on the third floor.", session_id="s")
        async with (
            asyncio.timeout(TIMEOUT),
            client.frames("/api/sessions/s/events?types=memory") as frames,
        ):
            memory = await anext(frame.data["data"] async for frame in frames if frame.event == "memory")
        services = client.app.state.deps.memory
        rows = await services.store.list(Scope("local"), Filter(), limit=10)
    assert (memory["op"], memory["by"]) == ("remembered", "keeper")
    assert [row.id for row in rows] == [memory["memory_id"]]


@on_postgres
async def test_what_is_learned_on_two_replicas_is_paid_for_once(tmp_path: Path) -> None:
    """Each has the database itself; one runs the turn, the other finds its session unread."""
    shared: dict[str, Any] = {"database_url": database_in(tmp_path), "blobs_shared": True}
    async with (
        sessions(tmp_path / "one", by_words, **shared) as one,
        sessions(tmp_path / "two", by_words, **shared) as two,
    ):
        async with two.storage.exclusive.hold("learning s"):
            await one.say(TEA)
            other = LearningWorker(two.deps, two.extractor, two.learned, first_retry=0.001)
            looking = asyncio.create_task(other.look())
            running = asyncio.create_task(other.run(SessionEvents(two.storage.log)))
            while not other.waiting:
                await asyncio.sleep(0.001)
            assert one.model.requests == two.model.requests == []
        await asyncio.gather(one.learning.settled(), other.settled())
        running.cancel()
        looking.cancel()
        await asyncio.wait([running, looking])

        assert len(one.model.requests) + len(two.model.requests) == 1
        assert await one.remembered() == await two.remembered() == [TEA]
        assert len(await one.memory_events()) == 1


async def test_a_session_that_two_replicas_hear_of_is_read_once(tmp_path: Path) -> None:
    """No call is paid for twice; whoever comes second finds that it was read."""
    async with sessions(tmp_path, by_words) as opened:
        async with opened.storage.exclusive.hold("learning s"):
            await opened.say(TEA)
            other = LearningWorker(opened.deps, opened.extractor, opened.learned, first_retry=0.001)
            looking = asyncio.create_task(other.look())
            running = asyncio.create_task(other.run(SessionEvents(opened.storage.log)))
            while not other.waiting:  # it finds the session in the database
                await asyncio.sleep(0.001)
            assert opened.model.requests == []
        await asyncio.gather(opened.learning.settled(), other.settled())
        running.cancel()
        looking.cancel()
        await asyncio.wait([running, looking])

        assert len(opened.model.requests) == 1
        assert await opened.remembered() == [TEA]
