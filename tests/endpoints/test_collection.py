"""The contract over the collection: each answer is understood, each failure named, whatever happens to it."""

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace

import pytest

from gateway.model.anthropic import AnthropicModel
from gateway.model.base import Delta
from tests.endpoints.collection import HERE, Case, Response, cases, endpoints
from tests.endpoints.player import Player, playing
from tests.product import Answer, Message, ModelError, ModelRequest

pytestmark = [pytest.mark.anyio, pytest.mark.long]
ASKED = ModelRequest("m", 4000, [], [Message("user", [{"type": "text", "text": "Hello"}])])
LIMIT = 10.0
CUTS = 12
"""Places of each response at which it is cut, beside ends of its events; GATEWAY_TEST_EVERY_CUT=1: all."""
EVERY = os.environ.get("GATEWAY_TEST_EVERY_CUT") == "1"
each_case = pytest.mark.parametrize("case", cases(), ids=str)


@dataclass
class Outcome:
    """What came of a call: text and thinking as they were shown, and its answer or its failure."""

    text: str = ""
    thinking: str = ""
    answer: Answer | None = None
    failure: ModelError | None = None


@pytest.fixture
async def player(anyio_backend: str) -> AsyncGenerator[Player]:
    async with playing() as started:
        yield started


async def ask(player: Player) -> Outcome:
    """One call over the wire. Raises what is no failure of a model, and TimeoutError when it hangs."""
    found = Outcome()
    model = AnthropicModel(api_key="k", base_url=player.url, first_byte_timeout=LIMIT, progress_timeout=LIMIT)
    try:
        async with asyncio.timeout(LIMIT), model.stream(ASKED) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Delta) and chunk.kind == "text":
                    found.text += chunk.text
                elif isinstance(chunk, Delta):
                    found.thinking += chunk.text
                elif isinstance(chunk, Answer):
                    found.answer = chunk
    except ModelError as failure:
        found.failure = failure
    finally:
        await model.close()
    return found


def check_answer(case: Case, found: Outcome) -> None:
    assert found.failure is None, found.failure
    answer = found.answer
    assert answer is not None
    assert case.text is None or found.text == case.text
    assert found.text.startswith(case.text_begins)
    assert found.thinking == case.thinking
    calls = [block for block in answer.content if block["type"] == "tool_use"]
    if case.bad_inputs:
        assert len(answer.bad_inputs) == case.bad_inputs
    else:
        assert [(each["name"], each["input"]) for each in calls] == list(case.calls)
        assert answer.bad_inputs == {}
    assert len({each["id"] for each in calls}) == len(calls)
    assert case.stop is None or answer.stop_reason == case.stop
    if case.signature is not None:
        assert (
            next(each for each in answer.content if each["type"] == "thinking")["signature"] == case.signature
        )
    if case.usage is not None:
        assert answer.usage is not None
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == case.usage


def check_failure(case: Case, found: Outcome) -> None:
    failure = found.failure
    assert failure is not None, found
    assert case.words is not None
    assert case.words in failure.message
    assert case.code is None or failure.code == case.code, failure.message
    assert case.retryable is None or failure.retryable == case.retryable, failure.message
    assert found.text == (case.text or "")


@each_case
async def test_each_message_is_taken_as_it_was_meant(case: Case, player: Player) -> None:
    """Text, thinking, calls, stop and usage of an answer; code, words and whether to repeat of a failure."""
    player.response = case.response
    found = await ask(player)
    if case.fails:
        check_failure(case, found)
    else:
        check_answer(case, found)


@each_case
async def test_a_byte_at_a_time_changes_nothing(case: Case, player: Player) -> None:
    """However slowly it comes, and wherever a character or an event is parted."""
    if len(case.response.body) > 5000:
        pytest.skip("the same events over and over")
    player.response = case.response
    whole = await ask(player)
    player.slowly = True
    slow = await ask(player)
    assert (slow.text, slow.thinking) == (whole.text, whole.thinking)
    assert str(slow.failure) == str(whole.failure)
    assert (slow.answer is None) == (whole.answer is None)
    if slow.answer and whole.answer:
        assert slow.answer.stop_reason == whole.answer.stop_reason
        assert len(slow.answer.content) == len(whole.answer.content)


