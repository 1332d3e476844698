"""How large a conversation is: laws of the estimate, not its error, which only an endpoint can tell."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.tokens import (
    HIGHEST,
    LOWEST,
    MESSAGE_TOKENS,
    START,
    TokenMeter,
    block_tokens,
    message_tokens,
    overhead_of,
    request_tokens,
    tokens_of,
)
from gateway.history.transcript import view
from tests.history.scripted import ScriptedModel, call, result, results, says, stored, thought, user, words
from tests.product import (
    Attached,
    Block,
    History,
    Message,
    ModelError,
    ModelRequest,
    StoredMessage,
    ToolSpec,
    Usage,
    attached_block,
    estimate_tokens,
    text_block,
)

pytestmark = pytest.mark.anyio

ASKED = ModelRequest(model="m", max_tokens=9, system=(), messages=[user(words(900))])


def test_without_a_baseline_everything_is_estimated_with_a_margin() -> None:
    """A model that was never measured: messages, system prompt and tools, a good seventh on top."""
    history = History(stored(user("hello there"), says("你好，有什么可以帮你？")))

    size = TokenMeter().size("m", history, overhead=100)

    assert size == round(START * (tokens_of([item.message for item in history.messages]) + 100))


def test_what_the_endpoint_counted_last_is_taken_as_it_is() -> None:
    """The newest answer's usage is the baseline, cache and answer included; only what came after is
    estimated, and the overhead is in the usage already."""
    usage = Usage(
        input_tokens=10, output_tokens=20, cache_read_input_tokens=3000, cache_creation_input_tokens=400
    )
    after = user("one more question")
    history = History(
        [*stored(user(words(5000))), StoredMessage(2, "t", says("done"), usage), *stored(after, first=3)]
    )
    meter = TokenMeter()

    assert meter.size("m", history, overhead=999) == 3430 + meter.estimate("m", [after])


def test_a_count_of_another_prefix_is_no_baseline() -> None:
    """Usage of an answer from before the generation tells of a prompt that is not sent any more."""
    history = History(
        [
            StoredMessage(1, "t", user("hi")),
            StoredMessage(2, "t", says("ho"), Usage(input_tokens=9999, output_tokens=1)),
        ],
        generation_from=2,
    )

    assert TokenMeter().size("m", history) < 50


@given(st.lists(st.text(max_size=60), max_size=8))
def test_a_longer_history_is_never_smaller(texts: list[str]) -> None:
    """Each message adds at least its frame."""
    meter, messages = TokenMeter(), [user(text) for text in texts]
    sizes = [meter.size("m", History(stored(*messages[:count]))) for count in range(len(messages) + 1)]

    assert all(later - earlier >= MESSAGE_TOKENS for earlier, later in pairwise(sizes))


@given(st.floats(LOWEST, HIGHEST))
def test_the_factor_comes_to_what_the_endpoint_counts(ratio: float) -> None:
    """After some answers the estimate of that model, and of no other, is right to a hundredth."""
    meter = TokenMeter()
    for _ in range(40):
        meter.learn("m", 10_000, round(10_000 * ratio))

    assert meter.factor("m") == pytest.approx(ratio, abs=0.01)
    assert meter.factor("other") == START


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), max_size=30))
def test_the_factor_keeps_its_bounds(measured: list[tuple[int, int]]) -> None:
    """Whatever an endpoint reports, an estimate is neither halved nor doubled."""
    meter = TokenMeter()
    for estimated, actual in measured:
        meter.learn("m", estimated, actual)

    assert LOWEST <= meter.factor("m") <= HIGHEST


def test_a_small_request_teaches_nothing() -> None:
    """The frame of a request weighs more than three words: they say nothing of the text's tokens."""
    meter = TokenMeter()
    meter.learn("m", 20, 300)

    assert meter.factor("m") == START


def test_models_seen_long_ago_are_forgotten() -> None:
    """Names come from requests: what is remembered of them is bounded."""
    meter = TokenMeter()
    for number in range(200):
        meter.learn(f"model-{number}", 1000, 1500)

    assert meter.factor("model-0") == START
    assert meter.factor("model-199") > START


def test_the_usage_of_a_request_teaches_by_its_input() -> None:
    """Output tokens say nothing of how the input was counted; cached input does."""
    meter = TokenMeter()
    counted = request_tokens(ASKED)
    meter.calibrate(ASKED, Usage(input_tokens=0, output_tokens=10**6, cache_read_input_tokens=counted))

    assert LOWEST < meter.factor("m") < START


@pytest.mark.parametrize("estimate", [50_000, 89_999, 110_001, 400_000])
async def test_the_endpoint_is_not_asked_where_the_estimate_decides(estimate: int) -> None:
    """Far from the threshold, a tenth more or less changes nothing."""
    model = ScriptedModel(counts=[1])

    assert await TokenMeter().count(model, ASKED, estimate, 100_000) == estimate
    assert model.counted == 0


