"""Bytes of a content: whole characters of a text, and something to look at of all else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import ArtifactStore
from tests.artifacts.reading.asking import kept, next_of

pytestmark = pytest.mark.anyio
SOME = settings(max_examples=60)


@SOME
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1), st.data())
async def test_ranges_side_by_side_join_to_the_text(
    artifact_store: ArtifactStore, whole: str, data: st.DataObject
) -> None:
    """No character is broken, missing or repeated; the range that is told is the one that is shown."""
    size = len(whole.encode())
    text = await kept(artifact_store, whole)
    cut = data.draw(st.integers(0, size - 1))

    parts = [await text.read(bytes=f"0-{cut}")]
    if parts[0].next is not None:
        parts.append(await text.read(bytes=f"{cut + 1}-"))

    if parts[-1].first == parts[0].last + 1 or len(parts) == 1:
        assert "".join(part.text for part in parts) == whole
    for part in parts:
        assert part.text == whole.encode()[part.first : part.last + 1].decode()
        assert part.total == size


async def test_chinese_text_is_never_broken(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, "一二三四")

    part = await text.read(bytes="1-4")
    assert (part.text, part.shown) == ("二", "Bytes 3-5 of 12.")
    assert (part.remark, part.next) == ("The range was moved to whole characters.", "bytes=6-9")
    assert (await text.read(bytes="4-5")).text == "二"
    assert (await text.read(bytes="11")).text == "四"
    assert (await text.read(bytes="0-2")).remark is None
    assert (await text.refused(bytes="12-20")).endswith("has 12 bytes, counted from 0: write bytes=0-11.")


async def test_bytes_that_are_no_utf_8_are_marked(artifact_store: ArtifactStore) -> None:
    """And counted rightly, so that what follows is not missed."""
    data = await kept(artifact_store, ("订单 order " * 5000).encode() + b"\xff\xfe" + b" end" * 100)

    part = await data.read(bytes="64990-")
    assert "\ufffd\ufffd end" in part.text
    assert part.remark == "Bytes that are no UTF-8 are shown as \ufffd."
    assert part.last == data.row.size - 1
    first = await data.read(bytes="0-")
    assert (await data.read(**next_of(first))).first == len(first.text.encode())


async def test_binary_content_is_dumped(artifact_store: ArtifactStore) -> None:
    data = await kept(artifact_store, bytes(range(256)) * 100)

    part = await data.read(bytes="20-40")
    assert part.text == (
        '00000014: 1415 1617 1819 1a1b 1c1d 1e1f 2021 2223  ............ !"#\n'
        "00000024: 2425 2627 28                             $%&'("
    )
    assert part.remark == "It is no text here: shown as xxd prints it."
    whole = await data.read(500, bytes="0-")
    assert whole.next == f"bytes={whole.last + 1}-25599"
    assert (whole.last + 1) % 16 == 0


async def test_an_empty_content_is_empty(artifact_store: ArtifactStore) -> None:
    assert (await (await kept(artifact_store, "")).read(bytes="0-10")).shown == "There is nothing in it."
