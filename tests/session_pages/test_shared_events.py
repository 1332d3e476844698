"""What leaves with a session that is shared, and what does not."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.session_pages.shared_events import MAX_PICTURE, MAX_PICTURES, SharedEvents
from tests.session_pages.told import told


def shared(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return SharedEvents().of_turn(events)


def turn(*story: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    place = {"v": 1, "session_id": "s", "turn_id": "t", "iteration": 1}
    return [{**place, "seq": n, "ts": n, "type": kind, "data": data} for n, (kind, data) in enumerate(story)]


def texts(events: list[dict[str, Any]]) -> list[str]:
    return [each["data"]["text"] for each in events if each["type"] == "text"]


def test_only_what_a_reader_is_shown_leaves() -> None:
    """Not what is remembered or thought, nor costs, ids and who asked, nor events of types to come."""
    events = shared(told("fine", thinking="SECRET thought"))
    whole = orjson.dumps(events).decode()

    assert "secret" not in whole.lower()
    assert not any(
        word in whole for word in ("cost", "usage", "7.77", "trace_id", "score", "upstream_truncated")
    )
    assert [each["type"] for each in events] == [
        *("turn_start", "retrieval", "text", "tool_call", "tool_result", "artifact", "error", "done"),
    ]
    assert texts(events) == ["fine"]
    assert events[1]["data"]["results"] == [
        {"id": "1", "title": "The handbook", "source": "fine", "snippet": "fine"}
    ]


def test_numbers_stand_in_the_place_of_ids() -> None:
    """Over all turns of a session, so that the parts of one still belong to each other."""
    session = SharedEvents()
    events = [*session.of_turn(told("one")), *session.of_turn(told("two"))]

    assert [each["seq"] for each in events] == list(range(1, len(events) + 1))
    assert {each["turn_id"] for each in events} == {"turn-1", "turn-2"}
    assert {each.get("tool_call_id") for each in events} == {None, "call-1", "call-2"}
    assert [each.ref for each in session.pictures.wanted] == ["ART-SECRET"]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("<think>SECRET</think>fine", ["fine"]),
        ("SECRET</think>\n\nfine", ["fine"]),
        ("<think>SECRET, and no end", []),
        ("one\n<think>SECRET</think>\ntwo", ["one\n\ntwo"]),
        ("`<think>` is a tag", ["`<think>` is a tag"]),
    ],
)
def test_what_is_thought_in_the_text_is_not_shared(said: str, left: list[str]) -> None:
    """Also where a mark comes in two pieces."""
    for at in range(len(said)):
        story = [("text", {"text": said[:at]}), ("text", {"text": said[at:]})]
        assert texts(shared(turn(*story))) == left


def test_texts_of_two_calls_of_the_model_stay_two() -> None:
    """And so do those before and after a thought or a tool."""
    said: list[tuple[str, dict[str, Any]]] = [
        ("text", {"text": "one"}),
        ("thinking", {"text": "hm"}),
        ("text", {"text": "two"}),
        ("iteration_end", {"stop_reason": "pause_turn"}),
        ("iteration_start", {"attempt": 1}),
        ("text", {"text": "three"}),
    ]
    events = shared(turn(*said))

    assert texts(events) == ["one", "two", "three"]
    assert len({each["iteration"] for each in events}) == 3


def test_pictures_go_along_while_there_is_room() -> None:
    """None that is very large, none of a type that may run something; the same one once."""

    def start(*files: tuple[str, str, int]) -> tuple[str, dict[str, Any]]:
        attached = [{"name": "a", "ref": ref, "mime": mime, "size": size} for ref, mime, size in files]
        return "turn_start", {"input": "", "model": "m", "attachments": attached}

    session = SharedEvents()
    half = MAX_PICTURES // 2
    session.of_turn(
        turn(
            start(
                ("large", "image/png", MAX_PICTURE + 1),
                ("svg", "image/svg+xml", 9),
                ("first", "image/png", half),
                ("first", "image/png", half),
                ("second", "image/webp", half),
                ("third", "image/gif", 1),
            )
        )
    )

    assert [each.ref for each in session.pictures.wanted] == ["first", "second"]


@given(st.recursive(st.none() | st.text() | st.integers(), lambda some: st.dictionaries(st.text(), some)))
def test_whatever_a_new_type_of_event_says_stays(data: object) -> None:
    assert shared(turn(("something", {"data": data}))) == []
