"""What is to be kept can be gone through again, and one pass tells what it is made of."""

import hashlib
import io
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.artifacts.content import (
    HEAD,
    MAX_NAME_LENGTH,
    NAME_BYTES,
    TAIL,
    ArtifactContent,
    bytes_content,
    file_content,
    measure,
    measure_as_kept,
    plain_name,
    text_content,
)
from gateway.errors import TooLarge
from gateway.storage.artifacts import CHUNK, Chunk

CHINESE = "订单号,金额\n一,二😀\n"
DATA = (random.Random(7).randbytes(CHUNK // 8) + CHINESE.encode() * 100) * 18


def in_pieces(data: bytes, size: int) -> ArtifactContent:
    return ArtifactContent(lambda: (data[start : start + size] for start in range(0, len(data), size)))


def is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


GOOD = "一行好的文字 and a good line\n".encode() * 20


@pytest.mark.parametrize(
    ("data", "damaged"),
    [
        (GOOD + b"\xff", 1),
        (GOOD + b"\0" + GOOD, 1),
        (("字" * 200).encode()[:-1], 1),
        (GOOD + "\ufffd".encode(), 0),
        (GOOD * 50 + b"\xe4\xb8" + GOOD * 50 + b"\xff\xfe", 3),
    ],
)
def test_a_text_of_which_little_is_damaged_is_one_wherever_it_is_torn(data: bytes, damaged: int) -> None:
    for size in (1, 2, 7, 70_000):
        measured = measure(in_pieces(data, size))
        assert (measured.damaged, measured.lines is not None) == (damaged, True)


@pytest.mark.parametrize(
    "data",
    [
        bytes(200),
        GOOD + b"\xff" * 20,
        "这是一段简体中文。".encode("gb18030"),
        "中".encode("gbk"),
        "這是一段繁體中文。".encode("big5") * 300,
        "Ünïcödé".encode("latin-1"),
        b"words " * 20 + bytes(range(1, 9)) * 3 + b"\xff",
        random.Random(7).randbytes(300_000) + b"x" * 3_000_000,
    ],
)
def test_what_is_damaged_all_over_is_no_text(data: bytes) -> None:
    for size in (3, 70_000):
        assert measure(in_pieces(data, size)).lines is None


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "utf-16-be", "utf-32-be"])
@pytest.mark.parametrize("size", [1, 3, 70_000])
def test_a_text_that_says_its_encoding_is_kept_in_utf_8_and_can_be_had_again(codec: str, size: int) -> None:
    text = CHINESE * 50
    data = text.encode(codec) if codec in {"utf-16", "utf-32"} else f"\ufeff{text}".encode(codec)

    content, measured = measure_as_kept(in_pieces(data, size))

    kept = b"".join(content.chunks())
    assert kept.decode("utf-8-sig") == text
    assert kept.decode().encode(codec if codec.endswith("be") else f"{codec}-le") == data
    assert (measured.size, measured.lines) == (len(kept), 100)


@pytest.mark.parametrize("data", [b"\xff\xfea", b"\xff\xfe\x00\xd8", b"\xff\xfe" + bytes(10), GOOD, b""])
def test_what_only_begins_like_such_a_text_is_kept_as_it_is(data: bytes) -> None:
    content, measured = measure_as_kept(bytes_content(data))

    assert b"".join(content.chunks()) == data
    assert measured.size == len(data)


@pytest.mark.parametrize("text", ["", "one", CHINESE * 100_000], ids=["none", "short", "long"])
def test_a_content_gives_the_same_bytes_each_time(text: str) -> None:
    """Whatever it is made of, also when two go through it at once; no piece is larger than a chunk."""
    data = text.encode()
    for content in (text_content(text), bytes_content(data), file_content(io.BytesIO(data))):
        first, second = list(content.chunks()), list(content.chunks())
        together = list(zip(content.chunks(), content.chunks(), strict=True))

        assert b"".join(first) == b"".join(second) == data
        assert b"".join(one for one, _ in together) == b"".join(other for _, other in together) == data
        assert max(map(len, first), default=0) <= CHUNK


def test_a_text_that_no_file_could_hold_is_mended() -> None:
    """NUL is left out and a lone surrogate replaced, so that it stays a text."""
    content = text_content("a\0b\ud800订")

    assert b"".join(content.chunks()).decode() == "ab�订"
    assert measure(content).lines == 1


