"""The usual event of an answer, text for the open block, read without taking it apart.

Strict by being narrow: what is not written as the Messages API writes it is left to the general way
(`message_stream.py`), which takes all that JSON allows, and reports the faults of the rest.
"""

import orjson


def delta_head(index: int, kind: str) -> bytes:
    """How an event with text of that block begins, up to its text; `kind` is "text" or "thinking"."""
    written = kind.encode()
    return b'{"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":' % (
        index,
        written,
        written,
    )


def text_in(event: bytes, head: bytes | None) -> str | None:
    """The text of an event that begins with `head` and has nothing but its text after it; else None."""
    if head is None or not event.startswith(head):
        return None
    written = event.rstrip(b" }")  # the API pads its events with spaces
    if event[len(written) :].replace(b" ", b"") != b"}}":
        return None
    try:
        text = orjson.loads(written[len(head) :])
    except orjson.JSONDecodeError:
        return None
    return text if type(text) is str else None
