"""Compressing a session: a summary in the place of what is old, and nothing lost."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import CompressionFailed, NothingToCompress
from gateway.history.transcript import fold, problems, view
from tests.history.compressing import MODEL, TEXT, Notified, Session, session, talk
from tests.history.scripted import (
    SUMMARY,
    USAGE,
    call,
    result,
    results,
    says,
    summary,
    thought,
    user,
)
from tests.product import Message
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


async def test_a_summary_takes_the_place_of_the_older_half(long: Session) -> None:
    """The newest turns stay word for word, the summary stands before them, and every message is still
    there."""
    before = await long.storage.sessions.messages("s")
    row = await long.compress()
    history = await long.storage.sessions.history("s")
    first, *rest = view(history)

    assert row.from_position == 1
    assert row.to_position % 2 == 0
    assert SUMMARY["facts"][0] in first.content[0]["text"]
    assert rest == [item.message for item in before[row.to_position :]]
    assert await long.storage.sessions.messages("s") == before
    assert row.tokens_after <= row.tokens_before / 2
    assert history.compression == row


async def test_the_events_tell_what_happened(long: Session) -> None:
    """Started with what will be covered; completed with what it took and what was won."""
    row = await long.compress()
    started, completed = long.notified.events

    assert (started.phase, started.version, started.tokens_before) == ("started", 1, row.tokens_before)
    assert started.covers is not None
    assert (started.covers.first, started.covers.last) == (1, row.to_position)
    assert started.usage is started.duration_ms is None
    assert (completed.phase, completed.tokens_after) == ("completed", row.tokens_after)
    assert completed.usage == USAGE
    assert completed.cost == row.cost is not None
    assert completed.duration_ms is not None


async def test_the_second_summary_is_made_of_the_originals_when_they_fit(long: Session) -> None:
    """What the first one lost can come back; the version says what it was made of."""
    await long.compress()
    await long.add(*talk(1, TEXT * 9)[0])
    row = await long.compress()

    assert (row.version, row.parent, row.source) == (2, 1, "messages")
    assert "question 0" in long.model.asked[1]
    assert "The summary so far" not in long.model.asked[1]


async def test_it_is_made_of_the_former_summary_when_they_do_not(long: Session) -> None:
    """A model that cannot read all of it gets the summary so far and what came since."""
    await long.compress()
    for turn in talk(6, TEXT):
        await long.add(*turn)
    row = await long.compress(context_window=6000)

    assert row.source == "summary_and_messages"
    assert "The summary so far" in long.model.asked[1]
    assert "question 0" not in long.model.asked[1]


async def test_a_running_turn_is_cut_after_a_round_and_its_request_kept(tmp_path: Path) -> None:
    """One turn alone is too long: its older rounds are covered, the request stays before the rest; and again
    in the same turn."""
    rounds = [
        m for n in range(12) for m in (says(thought(), call("t", f"c{n}")), results(result(f"c{n}", TEXT)))
    ]
    async with session(tmp_path) as opened:
        await opened.add(user("the long task"), *rounds, end=False)
        first = await opened.compress()
        second = await opened.compress()
        folded = fold(view(await opened.storage.sessions.history("s")))

    assert first.kept_position == second.kept_position == 1
    assert second.from_position == first.to_position + 1
    assert [block["text"] for block in folded[0].content][1:] == ["the long task"]
    assert problems(folded) == []


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ((), "empty"),
        ((user("hi"), says("ho")), "newest_turn_only"),
        ((user("hi"), says("ho"), user("x")), "too_little"),
    ],
)
async def test_too_little_changes_nothing_and_is_no_event(
    messages: tuple[Message, ...], reason: str, tmp_path: Path
) -> None:
    """The caller gets the counts and the reason."""
    async with session(tmp_path) as opened:
        if messages:
            await opened.add(*messages)
        state = await opened.state()
        with pytest.raises(NothingToCompress) as refused:
            await opened.compress()

        assert refused.value.details is not None
        assert refused.value.details["reason"] == reason
        assert await opened.state() == state
        assert opened.notified.events == []
        assert opened.model.requests == []


async def test_automatic_compression_begins_at_the_set_share(long: Session) -> None:
    """It is a share of the model's window; there is none when it is not set or switched off."""
    history = await long.storage.sessions.history("s")

    window = await long.compressor().window(MODEL)
    assert await long.compressor(compress_at=0.7).threshold(MODEL, history) == int(0.7 * window)
    assert await long.compressor().threshold(MODEL, history) is None
    assert await long.compressor(compress_at=0.1, use_compressions=False).threshold(MODEL, history) is None


