"""A text of which a few bytes are no UTF-8 is read as any other: marks stand in their places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading.chunks import readable, text_of
from tests.artifacts.reading.asking import kept

pytestmark = pytest.mark.anyio
LOG = ("10:00 一行好的记录 order 4711\n" * 3000).encode()
DAMAGED = (
    LOG + b"10:01 broken \xff\xfe here \x80\x80\x80\x80\x80\n" + LOG + b"10:02 a NUL \0 here\n" + LOG[:-2]
)


async def test_its_lines_are_read_with_marks(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, DAMAGED)

    assert (await text.read(lines="3001")).text == "10:01 broken �� here �����"
    assert (await text.read(lines="6002")).text == "10:02 a NUL � here"
    assert (await text.read(lines="6003")).text == "10:00 一行好的记录 order 4711"


async def test_a_search_finds_what_stands_behind_the_damage(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, DAMAGED)

    found = await text.read(search="NUL")
    assert "6002:10:02 a NUL" in found.text
    assert (found.first, found.total) == (1, 1)
    assert "3001:10:01 broken" in (await text.read(search="broken")).text


@settings(max_examples=40)
@given(st.integers(0, 300), st.integers(0, 40))
async def test_ranges_of_bytes_begin_where_they_say(
    artifact_store: ArtifactStore, at: int, size: int
) -> None:
    text = await kept(artifact_store, DAMAGED)
    start = len(LOG) - 100 + at

    part = await text.read(bytes=f"{start}-{start + size}")

    assert part.text == readable(text_of(DAMAGED[part.first : part.last + 1]))
