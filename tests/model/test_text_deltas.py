"""The usual event of an answer, read without taking it apart: nothing but quicker than the general way."""

from typing import Any
from unittest.mock import patch

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.message_stream import MessageStream
from gateway.model.text_deltas import delta_head, text_in

START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}}
END = [
    b'{"type":"content_block_stop","index":0}',
    b'{"type":"message_delta","delta":{}}',
    b'{"type":"message_stop"}',
]


def opened(kind: str) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, kind: ""}}


def delta(text: str, kind: str = "text", index: int = 0) -> bytes:
    change = {"type": f"{kind}_delta", kind: text}
    return orjson.dumps({"type": "content_block_delta", "index": index, "delta": change})


@pytest.mark.parametrize("kind", ["text", "thinking"])
@pytest.mark.parametrize("text", ["Hello", ' "you"\n\\', "漢字", "}}", "} }", '"}}', ""])
@pytest.mark.parametrize("end", [b"}}", b"}  }", b" } } "])
def test_what_the_api_writes_is_recognised(text: str, kind: str, end: bytes) -> None:
    """With escapes, in any script, padded or not; and only for the block that it belongs to."""
    event = delta(text, kind, 3).removesuffix(b"}}") + end
    assert text_in(event, delta_head(3, kind)) == text
    assert text_in(event, delta_head(4, kind)) is None
    assert text_in(event, None) is None


ODD = [
    (b'"x"', b'"\\ud83d"'),
    (b'"x"', b'"\\ude00"'),
    (b'"x"', b' \n"x"\t'),
    (b'"x"', b'"x\\"'),
    (b'"x"', b'"x'),
    (b'"x"', b"7"),
    (b'"x"', b"null"),
    (b'"x"', b'["x"]'),
    (b'"x"', b'{"x":"y"}'),
    (b'"x"', b'"x","y":"z"'),
    (b'"x"', b'"x"},"y":{"z":"x"'),
    (b"}}", b"}"),
    (b"}}", b"}}}"),
    (b"}}", b"}\n}"),
    (b"}}", b"}} x"),
    (b"x", b"\xff"),
    (b"x", b"\n"),
    (b":", b": "),
]
events = st.sampled_from(
    [
        *(delta("x").replace(usual, odd) for usual, odd in ODD),
        *(delta(text, kind) for text in ("a", "漢", "\x00", "") for kind in ("text", "thinking")),
        delta("other", index=1),
        b'{"type":"ping"}',
        b"",
    ]
)


@given(st.lists(st.lists(events, max_size=4), max_size=5), st.sampled_from(["text", "thinking"]))
def test_it_reads_what_the_general_way_reads(reads: list[list[bytes]], kind: str) -> None:
    """The same chunks, progress and failures, whatever comes."""
    quick, general = MessageStream(), MessageStream()
    for read in ([orjson.dumps(START), orjson.dumps(opened(kind))], *reads, END):
        chunks = quick.feed(read)
        with patch("gateway.model.message_stream.text_in", return_value=None):
            assert general.feed(read) == chunks
        assert quick.progress == general.progress
        assert repr(quick.failure) == repr(general.failure)
        if quick.failure is not None:
            return