async def test_after_two_failures_in_a_row_it_pauses_and_says_so_once(long: Session) -> None:
    """A success ends the pause."""
    compressor = long.compressor(compress_at=0.01)
    assert await compressor.threshold(MODEL, await long.storage.sessions.history("s")) is not None
    long.model.script = ["no summary"]
    for _ in range(2):
        with pytest.raises(CompressionFailed):
            await compressor.compress("s", model=MODEL, trigger="automatic", notify=long.notified)
    history = await long.storage.sessions.history("s")

    assert await compressor.threshold(MODEL, history) is None
    assert [compressor.should_warn_of_pause("s", history) for _ in range(3)] == [True, False, False]

    long.model.script = [summary()]
    await compressor.compress("s", model=MODEL, trigger="manual", notify=long.notified)
    assert not compressor.should_warn_of_pause("s", await long.storage.sessions.history("s"))
    assert compressor.should_warn_of_pause("s", history)


async def test_an_automatic_compression_wins_room_for_a_while(long: Session) -> None:
    """It comes to half of its trigger, and what would win less than a tenth of it is not begun."""
    row = await long.compressor(compress_at=0.04).compress(
        "s", model=MODEL, trigger="automatic", notify=long.notified
    )
    assert row.tokens_after <= 2000

    with pytest.raises(NothingToCompress):
        await long.compressor(compress_at=0.99).compress(
            "s", model=MODEL, trigger="automatic", notify=long.notified
        )


async def test_the_window_is_as_set_or_as_known(long: Session) -> None:
    """The setting wins, then the list of models, then 200,000."""
    assert await long.compressor(context_window=5000).window(MODEL) == 5000
    known = long.compressor(context_window=None)
    assert await known.window("claude-sonnet-5-5") == 1_000_000
    assert await known.window("llama3") == 200_000


async def test_a_summary_model_of_its_own_is_asked(long: Session) -> None:
    """The version tells which model wrote it."""
    row = await long.compress(summary_model="claude-haiku-4-5")

    assert row.model == long.model.requests[0].model == "claude-haiku-4-5"


async def test_a_session_is_summarised_without_being_compressed(long: Session) -> None:
    """All of it is told, up to the last message; the view stays as it is."""
    state = await long.state()
    owned = await long.storage.sessions.get("s", OWNER)
    row = await long.summariser().summarise_session(owned, model=MODEL, trigger="manual")

    assert row.to_position == 20
    assert replace(await long.storage.summaries.get("s", OWNER), title=None) == row
    assert "question 9" in long.model.asked[0]
    assert await long.state() == state


async def test_a_session_without_messages_has_no_summary(tmp_path: Path) -> None:
    """The model is not asked."""
    async with session(tmp_path) as opened:
        owned = await opened.storage.sessions.get("s", OWNER)
        with pytest.raises(NothingToCompress):
            await opened.summariser().summarise_session(owned, model=MODEL, trigger="idle")

        assert opened.model.requests == []


async def test_thinking_since_the_compression_is_sent_to_the_byte(long: Session) -> None:
    """What was thought before was signed for another prefix; what comes after is not touched."""
    await long.add(user("think"), says(thought("before"), "a"))
    await long.compress()
    new = says(thought("after"), "b")
    await long.add(user("again"), new)
    notified = view(await long.storage.sessions.history("s"))

    assert notified[-1] == new
    assert [b for m in notified[:-1] for b in m.content if b["type"] == "thinking"] == []


async def test_several_sessions_are_compressed_at_the_same_time(long: Session) -> None:
    """Only the same session waits for itself."""
    await long.storage.sessions.create("s2", OWNER, None, 1)
    other = Session(long.storage, long.model, id="s2", turns=100)
    for turn in talk(10, TEXT):
        await other.add(*turn)
    compressor, notified = long.compressor(), Notified()

    rows = await asyncio.gather(
        *(compressor.compress(each, model=MODEL, trigger="manual", notify=notified) for each in ("s", "s2"))
    )

    assert [row.session_id for row in rows] == ["s", "s2"]
