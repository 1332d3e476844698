"""Frames come out of bytes however the network has cut them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.client.frames import Frame, read_frames

STREAM = (
    'retry: 2000\nid: 7\nevent: stream_open\ndata: {"cursor":7}\n\n'
    ': heartbeat\n\nid: 8\nevent: text\ndata: {"text":"你好\u2028\x85"}\n\n'
    'event: stream_error\ndata: {"code":"x"}\n\nid: 9\nevent: done\ndata: {}\n\nid: 10\nevent: text\nda'
).encode()

FRAMES = [
    Frame("stream_open", None, b'{"cursor":7}'),
    Frame("text", 8, '{"text":"你好\u2028\x85"}'.encode()),
    Frame("stream_error", None, b'{"code":"x"}'),
    Frame("done", 9, b"{}"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cut_gives_the_same_frames(cuts: list[int]) -> None:
    """Wherever the bytes are cut, the frames are the same; comments and an unfinished end are left out."""
    places = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[start:end] for start, end in pairwise(places)]

    assert list(read_frames(chunks)) == FRAMES
