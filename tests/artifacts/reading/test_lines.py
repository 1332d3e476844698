"""Lines of a text: all of them are reached, none twice, whatever they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.storage.artifacts import CHUNK
from tests.artifacts.reading.asking import kept, next_of

pytestmark = pytest.mark.anyio
SOME = settings(max_examples=40)


async def test_a_range_is_told_with_the_total_and_how_to_go_on(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, "".join(f"第{number}行\r\n" for number in range(1, 101)))

    part = await text.read(lines="2-3")

    assert part.text == "第2行\n第3行"
    assert (part.shown, part.next, part.remark) == ("Lines 2-3 of 100.", "lines=4-5", None)
    assert (await text.read(lines="7")).text == "第7行"
    assert (await text.read(lines="99-5000")).shown == "Lines 99-100 of 100."
    assert (await text.read(lines="99-5000")).next is None


async def test_a_line_that_is_not_there_is_refused_with_how_many_there_are(
    artifact_store: ArtifactStore,
) -> None:
    text = await kept(artifact_store, "a\nb\n")

    assert "has 2 lines, there is no line 3: write lines=1-2" in await text.refused(lines="3-9")


async def test_lines_across_many_chunks_are_found(artifact_store: ArtifactStore) -> None:
    """Where a chunk ends within a line, within a character, or at a line end."""
    lines = [f"{number}:" + "中" * (number % 1000) for number in range(2000)]
    text = await kept(artifact_store, "\n".join(lines))
    assert len(text.row.chunks) == 3

    starts = [sum(len(line.encode()) + 1 for line in lines[:number]) for number in range(2000)]
    at_ends = [next(n for n in range(2000) if starts[n] > CHUNK * chunk) for chunk in (1, 2)]
    for number in (0, 1, 1998, 1999, *at_ends, *(n - 1 for n in at_ends)):
        part = await text.read(lines=f"{number + 1}-{number + 2}")
        assert part.text.split("\n") == lines[number : number + 2]


async def test_a_line_of_two_megabytes_goes_on_by_bytes(artifact_store: ArtifactStore) -> None:
    """Up to its end, and no further."""
    line = "长x" * 520_000
    text = await kept(artifact_store, f"first\n{line}\nlast")

    part = await text.read(lines="1-3")
    assert (part.text, part.next) == ("first", "lines=2-3")

    part = await text.read(**next_of(part))
    there = len(part.text.encode())
    assert part.remark == f"Line 2 has 2,080,001 bytes; these are the first {there:,} of them."
    assert part.next == f"bytes={6 + there}-{6 + 2_080_000}"
    more = await text.read(**next_of(part))
    assert line.startswith(part.text + more.text)


async def test_how_to_go_on_with_one_line_names_it_alone(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, "a\nb\nc\n")

    assert (await text.read(lines="2")).next == "lines=3"
    assert (await text.read(lines="1")).next == "lines=2"
    assert (await text.read(lines="1-2")).next == "lines=3"
    one = await kept(artifact_store, "only\n")
    assert (await one.refused(lines="2")).endswith("write lines=1.")


async def test_what_is_no_text_has_no_lines(artifact_store: ArtifactStore) -> None:
    data = await kept(artifact_store, b"\x00\x01\xff")

    assert (await data.refused(lines="1")).startswith("not_text: ")
    assert (await data.refused(search="a")).endswith("read it by bytes=0-999.")
    assert (await (await kept(artifact_store, "")).read(lines="1-5")).shown == "There is nothing in it."


@SOME
@given(st.lists(st.text(st.sampled_from("a<长😀\t "), max_size=300), max_size=60), st.integers(500, 4000))
async def test_going_on_reads_the_whole_text_once(
    artifact_store: ArtifactStore, lines: list[str], most: int
) -> None:
    whole = "".join(f"{line}\n" for line in lines)
    text = await kept(artifact_store, whole)
    found: list[str] = []
    selector = {"lines": "1-"}
    while True:
        part = await text.read(most, **selector)
        found += [part.text] if part.total else []
        if part.next is None:
            break
        selector = next_of(part)
    assert "\n".join(found) == whole.removesuffix("\n")
