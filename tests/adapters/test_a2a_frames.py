"""What is written of a turn is of the Agent2Agent protocol by the types of the package `a2a-sdk`."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from a2a.types.a2a_pb2 import StreamResponse, Task, TaskState
from google.protobuf.json_format import ParseDict
from hypothesis import given

from gateway.adapters.a2a.a2a_frames import TaskStream, error_of
from gateway.adapters.a2a.a2a_requests import A2aCall, SendBody, content_of, decisions_of, params_of
from gateway.adapters.client_conversation import MAX_RESULTS
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import ApprovalAsked, TurnToolCall
from gateway.adapters.user_content import MAX_MESSAGES
from gateway.errors import Draining
from tests.adapters.test_turn_fold import turns
from tests.product import InvalidRequest, NotFound, StoredEvent

PAGE = "http://localhost/#s=s_1"


def stream(call_id: str | int | None = 'a"%b') -> TaskStream:
    return TaskStream("t_1", "s_1", call_id, PAGE)


def results(body: bytes) -> list[dict[str, Any]]:
    *frames, rest = body.split(b"\n\n")
    assert rest == b""
    answers = [orjson.loads(frame.removeprefix(b"data: ")) for frame in frames]
    assert all(answer.keys() == {"jsonrpc", "id", "result"} for answer in answers)
    assert {answer["id"] for answer in answers} <= {'a"%b'}
    return [answer["result"] for answer in answers]


def applied(updates: Sequence[StreamResponse]) -> dict[str, str]:
    """The texts of the artifacts, as a client has them: an update without `append` takes the place of what
    was there."""
    texts: dict[str, str] = {}
    for update in updates:
        if update.HasField("artifact_update"):
            told = update.artifact_update
            before = texts.get(told.artifact.artifact_id, "") if told.append else ""
            texts[told.artifact.artifact_id] = before + "".join(part.text for part in told.artifact.parts)
    return texts


@given(turns())
def test_every_frame_is_one_of_the_packages(events: Sequence[StoredEvent]) -> None:
    """The first is the task, the last says how it ended. A client that applies the updates has what the task
    says as a whole, also where an attempt was withdrawn."""
    encoder, fold = stream(), Fold()
    told = results(b"".join(encoder.encode(fold.take([event])) for event in events))
    updates = [ParseDict(each, StreamResponse()) for each in told]
    whole = ParseDict(encoder.task(), Task())

    first, last = updates[0], updates[-1].status_update
    assert (first.task.id, first.task.context_id) == ("t_1", "s_1")
    assert first.task.history[0].parts[0].text == "hi"
    assert all(not update.HasField("task") for update in updates[1:])
    assert last.status.state in {TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED}
    assert last.status.state == whole.status.state
    assert applied(updates) == {
        each.artifact_id: "".join(part.text for part in each.parts) for each in whole.artifacts
    }
    ids = [update.status_update.status.message.message_id for update in updates]
    assert len({*filter(None, ids)}) == len([*filter(None, ids)])


def test_a_task_that_waits_says_for_what() -> None:
    encoder = stream(None)
    asked = ApprovalAsked(
        TurnToolCall("c", "send", {"to": "x"}, {}), {"name": "send", "arguments": {"to": "x"}}
    )
    body = encoder.pause([asked])
    (frame,) = [orjson.loads(each.removeprefix(b"data: ")) for each in body.split(b"\n\n") if each]

    status = ParseDict(frame["result"], StreamResponse()).status_update.status
    assert (frame["id"], status.state) == (None, TaskState.TASK_STATE_INPUT_REQUIRED)
    (approval,) = frame["result"]["statusUpdate"]["status"]["message"]["parts"][1]["data"]["approvals"]
    assert approval == {"id": "c", "name": "send", "arguments": {"to": "x"}}


def send(*parts: dict[str, Any], **more: Any) -> SendBody:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": parts, **more}
    return params_of(
        A2aCall(jsonrpc="2.0", id=1, method="SendMessage", params={"message": message}), SendBody
    )


def test_parts_become_text_and_files() -> None:
    """Data is text, unknown fields are passed over, an empty text is none."""
    body = send(
        {"text": "look", "metadata": {"x": 1}},
        {"data": {"a": [1]}},
        {"raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain"},
        {"text": ""},
        contextId="",
    )
    text, (upload,) = content_of(body.message)

    assert text == 'look\n\n{"a":[1]}'
    assert not isinstance(upload, str)
    assert (upload.data, upload.name, upload.mime) == (b"hi", "a.txt", "text/plain")
    assert body.message.context_id == ""


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "must have text"),
        ([{"raw": "!"}], "base64"),
        ([{"url": "https://elsewhere.example/x"}], "data: URL"),
    ],
)
def test_what_cannot_be_a_message_is_refused(parts: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        content_of(send(*parts).message)


@pytest.mark.parametrize(
    "data",
    [
        "yes",
        {"approvals": []},
        {"approvals": ["c"]},
        {"approvals": [{"id": "c", "approved": "yes"}]},
        {"approvals": [{"id": "a", "approved": True}, {"id": "\0", "approved": True}]},
    ],
)
def test_words_are_no_decision(data: Any) -> None:
    assert not decisions_of(send({"text": "yes"}, {"data": data}).message)


def test_there_are_no_more_decisions_than_a_model_makes_calls() -> None:
    given = [{"id": "c", "approved": True}] * (MAX_RESULTS + 1)
    with pytest.raises(InvalidRequest, match=str(MAX_RESULTS)):
        decisions_of(send({"data": {"approvals": given}}).message)


def test_decisions_are_of_calls() -> None:
    """A reason is one of a denial."""
    given = [{"id": "a", "approved": True, "reason": "ok"}, {"id": "b", "approved": False, "reason": "no"}]
    found = decisions_of(send({"data": {"approvals": given}}).message)

    assert [*map(tuple, found)] == [("a", True, None), ("b", False, "no")]


def test_errors_have_the_codes_of_the_protocol() -> None:
    codes = [
        error_of(each)["code"]
        for each in (
            NotFound("x", code="turn_not_found"),
            NotFound("x", code="model_not_found"),
            InvalidRequest("x"),
            Draining("x"),
        )
    ]

    assert codes == [-32001, -32602, -32602, -32603]
    assert error_of(Draining("x"))["data"][0]["metadata"] == {"code": "draining", "retryable": "true"}


def test_params_that_are_wrong_are_named() -> None:
    with pytest.raises(InvalidRequest, match=r"params\.message\.parts"):
        send(*[{}] * (MAX_MESSAGES + 1))
    with pytest.raises(InvalidRequest, match=r"params\.message\.messageId"):
        params_of(A2aCall(jsonrpc="2.0", id=1, method="x", params={"message": {"parts": []}}), SendBody)
