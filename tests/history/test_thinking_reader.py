"""Which thinking of a history which model gets."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.thinking_reader import (
    MADE_BY,
    Form,
    ThinkingReader,
    as_sent,
    is_thinking,
    last_answered,
    maker_of_answer,
    may_think,
    refuses_thinking,
    signed_off,
)
from gateway.history.transcript import fold, problems, view
from gateway.messages import ATTACHED, RECALLED, recalled_in
from tests.product import Block, History, Message, ModelError, StoredMessage, text_block, tool_result_block

HERE = "e1"
READER = ThinkingReader("a", HERE, "t2")


def thought(text: str, signature: str | None = "s", maker: Any = None) -> Block:
    block: Block = {"type": "thinking", "thinking": text}
    if signature is not None:
        block["signature"] = signature
    return block if maker is None else block | {MADE_BY: maker}


def by(model: str, answered: str | None = None, endpoint: str | None = HERE) -> dict[str, str]:
    return maker_of_answer(model, answered, endpoint)


def history(*turns: list[Block], generation_from: int = 0) -> History:
    """Turns t1, t2, …: a question, and an answer of these blocks."""
    items: list[StoredMessage] = []
    for number, content in enumerate(turns, 1):
        question = Message("user", [text_block(f"question {number}")])
        for message in (question, Message("assistant", content)):
            items.append(StoredMessage(len(items) + 1, f"t{number}", message))
    return History(items, generation_from=generation_from)


def thoughts(messages: list[Message]) -> list[str]:
    return [
        block.get("thinking", "redacted")
        for message in messages
        for block in message.content
        if is_thinking(block)
    ]


@pytest.mark.parametrize(
    ("maker", "reads"),
    [
        (None, True),
        ("a", True),
        ({"model": ["a"]}, False),
        (by("a"), True),
        (by("b"), False),
        (by("a", endpoint="e2"), False),
        (by("a", endpoint=None), True),
        (by("short", "a"), True),
        (by("b", "a-full"), False),
        (by("a", "glm"), False),
    ],
)
def test_a_model_reads_what_it_has_signed(maker: Any, reads: bool) -> None:
    """By the name that was asked for and the one that answered, at the same endpoint; what is unknown is
    sent. The name that answered last counts."""
    past = history(
        [thought("one", maker=maker), text_block("x")], [thought("two", maker=by("a")), text_block("y")]
    )
    reader = replace(READER, answered=last_answered(past, "a", HERE))
    assert thoughts(view(past, reader)) == (["one", "two"] if reads else ["two"])


def test_the_name_that_answered_last_is_that_of_the_model() -> None:
    """A proxy that lets another model answer: what the model before it signed is left out, until that one
    answers again."""
    first, other = by("a", "a-0901"), by("a", "glm")
    texts = [[thought(str(n), maker=maker), text_block("x")] for n, maker in enumerate((first, other, first))]
    for known, kept in ((1, ["0"]), (2, ["1"]), (3, ["0", "2"])):
        past = history(*texts[:known])
        assert thoughts(view(past, replace(READER, answered=last_answered(past, "a", HERE)))) == kept


@pytest.mark.parametrize(
    ("form", "takes_unsigned", "kept"),
    [
        ("own", True, ["new", "new unsigned"]),
        ("own", False, ["new"]),
        ("all", True, ["old", "old unsigned", "new", "new unsigned"]),
        ("all", False, ["old", "new"]),
        ("none", True, []),
    ],
)
def test_the_form_decides_what_is_sent(form: Form, takes_unsigned: bool, kept: list[str]) -> None:
    """Thinking of a former generation and another model, and what nobody has signed."""
    past = history(
        [thought("old", maker=by("b")), thought("old unsigned", None), text_block("x")],
        [thought("new"), thought("new unsigned", ""), text_block("y")],
        generation_from=2,
    )
    reader = replace(READER, form=form, takes_unsigned=takes_unsigned)
    assert thoughts(view(past, reader)) == kept


def test_whoever_reads_a_history_without_asking_gets_what_is_signed() -> None:
    """An estimate, a page: neither makers nor unsigned thinking."""
    past = history([thought("one", maker=by("b")), thought("two", None), text_block("x")])
    assert view(past)[1].content == [thought("one"), text_block("x")]


def test_an_answer_is_marked_where_it_thinks_and_goes_back_without_the_mark() -> None:
    """The same objects where there is nothing to do."""
    plain = [text_block("hi")]
    assert signed_off(plain, by("a")) is plain
    message = Message("assistant", plain)
    assert as_sent(READER, message) is message
    marked = signed_off([thought("hm"), *plain], by("a"))
    assert marked[:-1] == [thought("hm"), *plain]
    assert as_sent(READER, Message("assistant", marked)).content == [thought("hm"), *plain]


def test_versions_before_send_nothing_of_the_mark() -> None:
    """Replicas of two versions share a database while one takes the place of the other. What those before
    send of an answer is all but the blocks for what was recalled and attached."""
    marked = signed_off([thought("hm"), text_block("hi")], by("a"))
    assert [block for block in marked if block["type"] not in {RECALLED, ATTACHED}] == [
        thought("hm"),
        text_block("hi"),
    ]
    assert [memory for block in marked for memory in recalled_in(block)] == []


@pytest.mark.parametrize(("maker", "reads"), [("a", True), ("b", False)])
def test_the_mark_of_an_answer_is_that_of_all_its_thinking(maker: str, reads: bool) -> None:
    """And what a file has in its place tells nothing."""
    answer = signed_off([thought("one"), thought("two"), text_block("x")], by(maker))
    assert thoughts(view(history([*answer]), READER)) == (["one", "two"] if reads else [])
    odd = [thought("one", maker={"model": "a", "endpoint": HERE, "answered": ["x"]}), text_block("x")]
    assert last_answered(history(odd), "a", HERE) is None
    assert view(history([*answer]), READER)[-1].content[-1] == text_block("x")


@pytest.mark.parametrize(
    ("block", "form", "may"),
    [
        (thought("x"), "own", True),
        (thought("x", maker=by("b")), "own", False),
        (thought("x", maker=by("b")), "all", True),
        (thought("x"), "none", False),
        (thought("x", None), "none", True),
        (text_block("x"), "none", True),
    ],
)
def test_a_turn_that_lost_its_signed_thought_does_not_think_again(
    block: Block, form: Form, may: bool
) -> None:
    past = history([text_block("a")], [block, text_block("b")])
    assert may_think(past, replace(READER, form=form)) is may


def _client_call(number: int) -> Block:
    return {"type": "tool_use", "id": f"c{number}", "name": "f", "input": {}}


def _server_call(number: int) -> Block:
    return CALL | {"id": f"s{number}"}


def _found(number: int) -> Block:
    return FOUND | {"tool_use_id": f"s{number}"}


BLOCKS = st.one_of(
    st.builds(
        thought,
        st.sampled_from("xyz"),
        st.sampled_from([None, "", "s"]),
        st.sampled_from([None, by("a"), by("b"), by("a", "c")]),
    ),
    st.builds(text_block, st.sampled_from(["", "hi"])),
    st.integers(0, 9).map(_client_call),
    st.integers(0, 3).map(_server_call),
    st.integers(0, 3).map(_found),
)
READERS = st.builds(
    ThinkingReader,
    st.sampled_from("ab"),
    st.just(HERE),
    st.just("t3"),
    st.sampled_from(["own", "all", "none"]),
    st.booleans(),
)


@given(st.lists(st.lists(BLOCKS, min_size=1, max_size=5), min_size=1, max_size=5), READERS, st.integers(0, 8))
def test_whatever_is_left_out_the_history_stays_valid(
    turns: list[list[Block]], reader: ThinkingReader, generation_from: int
) -> None:
    """And nothing of the gateway's own is in it."""
    past = history(*turns, generation_from=generation_from)
    # Ids are unique in a history.
    past = replace(past, messages=[_renamed(item) for item in past.messages])
    folded = fold(view(past, reader))
    assert problems(folded) == []
    assert not any(MADE_BY in block for message in folded for block in message.content)
    lost = {
        block["id"] for message in folded for block in message.content if block["type"] == "server_tool_use"
    }
    results = {
        block["tool_use_id"]
        for message in folded
        for block in message.content
        if block["type"] == "web_search_tool_result"
    }
    assert results <= lost


