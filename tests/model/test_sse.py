"""The event stream parser against the standard's rules and against a slow reader of them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.sse import ErrorData, SseParser
from tests.product import ModelError

ORDINARY = b'event: content_block_delta\ndata: {"a":1}\n\n'


def read(*parts: bytes, max_event: int = 1 << 20) -> list[bytes]:
    parser = SseParser(max_event)
    return [event for part in parts for event in parser.feed(part)]


def read_slowly(stream: bytes) -> list[bytes]:
    """The standard's algorithm, line by line and event by event."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    *lines, _unfinished = text.split(b"\n")
    events: list[bytes] = []
    data = b""
    for line in lines:
        field, _, value = line.partition(b":")
        if not line:
            if data:
                events.append(data[:-1])
            data = b""
        elif field == b"data":
            data += value.removeprefix(b" ") + b"\n"
    return events


PIECES = [
    ORDINARY,
    b"data: x\n\n",
    b"data:x\n",
    b"data\n",
    b"data:  two blanks\n",
    b"dataset: no\n",
    b": comment\n",
    b"event: y\n",
    b"id: 1\nretry: 5\n",
    b"\n",
    b"\r",
    b"\r\n",
    "data: 漢字 é\n".encode(),
    b"\xef\xbb\xbf",
    b" ",
    b"x",
]
streams = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


@given(streams)
def test_every_stream_reads_as_the_slow_reader_reads_it(stream: bytes) -> None:
    """The fast paths give what the standard's own steps give."""
    assert read(stream) == read_slowly(stream)


@given(streams, st.data())
def test_where_the_chunks_end_makes_no_difference(stream: bytes, data: st.DataObject) -> None:
    """Any split of the bytes gives the same events as the whole."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    parts = [stream[a:b] for a, b in pairwise(edges)]
    assert read(*parts) == read(stream)
    assert read(*(bytes([byte]) for byte in stream)) == read(stream)


@pytest.mark.parametrize(
    "name", [b"event: error\n", b"event:error\n", b"event: error \n", b"id: 1\nevent: error\n"]
)
def test_the_data_of_an_error_are_marked(name: bytes) -> None:
    """Among others in one read, and alone; the data themselves need not say it."""
    for stream in (name + b"data: x\n\n", ORDINARY * 3 + name + b"data: x\n\n" + ORDINARY):
        marked = [event for event in read(stream) if isinstance(event, ErrorData)]
        assert marked == [b"x"]
        assert [
            event for event in read(*(bytes([each]) for each in stream)) if isinstance(event, ErrorData)
        ] == marked
    assert not any(isinstance(event, ErrorData) for event in read(b"event: errors\ndata: x\n\n", ORDINARY))


def test_what_the_end_cut_off_can_be_asked_for() -> None:
    """Once, for a server that leaves out the last empty line."""
    parser = SseParser()
    assert parser.feed(ORDINARY + b'data: {"b":2}\n') == [b'{"a":1}']
    assert parser.rest() == [b'{"b":2}']
    assert parser.rest() == []


def test_an_event_that_the_end_cuts_off_is_not_reported() -> None:
    """Only a blank line completes an event."""
    assert read(ORDINARY, b'data: {"b":2}\n') == [b'{"a":1}']


@pytest.mark.parametrize("split", [1, 7, 100])
def test_an_endless_event_is_refused_however_it_arrives(split: int) -> None:
    """An event over the bound is a failure of the endpoint, complete or not, at once or in parts."""
    for stream in (b"data: " + b"x" * 200 + b"\n\n", b"data: " + b"x" * 200, b": comment\n" * 50):
        with pytest.raises(ModelError) as refused:
            read(*(stream[at : at + split] for at in range(0, len(stream), split)), max_event=100)
        assert refused.value.code == "upstream_error"


def test_many_events_in_one_read_may_exceed_the_bound_together() -> None:
    """The bound holds for one event, not for what arrives together."""
    assert len(read(ORDINARY * 100, max_event=len(ORDINARY))) == 100
