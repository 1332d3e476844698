"""Random sessions: what well-behaved turns and crashed ones leave behind."""

from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import strategies as st

from gateway.storage.archives import CompressionRow
from tests.history.scripted import call, result, results, says, thought
from tests.product import Block, Message, text_block

TEXTS = st.sampled_from(
    ["hello", "请帮我订一张去台北的车票。", "預算不超過 5000 元", "", " \n", "one " * 200, "计划" * 300]
)
_IDS = st.shared(st.builds(count), key="ids")


@st.composite
def turns(draw: st.DrawFn, *, last: bool = False) -> list[Message]:
    """A turn: a request, rounds of parallel tool calls of which some fail, an answer. One that crashed has
    calls without a result; the `last` one may still be open."""
    ids = draw(_IDS)
    content: list[Block] = [text_block(draw(TEXTS) + f"#{next(ids)}")]
    if draw(st.integers(0, 9)) == 0:
        content.append(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
        )
    messages = [Message("user", content)]
    for _ in range(draw(st.integers(0, 3))):
        calls = [f"toolu_{next(ids)}" for _ in range(draw(st.integers(1, 3)))]
        before = draw(
            st.lists(
                st.sampled_from([thought(), thought("想一想"), text_block("on it"), text_block("")]),
                max_size=2,
            )
        )
        messages.append(says(*before, *(call("lookup", each, query=draw(TEXTS)) for each in calls)))
        if draw(st.integers(0, 7)) == 0:
            return messages  # the process ended here
        answers = [result(each, draw(TEXTS), failed=draw(st.booleans())) for each in calls]
        if last and draw(st.integers(0, 3)) == 0:
            return [*messages, *([results(*answers[:-1])] if answers[:-1] else [])]
        messages.append(results(*answers))
    if draw(st.integers(0, 5)):
        messages.append(says(*draw(st.sampled_from([[], [thought()]])), draw(TEXTS) or "好的"))
    return messages


@st.composite
def conversations(draw: st.DrawFn, *, most: int = 8) -> list[Message]:
    """Some turns, the last of which may be open."""
    done = [message for turn in draw(st.lists(turns(), max_size=most)) for message in turn]
    return [*done, *draw(turns(last=True))]


ROW = CompressionRow(
    session_id="s",
    version=1,
    parent=None,
    from_position=1,
    to_position=1,
    kept_position=None,
    archive_path="sessions/s/archive/1.jsonl.gz",
    archive_size=1,
    sha256="0" * 64,
    summary={"goal": "Plan a trip."},
    source="messages",
    model="m",
    prompt_digest="0" * 64,
    tokens_before=1,
    tokens_after=1,
    trigger="manual",
    usage=None,
    cost=None,
    created_at=1,
)


def version(**given: Any) -> CompressionRow:
    """A version of a session's compressed history."""
    return replace(ROW, **given)
