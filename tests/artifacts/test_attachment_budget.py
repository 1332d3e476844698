"""Which of a conversation's images and documents one request shows."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.artifacts.attachment_budget import MAX_FILES, REQUEST_ENCODED, encoded, left_out
from gateway.messages import ARTIFACT, DOCUMENT_PAGES, PAGE_TOKENS
from tests.product import Block, Message, text_block

MB = 1_000_000


def file(size: int = 100, pages: int = 0) -> Block:
    kind, tokens = ("document", pages * PAGE_TOKENS) if pages else ("image", 400)
    return {
        "type": kind,
        "source": {
            "type": ARTIFACT,
            "ref": "ART-0",
            "media_type": "x/y",
            "size": size,
            "tokens": tokens,
        },
    }


def said(*files: Block) -> Message:
    return Message("user", [*files, text_block("看一下")])


def gone(messages: list[Message]) -> list[int]:
    """How many are left out with each message that comes."""
    return [left_out(messages[: number + 1]) for number in range(len(messages))]


def test_one_picture_a_message_makes_room_for_eleven() -> None:
    """What the model was shown before changes once in eleven messages."""
    assert gone([said(file())] * 42) == [0] * 20 + [11] * 11 + [22] * 11


def test_bytes_and_pages_make_room_by_half() -> None:
    """A scan of three megabytes has four of the twenty-four in base64; a book has its pages."""
    assert gone([said(file(3 * MB))] * 14) == [0] * 6 + [4] * 4 + [8] * 4
    assert gone([said(file(pages=20))] * 12) == [0] * 5 + [4] * 4 + [8] * 3


def test_the_files_of_one_message_are_all_shown() -> None:
    """It makes room for itself, and loses none as long as it alone has room; else its last ones are shown."""
    ten, twenty = said(*[file()] * 10), said(*[file()] * MAX_FILES)

    assert gone([ten, twenty, said(file())]) == [0, 10, 21]
    assert left_out([ten, said(*[file(pages=60), file(pages=60)])]) == 11


SIZES = st.builds(file, st.integers(0, 18 * MB), st.sampled_from([0, 0, 1, 30, DOCUMENT_PAGES]))


@given(st.lists(st.lists(SIZES, max_size=MAX_FILES).map(lambda files: said(*files)), max_size=30))
def test_what_is_shown_has_room_and_what_is_left_out_stays_so(messages: list[Message]) -> None:
    """Whatever comes; and the newest file is always shown."""
    files: list[Block] = []
    before = 0
    for message, left in zip(messages, gone(messages), strict=True):
        files += message.content[:-1]
        shown = files[left:]
        assert left >= before
        assert not files or shown
        assert len(shown) <= MAX_FILES
        assert sum(encoded(each["source"]["size"]) for each in shown) <= REQUEST_ENCODED
        pages = [each["source"]["tokens"] for each in shown if each["type"] == "document"]
        assert sum(pages) <= DOCUMENT_PAGES * PAGE_TOKENS
        before = left