def never_wrong(whole: Outcome, found: Outcome) -> None:
    """A part of the right answer with a named failure, or the right answer; nothing else."""
    assert (found.answer is None) != (found.failure is None)
    assert whole.text.startswith(found.text)
    assert whole.thinking.startswith(found.thinking)
    if found.failure is not None:
        assert found.failure.message
        assert "<" not in found.failure.message.partition(":")[0]
    elif whole.answer is not None and found.answer is not None:
        assert found.text == whole.text
        assert len(found.answer.content) == len(whole.answer.content)


@each_case
async def test_a_stream_that_is_cut_anywhere_is_never_taken_for_more(case: Case, player: Player) -> None:
    """By an end or by a reset: what was shown is the beginning of what is right, the failure has a name."""
    player.response = case.response
    whole = await ask(player)
    sent = player.wire()
    ends = [at for at in range(1, len(sent)) if sent[at - 2 : at] in {b"\n\n", b"\r\n"}]
    some = random.Random(str(case)).sample(range(len(sent)), min(CUTS, len(sent)))
    places = range(len(sent)) if EVERY else {*some, *random.Random(0).sample(ends, min(CUTS, len(ends)))}
    for place in places:
        player.cut = place
        player.resets = place % 4 == 0
        never_wrong(whole, await ask(player))


Fault = Callable[[Player], None]


def _gbk(player: Player) -> None:
    assert player.response is not None
    body = player.response.body.decode().encode("gbk", errors="replace")
    player.response = replace(player.response, body=body)


def _named(**headers: str) -> Fault:
    return lambda player: player.with_headers(**headers)


def _instead(status: int, body: bytes = b"", **headers: str) -> Fault:
    def change(player: Player) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        player.response = Response(status, named, body)

    return change


_HTML = b"<html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
FAULTS: dict[str, Fault] = {
    "wrong-encoding": _named(content_encoding="br"),
    "no-encoding": _named(content_encoding=""),
    "not-gzip": _named(content_encoding="gzip"),
    "gbk": _gbk,
    "charset": _named(content_type="text/event-stream; charset=gbk"),
    "json-type": _named(content_type="application/json"),
    "html-type": _named(content_type="text/html"),
    "no-type": _named(content_type=""),
    "html-502": _instead(502, _HTML, content_type="text/html"),
    "html-200": _instead(200, _HTML, content_type="text/html"),
    "empty-200": _instead(200, b"", content_type="text/event-stream"),
    "empty-json": _instead(200, b"{}", content_type="application/json"),
    "redirect": _instead(302, b"", location="https://elsewhere.example/login"),
    "kept-redirect": _instead(307, b"", location="/v2/messages"),
    "500": _instead(500, b"upstream connect error", content_type="text/plain"),
    "gateway-timeout": _instead(504, _HTML, content_type="text/html"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_no_fault_makes_it_hang_or_fail_without_a_name(fault: str, player: Player) -> None:
    """For the answers and refusals of every endpoint: headers, encodings, pages of something in between."""
    for endpoint in endpoints():
        for case in endpoint.cases:
            player.response = case.response
            FAULTS[fault](player)
            found = await ask(player)
            assert (found.answer is None) != (found.failure is None), case
            if found.failure is not None:
                assert found.failure.message, case
                assert "<html" not in found.failure.message, case
            if fault in {"json-type", "html-type", "no-type"} and case.text and found.answer is not None:
                assert found.text == case.text, case


def test_every_endpoint_says_where_its_shapes_are_from() -> None:
    """A comment at the top of its file names documents, source or reports."""
    for endpoint in endpoints():
        assert (HERE / endpoint.name / "endpoint.toml").read_text().startswith("# "), endpoint.name
