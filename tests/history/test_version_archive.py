"""The archive of a version: the very messages it covers, and damage that is told by name."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.history.archive import read_version, write_version
from gateway.storage.archives import CompressionRow
from gateway.storage.archives.lines import message_line, message_of
from gateway.storage.blobs.addresses import open_blobs
from tests.product import ArchiveDamaged, Blobs, Message, StoredMessage, Usage, text_block
from tests.storage.saying import version

pytestmark = pytest.mark.anyio

PATH = "sessions/s/archive/3.jsonl.gz"


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return open_blobs(None, tmp_path)


def archived_at(path: str, size: int, sha256: str) -> CompressionRow:
    """A version whose archive that is."""
    return replace(version(3, 1, 9), archive_path=path, archive_size=size, sha256=sha256)


def said(*texts: str) -> list[StoredMessage]:
    usage = Usage(input_tokens=1, output_tokens=1)
    return [
        StoredMessage(place, "t", Message("assistant", [text_block(each)]), usage if place % 2 else None)
        for place, each in enumerate(texts, 4)
    ]


async def lines_of(blobs: Blobs, row: CompressionRow) -> list[bytes]:
    return [line async for line in read_version(blobs, row)]


@settings(max_examples=40)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), max_size=9))
async def test_a_version_comes_back_as_it_was_written(blobs: Blobs, texts: Sequence[str]) -> None:
    """Line by line, message by message, as a file, and with the size that was told."""
    messages = said(*texts)
    size, sha256 = await write_version(blobs, PATH, messages)
    row = archived_at(PATH, size, sha256)
    found = await lines_of(blobs, row)
    file = await blobs.read(PATH)

    assert found == [message_line(each) for each in messages]
    assert [message_of(line) for line in found] == messages
    assert len(file) == size
    assert (gzip.decompress(file) if file else b"") == b"".join(line + b"\n" for line in found)


async def test_a_line_says_where_a_message_stood_and_what_it_said(blobs: Blobs) -> None:
    """The form that auditors read with jq."""
    size, sha256 = await write_version(blobs, PATH, said("好"))
    [line] = await lines_of(blobs, archived_at(PATH, size, sha256))

    assert (
        line
        == (
            '{"position":4,"turn_id":"t","role":"assistant","content":[{"type":"text","text":"好"}],"usage":null}'
        ).encode()
    )
    assert orjson.loads(line)["position"] == 4


async def test_a_large_version_is_read_in_lines_however_the_pieces_fall(blobs: Blobs) -> None:
    """Lines longer than a member, and members with many lines."""
    messages = said("x" * 700_000, *["y" * 90] * 9000, "z" * 300_000)
    row = archived_at(PATH, *await write_version(blobs, PATH, messages))

    assert await lines_of(blobs, row) == [message_line(each) for each in messages]


@pytest.mark.parametrize("damage", ["missing", "changed", "cut off", "emptied", "replaced"])
async def test_a_damaged_version_is_named(blobs: Blobs, tmp_path: Path, damage: str) -> None:
    """Whether a checksum of the file tells or only the digest that was recorded."""
    row = archived_at(PATH, *await write_version(blobs, PATH, said("one", "two")))
    file = tmp_path / "blobs" / PATH
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "changed":
        file.write_bytes(whole[:30] + bytes([whole[30] ^ 4]) + whole[31:])
    elif damage == "cut off":
        file.write_bytes(whole[:-4])
    elif damage == "emptied":
        file.write_bytes(b"")
    else:
        await write_version(blobs, PATH, said("one", "2"))

    with pytest.raises(ArchiveDamaged, match=PATH) as raised:
        await lines_of(blobs, row)
    assert raised.value.details == {"path": PATH}


async def test_another_digest_is_damage(blobs: Blobs) -> None:
    """A sound file is not enough: it has to be the one that was recorded."""
    row = replace(archived_at(PATH, *await write_version(blobs, PATH, said("one"))), sha256="0" * 64)

    with pytest.raises(ArchiveDamaged, match="sha256"):
        await lines_of(blobs, row)
