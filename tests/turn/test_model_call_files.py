"""The files of a conversation: shown where there is room, and withheld from an endpoint that refuses them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.events.lifecycle import IterationStart
from gateway.tools.policy import FILE_READ
from gateway.turn.context import TurnContext
from gateway.turn.model_call import next_request
from gateway.turn.model_call_files import fit_attachments, remember_withheld, with_files, withhold_files
from gateway.turn.start_and_end import begin_turn
from tests.product import (
    Attached,
    History,
    Message,
    ModelError,
    StorageError,
    StoredMessage,
    attached_block,
    text_block,
)
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

IMAGE = Attached(
    ref="ART-0123456789", name="a.png", mime="image/png", size=9, shown="image", text="A picture.", tokens=9
)
REFUSED = ModelError("Bad image.", code="upstream_error", retryable=False, refused=True)
TOO_LONG = ModelError("Too long.", code="context_overflow", retryable=False, refused=True)


def _history(*files: Attached) -> History:
    blocks = [*(attached_block(each) for each in files), text_block("hello")]
    return History([StoredMessage(1, "t", Message("user", blocks))])


async def test_only_files_that_take_the_room_of_older_ones_are_a_reason(tmp_path: Path) -> None:
    """A message without files cannot be one, however many there were before."""
    image = Attached(ref="art_1", name="a.png", mime="image/png", size=9, shown="image", text="", tokens=9)

    def message(position: int, turn_id: str, count: int) -> StoredMessage:
        return StoredMessage(position, turn_id, Message("user", [attached_block(image)] * count))

    async def reason_of(turn: TurnContext, count: int) -> str | None:
        turn.row = replace(turn.row, attachments=(image,) * count)
        _, reason = await fit_attachments(turn, History([message(1, "t0", 20), message(2, "t", count)]))
        return reason.code if reason else None

    async with turn_at_work(tmp_path) as turn:
        assert await reason_of(turn, 0) is None
        assert await reason_of(turn, 1) == "attachment_not_shown"
        turn.progress.iteration = 1
        assert await reason_of(turn, 1) is None


async def test_a_request_without_files_is_passed_on_as_it_is(tmp_path: Path) -> None:
    """Nothing is read, also where another message of the session had one that is gone."""
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(_history())
        request = next_request(turn)
        before = await with_files(turn, request)
        turn.progress.tools_read.add(FILE_READ)
        after = await with_files(turn, request)

    assert before is request
    assert after is request
    assert turn.shows_all


async def test_what_cannot_be_shown_is_told_in_its_place_and_once_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model reads that there was a file, and people why it did not see it."""

    async def get(*_: object) -> None:
        raise StorageError("The disk is gone.")

    async with turn_at_work(tmp_path) as turn:
        monkeypatch.setattr(turn.deps.artifact_store, "get", get)
        turn.set_history(_history(IMAGE))
        turn.progress.tools_read.add(FILE_READ)
        request = next_request(turn)
        shown = [await with_files(turn, request) for _ in range(2)]
        events = await stored(turn)

    assert all(IMAGE.ref in str(each.messages) and "base64" not in str(each.messages) for each in shown)
    assert not turn.shows_all
    assert [each["data"]["code"] for each in events] == ["attachment_not_shown"]


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (REFUSED, True),
        (TOO_LONG, True),
        (ModelError("Later.", code="upstream_overloaded", retryable=True, refused=True), False),
        (ModelError("Gone.", code="upstream_error", retryable=False), False),
    ],
)
async def test_files_are_withheld_when_they_may_be_why_a_request_was_refused(
    tmp_path: Path, error: ModelError, again: bool
) -> None:
    """And only then: the attempt is superseded, and a warning says what happens."""
    async with turn_at_work(tmp_path) as turn:
        begin_turn(turn.emitter)
        turn.set_history(_history(IMAGE))
        turn.emitter.iteration = 1
        turn.emit(IterationStart(attempt=1, model="model"))
        assert withhold_files(turn, error) is again
        events = await stored(turn)

    assert turn.withheld == (frozenset({IMAGE.ref}) if again else frozenset())
    types = [each["type"] for each in events][2:]
    assert types == (["iteration_superseded", "warning"] if again else [])


async def test_each_refusal_withholds_more_until_no_file_is_left_to_suspect(tmp_path: Path) -> None:
    """The newest ones first; then the request is not sent again, so that a turn comes to its end."""
    other = IMAGE.model_copy(update={"ref": "ART-abcdefghjk"})
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(
            History(
                [
                    StoredMessage(1, "t0", Message("user", [attached_block(other), text_block("one")])),
                    StoredMessage(2, "t0", Message("assistant", [text_block("seen")])),
                    StoredMessage(3, "t", Message("user", [attached_block(IMAGE), text_block("two")])),
                ]
            )
        )
        withheld: list[Any] = []
        while withhold_files(turn, REFUSED):
            withheld.append(set(turn.withheld))

    assert withheld == [{IMAGE.ref}, {IMAGE.ref, other.ref}]


async def test_what_an_endpoint_refused_it_is_not_shown_in_later_turns(tmp_path: Path) -> None:
    """Once it answered without: until then it is not known that the file was why."""
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(_history(IMAGE))
        turn.progress.tools_read.add(FILE_READ)
        turn.withheld = frozenset({IMAGE.ref})
        remember_withheld(turn)
        turn.withheld = frozenset()
        request = await with_files(turn, next_request(turn))

    assert "refused what was shown" in str(request.messages)
