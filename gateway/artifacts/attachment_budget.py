"""Which of a conversation's images and documents one request shows: the newest ones, as far as there is
room."""

from collections import deque
from collections.abc import Sequence

from gateway.messages import ARTIFACT, DOCUMENT_PAGES, PAGE_TOKENS, Block, Message

MAX_FILES = 20
"""Of one request, and so of one message: with more than 20 images the API refuses those of over 2000 pixels a
side (docs.claude.com "Vision", "General limits")."""
REQUEST_ENCODED = 25_165_824
"""Bytes in base64 of all files of one request, which may have 32 MB (ibid.): the rest is for everything
else."""

_LIMITS = (MAX_FILES, REQUEST_ENCODED, DOCUMENT_PAGES)
_STEP = 2  # after older files are left out, the budget is so many times the files that stay


def left_out(messages: Sequence[Message]) -> int:
    """How many of the images and documents, the oldest ones, are not shown any more.

    Where those of a message go beyond the room, older ones make way until half of it is free: so what came
    before the newest message changes once in many messages, and not with each. The result depends on nothing
    but `messages`, and only grows when messages are added at the end."""
    shown = deque[tuple[int, int, int]]()
    gone = 0
    for message in messages:
        new = [_takes(block) for block in message.content if has_artifact_source(block)]
        shown += new
        if not new or _fit(shown, 1):
            continue
        while len(shown) > len(new) and not _fit(shown, _STEP):
            shown.popleft()
            gone += 1
        while not _fit(shown, 1):
            shown.popleft()
            gone += 1
    return gone


def has_artifact_source(block: Block) -> bool:
    """Whether it is an image or a document whose content is an artifact."""
    match block:
        case {"type": "image" | "document", "source": {"type": kind}}:
            return kind == ARTIFACT
        case _:
            return False


def encoded(size: int) -> int:
    """Bytes of base64 (RFC 4648) for so many bytes."""
    return -(-size // 3) * 4


def _takes(block: Block) -> tuple[int, int, int]:
    """Files, bytes in base64 and pages. Of a document whose pages were not seen its estimate stands for
    them."""
    source = block["source"]
    pages = -(-source["tokens"] // PAGE_TOKENS) if block["type"] == "document" else 0
    return 1, encoded(source["size"]), pages


def _fit(shown: Sequence[tuple[int, int, int]], times: int) -> bool:
    """Whether there is room for so many times what is shown. At most a message more than fits is ever so."""
    return all(
        times * sum(taken) <= most for taken, most in zip(zip(*shown, strict=True), _LIMITS, strict=False)
    )
