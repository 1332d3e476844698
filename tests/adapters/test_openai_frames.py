"""What is written of a turn is a chat completion by the types of the package `openai`."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from gateway.adapters.answer_remarks import STARTS_OVER, comparable, respaced, without_remarks
from gateway.adapters.openai.openai_frames import CompletionChunks, WholeCompletion, usage_of
from gateway.adapters.turn_fold import Fold
from tests.adapters.test_turn_fold import stored, turns
from tests.product import StoredEvent

ABOUT = ("t_1", "m%s", 1, "http://localhost/#s=s_1")


def frames_of(body: bytes) -> list[bytes]:
    *frames, rest = body.split(b"\n\n")
    assert rest == b""
    assert all(frame.startswith(b"data: ") for frame in frames)
    return [frame.removeprefix(b"data: ") for frame in frames]


@given(turns())
def test_every_chunk_is_one_of_the_packages(events: Sequence[StoredEvent]) -> None:
    """From the role to the usage; a turn that failed has no good end. The text is that of a whole answer."""
    encoder, fold = CompletionChunks(*ABOUT, with_usage=True), Fold()
    *frames, last = frames_of(b"".join(encoder.encode(fold.take([event])) for event in events))
    whole = WholeCompletion(*ABOUT)
    whole.encode(Fold().take(events))

    if whole.failure is not None:
        assert orjson.loads(last)["error"]["code"] == whole.failure[0]
        chunks = [ChatCompletionChunk.model_validate(orjson.loads(frame)) for frame in frames]
        assert not any(choice.finish_reason for chunk in chunks for choice in chunk.choices)
        return
    assert last == b"[DONE]"
    first, *between, end, usage = [ChatCompletionChunk.model_validate(orjson.loads(each)) for each in frames]
    assert (first.choices[0].delta.role, end.choices[0].finish_reason) == ("assistant", "stop")
    assert (usage.choices, usage.usage is not None) == ([], True)
    assert {chunk.id for chunk in (first, *between, end, usage)} == {"chatcmpl-t_1"}
    completion = ChatCompletion.model_validate(orjson.loads(whole.body()))
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in between)
    if STARTS_OVER not in streamed:
        assert streamed.split() == (completion.choices[0].message.content or "").split()


def test_what_was_found_in_the_web_is_cited_and_thinking_is_beside_the_text() -> None:
    """Memories, and what has no address, are not cited. Both ways the same."""
    hits = [
        {"id": "1", "source": "https://example.com/a", "snippet": "so", "title": "A", "score": 1},
        {"id": "2", "source": "docs/b.md", "snippet": "and so", "score": 1},
    ]
    found = {"query": "q", "source": "web", "results": hits, "tokens": 1}
    events = stored(
        [
            ("turn_start", {"input": "hi", "model": "m"}, None, None),
            ("retrieval", {**found, "mode": "details"}, None, None),
            ("iteration_start", {"attempt": 1, "model": "m"}, 1, None),
            ("retrieval", found, None, None),
            ("thinking", {"text": "hm"}, 1, None),
            ("text", {"text": "yes"}, 1, None),
            ("done", {"status": "completed", "stop_reason": "end_turn"}, None, None),
        ]
    )
    whole = WholeCompletion(*ABOUT)
    whole.encode(Fold().take(events))
    *frames, _ = frames_of(CompletionChunks(*ABOUT, with_usage=False).encode(Fold().take(events)))

    message = ChatCompletion.model_validate(orjson.loads(whole.body())).choices[0].message
    assert message.annotations is not None
    (cited,) = message.annotations
    assert (cited.url_citation.url, cited.url_citation.title) == ("https://example.com/a", "A")
    deltas = [orjson.loads(frame)["choices"][0]["delta"] for frame in frames]
    assert [each for delta in deltas for each in delta.get("annotations", ())] == [cited.model_dump()]
    assert [each["reasoning_content"] for each in deltas if "reasoning_content" in each] == ["hm"]
    assert (message.content, orjson.loads(whole.body())["choices"][0]["message"]["reasoning_content"]) == (
        "yes",
        "hm",
    )


def test_tokens_of_the_cache_are_tokens_of_the_prompt() -> None:
    """In this dialect; the sum is that of all that passed."""
    spent: dict[str, Any] = {
        "input_tokens": 5,
        "output_tokens": 7,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 20,
    }

    assert usage_of([spent, {"input_tokens": 1, "output_tokens": 2}]) == {
        "prompt_tokens": 126,
        "completion_tokens": 9,
        "total_tokens": 135,
        "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 20},
    }


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("a<think>b</think>c", "ac"),
        ("<think>one</think><think>two</think>a", "a"),
        ('<details type="reasoning" done="true"><summary>…</summary>b</details>\na', "\na"),
        ("a [Waiting for approval of send: http://x/#s=s_1]", "a "),
        (f"a {STARTS_OVER} b", "a  b"),
        ("a <think> b", "a <think> b"),
        ("a </think> b", "a </think> b"),
        ("<details>a</details>", "<details>a</details>"),
    ],
)
def test_an_answer_is_compared_without_thinking_and_remarks(answer: str, left: str) -> None:
    """What never ends was not said by a frontend, and is kept."""
    assert without_remarks(answer) == left
    assert comparable(answer) == "".join(left.split())


@pytest.mark.parametrize("between", ["", " "])
@pytest.mark.parametrize("shift", range(-3, 4))
def test_long_texts_are_compared_by_their_words_a_part_at_a_time(shift: int, between: str) -> None:
    """With the same result, wherever a part ends: in a word, before, in or behind white space."""
    size = 65_536
    for begin in ("x" * (size + shift), " " * (size + shift), "x" * (size + shift - 2) + "  "):
        for rest in ("y z", " y\n", "  " * size + "z", ""):
            text = begin + rest
            assert respaced(text, between) == between.join(text.split())


def test_beginnings_of_remarks_without_an_end_are_passed_over() -> None:
    """However many: each kind is looked for once."""
    text = "<think>[Waiting for approval of " * 100_000

    assert without_remarks(text) == text