def _renamed(item: StoredMessage) -> StoredMessage:
    content = [
        {**block, "id": f"{block['id']}-{item.position}-{place}"} if block["type"] == "tool_use" else block
        for place, block in enumerate(item.message.content)
    ]
    return replace(item, message=Message(item.message.role, content))


@given(st.lists(st.lists(BLOCKS, min_size=1, max_size=5), min_size=2, max_size=5))
def test_a_model_s_prefix_only_grows(turns: list[list[Block]]) -> None:
    """What others say in between changes nothing of what a model was sent before."""
    signed = [
        [block for block in turn if block["type"] == "text" or block.get("signature")] or [text_block("x")]
        for turn in turns
    ]
    reader = ThinkingReader("a", HERE, "later")
    before = view(history(*signed[:-1]), reader)
    assert view(history(*signed), reader)[: len(before)] == before


@pytest.mark.parametrize(
    ("words", "is_about_it"),
    [
        ("messages.1.content.0: Invalid `signature` in `thinking` block", True),
        ("The `content[].thinking` in the thinking mode must be passed back to the API.", True),
        ("Expected `thinking` or `redacted_thinking`, but found `tool_use`.", True),
        ("`max_tokens` must be greater than `thinking.budget_tokens`.", False),
        ('"thinking.type.enabled" is not supported for this model.', False),
        ("prompt is too long", False),
    ],
)
def test_a_refusal_of_thinking_is_known_by_its_words(words: str, is_about_it: bool) -> None:
    error = ModelError(words, code="upstream_error", retryable=False, refused=True)
    assert refuses_thinking(error) is is_about_it
    assert not refuses_thinking(ModelError(words, code="upstream_error", retryable=True))


CALL: Block = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND: Block = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CLIENT: Block = {"type": "tool_use", "id": "c", "name": "f", "input": {}}


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
def test_half_of_a_server_tool_s_call_is_left_out(kind: str) -> None:
    """A call without its result, unless its turn goes on; a result whose call is gone with what was
    compressed; and the message with it, where nothing else is in it."""
    call = CALL | {"type": kind}
    past = history([text_block("a"), call], [call], [FOUND | {"tool_use_id": "srvtoolu_0"}, text_block("b")])
    assert [message.content for message in view(past, READER) if message.role == "assistant"] == [
        [text_block("a")],
        [call],
        [text_block("b")],
    ]


def test_a_result_may_come_in_a_later_message() -> None:
    """With a client's tool called beside it, it comes after that one's result."""
    items = [
        Message("user", [text_block("go")]),
        Message("assistant", [CALL, CLIENT]),
        Message("user", [tool_result_block("c", "1", is_error=False)]),
        Message("assistant", [FOUND, text_block("done")]),
    ]
    past = History([StoredMessage(number, "t1", message) for number, message in enumerate(items, 1)])
    assert view(past) == items
