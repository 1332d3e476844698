"""Lines with a word in them: all are counted, those that fit are shown, and the search goes on after them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading.line_search import MAX_COUNTED, folded
from tests.artifacts.reading.asking import Stored, kept, next_of

pytestmark = pytest.mark.anyio
SOME = settings(max_examples=40)


async def matching(text: Stored, word: str, **selector: str) -> list[int]:
    """The numbers of all lines that the search shows as matching, going on to its end."""
    found: list[int] = []
    while True:
        part = await text.read(500, search=word, **selector)
        rows = [row for row in part.text.split("\n") if row != "--"]
        found += [int(row.split(":")[0]) for row in rows if row.split(":")[0].isdigit()]
        if part.next is None:
            return found
        selector = next_of(part)


async def test_matches_are_shown_with_five_lines_around_and_joined(artifact_store: ArtifactStore) -> None:
    lines = [f"line {number}" for number in range(1, 61)]
    lines[9], lines[13], lines[49] = "Die Bestellung: ORDER", "another order", "订单 order"
    part = await (await kept(artifact_store, "\n".join(lines))).read(search="Order")

    groups = part.text.split("\n--\n")
    assert [group.count("\n") + 1 for group in groups] == [15, 11]
    assert groups[0].startswith("5-line 5\n6-line 6")
    assert "\n10:Die Bestellung: ORDER\n11-line 11\n" in groups[0]
    assert "\n50:订单 order\n" in groups[1]
    assert (part.shown, part.next) == ("Matching lines 1-3 of 3.", None)


async def test_a_search_that_finds_nothing_says_that_it_takes_no_pattern(
    artifact_store: ArtifactStore,
) -> None:
    part = await (await kept(artifact_store, "订单 1\n订单 2\n")).read(search="订单.*")

    assert (part.text, part.total, part.next) == ("", 0, None)
    assert part.remark == "No line that was looked at has this text. It is taken as it is, not as a pattern."


async def test_a_search_is_bounded_by_lines(artifact_store: ArtifactStore) -> None:
    text = await kept(artifact_store, "订单\n" * 10)

    part = await text.read(search="订单", lines="3-4")

    assert (part.text, part.shown) == ("3:订单\n4:订单", "Matching lines 1-2 of 2.")
    assert (await text.read(search="单子")).shown == "Nothing was found."
    assert "there is no line 11" in await text.refused(search="订单", lines="11-")


async def test_a_long_line_shows_what_is_around_the_match(artifact_store: ArtifactStore) -> None:
    """At its beginning, its end, and across the pieces in which it is read."""
    line = "头" + "x" * 1_048_570 + "数据库" + "y" * 900_000 + "尾"
    text = await kept(artifact_store, f"before\n{line}\nafter")

    for word in ("头", "数据库", "尾"):
        part = await text.read(search=word)
        row = part.text.split("\n")[1]
        assert word in row
        assert len(row) <= 200 + len("2:……")
        assert part.text.startswith("1-before\n")
        assert part.text.endswith("\n3-after")


async def test_a_word_in_every_line_is_counted_up_to_a_limit(artifact_store: ArtifactStore) -> None:
    part = await (await kept(artifact_store, "a\n" * (MAX_COUNTED + 5))).read(search="A")

    assert part.shown == f"Matching lines 1-{part.last} of more than 10,000."
    assert part.next == f"lines={part.last + 1}-"


@SOME
@given(
    st.lists(st.text(st.sampled_from("abAB长İς "), max_size=400), max_size=40),
    st.sampled_from(["a", "aB", "长", "长a", "i"]),
)
async def test_a_search_finds_what_looking_at_each_line_finds(
    artifact_store: ArtifactStore, lines: list[str], word: str
) -> None:
    text = await kept(artifact_store, "\n".join(lines))
    if not text.row.lines:
        return

    expected = [number for number, line in enumerate(lines, 1) if folded(word) in folded(line)]

    assert await matching(text, word) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_folding_moves_no_place(text: str) -> None:
    assert len(folded(text)) == len(text)


def test_folding_keeps_the_length_of_every_character() -> None:
    assert all(len(folded(chr(code))) == 1 for code in range(0x110000) if not 0xD800 <= code < 0xE000)