@settings(max_examples=12)
@given(st.integers(CHUNK // 64, CHUNK), st.integers(0, len(DATA)))
@example(CHUNK, 2 * CHUNK)
def test_the_parts_do_not_depend_on_the_pieces(piece: int, size: int) -> None:
    """Each part but the last has CHUNK bytes, its own hash, and the number of its line ends."""
    data = DATA[:size]
    parts = [data[start : start + CHUNK] for start in range(0, size, CHUNK)]

    measured = measure(in_pieces(data, piece))

    assert measured.chunks == tuple(
        Chunk(hashlib.sha256(part).hexdigest(), part.count(b"\n")) for part in parts
    )
    assert (measured.size, measured.sha256) == (size, hashlib.sha256(data).hexdigest())
    assert (measured.head, measured.tail) == (data[:HEAD], data[-TAIL:])


@settings(max_examples=50)
@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace")))
@example("订单".encode()[:-1])
@example(CHINESE.encode())
@example(b"\n\n")
def test_only_a_text_has_lines(data: bytes) -> None:
    """UTF-8 without NUL, or with little damage, wherever characters are torn apart by the pieces; the last
    line needs no end."""
    lines = len(data.split(b"\n")) - (not data or data.endswith(b"\n"))
    whole = measure(bytes_content(data))
    assert whole.lines == lines if is_text(data) else whole.lines in {None, lines}
    assert is_text(data) == (whole.damaged == 0)
    for size in (1, 2, 3, 100):
        measured = measure(in_pieces(data, size))
        assert (measured.lines, measured.damaged) == (whole.lines, whole.damaged)


def test_a_content_that_is_too_large_is_not_read_to_its_end() -> None:
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b"x" * 100

    with pytest.raises(TooLarge) as refused:
        measure(ArtifactContent(endless), 1000)

    assert (refused.value.code, refused.value.details) == ("payload_too_large", {"artifact_max_size": 1000})
    assert len(taken) == 11
    assert measure(in_pieces(b"x" * 1000, 100), 1000).size == 1000


@pytest.mark.parametrize(
    "unit", [b"plain text\n", CHINESE.encode(), b"\x89\xff"], ids=["text", "中文", "bytes"]
)
def test_measuring_a_file_takes_less_than_two_chunks_of_memory(tmp_path: Path, unit: bytes) -> None:
    path = tmp_path / "large"
    path.write_bytes(unit * (8 * CHUNK // len(unit)))
    with path.open("rb") as file:
        measure(file_content(file))  # what is imported at first is not counted
        tracemalloc.start()
        try:
            measured = measure(file_content(file))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert measured.size == path.stat().st_size
    assert peak < 2 * CHUNK


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (None, None),
        ("", None),
        ("..", None),
        ("a/", None),
        ("orders.json", "orders.json"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ann\\订单 1.csv", "订单 1.csv"),
        ("a\r\nSet-Cookie: x.txt", "aSet-Cookie: x.txt"),
        ("invoice\u202egnp.exe", "invoicegnp.exe"),
        ("x" * 300 + ".json", "x" * 95 + ".json"),
        ("x." + "y" * 300, "x." + "y" * 98),
        ("\ud800.txt", "�.txt"),
        ("报" * 96 + ".txt", "报" * 65 + ".txt"),
        ("😀" * 90, "😀" * 50),
        ("." * 150 + "x" * 20, None),
        ("👨\u200d👩\u200d👧 家庭.txt", "👨\u200d👩\u200d👧 家庭.txt"),
        ("a\u200b\u2066b\ufeff.txt", "ab.txt"),
    ],
)
def test_a_name_is_the_last_part_of_a_path(given: str | None, plain: str | None) -> None:
    assert plain_name(given) == plain


@given(st.text(st.characters(), max_size=500))
def test_a_name_can_be_shown_and_names_one_file(text: str) -> None:
    """Nothing in it is invisible or leads elsewhere, and taking it again changes nothing."""
    name = plain_name(text)

    if name is not None:
        assert name.isprintable()
        assert 0 < len(name) <= MAX_NAME_LENGTH
        assert len(name.encode()) <= NAME_BYTES
        assert not {"/", "\\"} & set(name)
        assert name.strip(".")
        assert plain_name(name) == name
