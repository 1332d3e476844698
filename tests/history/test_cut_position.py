"""Where a history may be cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import NothingToCompress
from gateway.history.compression.cut_position import MIN_TOKENS, Cut, find_cut
from tests.history.conversations import conversations, version
from tests.history.scripted import call, result, results, says, stored, user
from tests.product import History, Message


def cut_of(
    *messages: Message,
    size: int = 300,
    target: int = 1000,
    summary_tokens: int = 0,
    covered: tuple[int, int | None] | None = None,
) -> Cut:
    """The cut of messages that take `size` tokens each; `covered` is where a version in force ends and what
    it keeps."""
    found = stored(*messages)
    row = None
    if covered is not None:
        to_position, kept = covered
        found = [item for item in found if item.position > to_position or item.position == kept]
        row = version(to_position=to_position, kept_position=kept)
    history = History(found, row)
    return find_cut(history, [size] * len(found), target=target, summary_tokens=summary_tokens)


def turns(count: int) -> list[Message]:
    return [message for n in range(count) for message in (user(f"question {n}"), says(f"answer {n}"))]


def round_of(*ids: str) -> list[Message]:
    return [says(*(call("t", each) for each in ids)), results(*(result(each) for each in ids))]


def test_as_many_of_the_newest_turns_stay_as_fit() -> None:
    """Ten turns of 600 tokens, 2000 for what stays: three turns stay, seven are covered."""
    cut = cut_of(*turns(10), target=2000)

    assert cut == Cut(1, 14, None, tokens_covered=14 * 300, tokens_kept=6 * 300)


def test_the_summary_takes_its_share_of_what_fits() -> None:
    """With 1000 tokens for the summary only one turn has room beside it."""
    cut = cut_of(*turns(10), target=2000, summary_tokens=1000)

    assert cut.to_position == 18


def test_the_newest_message_of_the_user_stays_even_when_it_does_not_fit() -> None:
    """Everything before it is covered, however small the target."""
    cut = cut_of(*turns(5), user("the newest"), target=10)

    assert (cut.from_position, cut.to_position, cut.kept_position) == (1, 10, None)


def test_a_version_in_force_is_continued() -> None:
    """The next one covers the messages from where the former ends."""
    cut = cut_of(*turns(10), target=700, covered=(6, None))

    assert (cut.from_position, cut.to_position) == (7, 18)


def test_a_long_turn_is_cut_after_a_complete_round_and_its_request_kept() -> None:
    """One turn alone is too long: its older tool rounds are covered, what was asked stays word for word."""
    work = [message for n in range(8) for message in round_of(f"a{n}", f"b{n}")]

    cut = cut_of(*turns(1), user("a long task"), *work, target=1600)

    assert cut.kept_position == 3
    assert cut.to_position == 3 + 12
    assert cut.tokens_kept == 5 * 300


def test_the_request_of_a_long_turn_is_kept_a_second_time() -> None:
    """The next cut inside the same turn keeps the same message, which lies before what it covers."""
    work = [message for n in range(8) for message in round_of(f"c{n}")]

    cut = cut_of(user("a long task"), *work, target=700, covered=(5, 1))

    assert (cut.from_position, cut.kept_position) == (6, 1)
    assert cut.to_position == 17


def test_what_was_kept_is_let_go_when_a_newer_request_came() -> None:
    """It counts among what leaves the view."""
    cut = cut_of(user("a task"), *round_of("c1"), says("done"), *turns(3), target=700, covered=(3, 1))

    assert (cut.from_position, cut.to_position, cut.kept_position) == (4, 8, None)
    assert cut.tokens_covered == 6 * 300


def test_open_calls_stay() -> None:
    """A call that waits for its result is not covered, nor is a round of which one result is missing."""
    open_round = [says(call("t", "x"), call("t", "y")), results(result("x"))]

    cut = cut_of(user("a task"), *round_of("c1"), *round_of("c2"), *open_round, target=10)

    assert (cut.kept_position, cut.to_position) == (1, 5)


@pytest.mark.parametrize(
    ("messages", "size", "reason"),
    [
        ([], 300, "empty"),
        ([user("hello")], 9000, "newest_turn_only"),
        ([user("hello"), says("a long answer")], 9000, "newest_turn_only"),
        ([user("go"), says(call("t", "c"))], 9000, "newest_turn_only"),
        ([*turns(1), user("more")], MIN_TOKENS // 2 - 1, "too_little"),
    ],
)
def test_too_little_is_said_with_the_counts(messages: list[Message], size: int, reason: str) -> None:
    """The details tell how much there is, how much could be covered and how much is needed."""
    with pytest.raises(NothingToCompress) as refused:
        cut_of(*messages, size=size)

    details = refused.value.details
    assert details is not None
    assert details["reason"] == reason
    assert details["messages"] == len(messages)
    assert details["tokens"] == size * len(messages)
    assert details["covered_tokens"] < details["needed_tokens"] == MIN_TOKENS


@given(conversations(), st.integers(0, 4000), st.sampled_from([30, 200, 2000]))
def test_no_cut_parts_a_call_from_its_result(messages: list[Message], target: int, size: int) -> None:
    """Whatever was said: each call and its result are on the same side, open calls and the newest request
    stay, and the tokens add up."""
    try:
        cut = cut_of(*messages, target=target, size=size)
    except NothingToCompress:
        return
    found = stored(*messages)
    covered = [item for item in found if item.position <= cut.to_position]
    kept = [item for item in found if item.position > cut.to_position]
    called = {
        block["id"] for item in covered for block in item.message.content if block["type"] == "tool_use"
    }
    answered = {
        block["tool_use_id"]
        for item in kept
        for block in item.message.content
        if block["type"] == "tool_result"
    }
    requests = [
        item.position
        for item in found
        if item.message.role == "user"
        and any(block.get("text", "").strip() for block in item.message.content)
    ]

    assert called & answered == set()
    assert requests[-1] > cut.to_position or requests[-1] == cut.kept_position
    assert cut.tokens_covered + cut.tokens_kept == size * len(messages)
    assert cut.tokens_covered >= MIN_TOKENS