async def test_near_the_threshold_the_endpoint_counts() -> None:
    """Within a tenth of it the endpoint's own count decides, and teaches."""
    meter, model = TokenMeter(), ScriptedModel(counts=[1800])

    assert await meter.count(model, ASKED, 95_000, 100_000) == 1800
    assert meter.factor("m") > START


async def test_a_count_that_is_refused_for_its_thinking_is_asked_without() -> None:
    """The answer will be asked for in another form as well; the endpoint is still one that counts."""
    why = "Invalid `signature` in `thinking` block"
    refused = ModelError(why, code="upstream_error", retryable=False, refused=True)
    meter, model = TokenMeter(), ScriptedModel(counts=[refused, 1800])

    assert await meter.count(model, replace(ASKED, thinking_budget=2000), 95_000, 100_000) == 1800
    assert model.counted == 2


@pytest.mark.parametrize("answer", [None, ModelError("no", code="upstream_error", retryable=True)])
async def test_an_endpoint_that_cannot_count_is_not_asked_again(answer: Exception | None) -> None:
    """The estimate stands, and the next calls do not wait for the same answer."""
    meter, model = TokenMeter(), ScriptedModel(counts=[answer])  # it has one answer only

    assert await meter.count(model, ASKED, 95_000, 100_000) == 95_000
    assert await meter.count(model, ASKED, 96_000, 100_000) == 96_000
    assert model.counted == 1


@pytest.mark.parametrize(
    ("block", "least", "most"),
    [
        (text_block(""), 0, 0),
        (thought(words(300)), 290, 310),
        (call("search", "c", query="订单号 4711"), 15, 60),
        (result("c", words(500)), 490, 540),
        ({"type": "tool_result", "tool_use_id": "c", "content": [text_block(words(500))]}, 490, 540),
        ({"type": "image", "source": {"type": "base64", "data": "A" * 10**6}}, 1000, 2000),
        ({"type": "document", "source": {"type": "text", "data": words(700)}}, 690, 710),
        ({"type": "document", "source": {"type": "base64", "data": "A" * 1000}}, 1500, 3000),
        ({"type": "redacted_thinking", "data": "A" * 5000}, 500, 2000),
        ({"type": "from_the_future", "payload": {"text": words(400)}}, 390, 450),
        ({"type": "text", "text": 7}, 1, 30),
    ],
)
def test_every_kind_of_block_has_a_sensible_size(block: Block, least: int, most: int) -> None:
    """Also pictures, documents, sealed thinking, and what this version does not know."""
    assert least <= block_tokens(block) <= most


def test_json_costs_more_than_prose_of_its_length() -> None:
    """Arguments and code are dense: the same characters are more tokens."""
    arguments = {"path": ["/a/b", "/c/d"], "n": [1, 2, 3], "on": True}
    prose = "a quiet afternoon by the river wi" * 2

    assert block_tokens(call("t", "c", **arguments)) > estimate_tokens(prose)


def test_tools_and_system_prompt_are_the_overhead() -> None:
    """A request is its messages and its overhead, no more."""
    system, tools = [text_block(words(200))], [ToolSpec("clock", "Tells the time.", {"type": "object"})]
    request = ModelRequest(model="m", max_tokens=9, system=system, messages=[user("hi")], tools=tools)

    assert overhead_of(system, tools) > 200
    assert request_tokens(request) == message_tokens(user("hi")) + overhead_of(system, tools)


def test_results_of_calls_count_as_messages() -> None:
    """What a tool answered is part of the history."""
    history = History(stored(user("go"), says(call("t", "c")), results(result("c", words(1000)))))

    assert TokenMeter().size("m", history) > 1000


@pytest.mark.parametrize("shown", ["text", "image", "document"])
@pytest.mark.parametrize("size", [0, 300_000, 30_000_000])
def test_a_file_that_is_attached_counts_as_what_the_model_gets_of_it(shown: Any, size: int) -> None:
    """Its record is estimated as about what its view takes, a document by its size, within bounds."""
    file = Attached(
        ref="ART-0000000001", name="a", mime="image/png", size=size, shown=shown, text="字 and word " * 50
    )
    message = Message("user", [attached_block(file)])

    recorded = tokens_of([message])
    viewed = tokens_of(view(History(stored(message))))

    assert abs(recorded - viewed) < 60
    assert (1 if shown == "text" else 1500) < recorded < 251_000


@pytest.mark.parametrize(("shown", "tokens"), [("image", 410), ("document", 7_500)])
def test_what_is_known_of_a_file_counts_more_than_its_size(shown: Any, tokens: int) -> None:
    """Three pages are three pages, however many bytes their scans have."""
    file = Attached(
        ref="ART-0000000001",
        name="a",
        mime="application/pdf",
        size=12_000_000,
        shown=shown,
        text="",
        tokens=tokens,
    )
    message = Message("user", [attached_block(file)])

    for counted in (tokens_of([message]), tokens_of(view(History(stored(message))))):
        assert tokens < counted < tokens + 100
