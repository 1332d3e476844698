"""What a JSON path selects, in a process that is stopped when it takes too much."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading import values_at
from gateway.errors import ArtifactDamaged
from tests.artifacts.reading.asking import Stored, kept, next_of
from tests.artifacts.store_folder import StoreFolder
from tests.product import InvalidRequest

pytestmark = pytest.mark.anyio


async def json(artifact_store: ArtifactStore, value: Any) -> Stored:
    return await kept(artifact_store, orjson.dumps(value), "data.json")


def children() -> set[str]:
    """The processes that evaluate a path for this one."""
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            for pid in (task / "children").read_text().split():
                if b"json_path_program.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.add(pid)
    return found


async def test_one_value_is_itself_and_several_are_a_list(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"订单": [{"id": 1, "城": "上海"}, {"id": 2, "城": "台北"}], "n": None})

    part = await data.read(json_path="$.订单[?@.id == 2]")
    assert (part.text, part.shown, part.next) == ('{"id":2,"城":"台北"}', "Value 1 of 1.", None)
    part = await data.read(json_path="$.订单[*].城")
    assert (part.text, part.shown) == ('[\n"上海",\n"台北"\n]', "Values 1-2 of 2.")
    assert (await data.read(json_path="$.n")).text == "null"
    nothing = await data.read(json_path="$.nothing")
    assert (nothing.shown, nothing.total) == ("Nothing was found.", 0)
    assert nothing.remark == "The path selects nothing. $ shows which names there are."
    assert (await (await json(artifact_store, {"empty": []})).read(json_path="$.empty")).text == "[]"


async def test_whole_numbers_of_any_length_stay_as_they_are(artifact_store: ArtifactStore) -> None:
    """Also beyond 64 bits, read by people and passed on to tools, and large enough to be read in pieces."""
    number = 123456789012345678901234
    data = await kept(
        artifact_store, b'{"data": {"id": %d, "least": -9223372036854775809, "x": 1.5}}' % number
    )
    many = await kept(artifact_store, b'{"data": [%s]}' % b",".join([b"%d" % number] * 5000))

    read = await data.read(json_path="$.data")
    passed_on = await values_at(data.artifact_store, data.row, "$.data", most_bytes=1000)
    piece = await many.read(json_path="$.data")

    assert read.text == '{"id":123456789012345678901234,"least":-9223372036854775809,"x":1.5}'
    assert passed_on == [{"id": number, "least": -(2**63) - 1, "x": 1.5}]
    assert piece.text.startswith(f"[0]  {number}\n[1]  {number}\n")


async def test_a_large_array_is_read_in_pieces(artifact_store: ArtifactStore) -> None:
    """`next` is a path to the rest, up to the end."""
    values = [{"id": number, "名": f"订单{number}" * 20} for number in range(60)]
    data = await json(artifact_store, {"data": values})
    seen: list[Any] = []
    part = await data.read(json_path="$.data")
    while True:
        whole = part.text.startswith("[\n")
        seen += (
            orjson.loads(part.text)
            if whole
            else [orjson.loads(row.split("  ", 1)[1]) for row in part.text.split("\n")]
        )
        if part.next is None:
            break
        assert part.next == f"json_path=$.data[{len(seen)}:60]"
        part = await data.read(**next_of(part))
    assert seen == values


async def test_what_is_too_large_is_outlined(artifact_store: ArtifactStore) -> None:
    """By its shape, with the path into the first part that is not shown."""
    data = await json(
        artifact_store, {"n": 1, "a b": list(range(9000)), "text": "长" * 9000, "o": {"k": "v" * 9000}}
    )

    part = await data.read(json_path="$")
    rows = part.text.split("\n")
    assert rows[:2] == ['"n": 1', '"a b": an array of 9,000']
    assert rows[2].startswith('"text": a string of 9,000 characters: "长长')
    assert rows[3] == '"o": an object of 1: "k"'
    assert (part.shown, part.next) == ("Values 1-4 of 4.", "json_path=$['a b']")

    text = await data.read(json_path="$.text")
    assert set(text.text) == {"长"}
    assert (
        text.remark == f"It is a string of 9,000 characters; these are the first {len(text.text):,} of them."
    )


async def test_the_values_for_a_tool_are_all_or_none(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"a": list(range(3000)), "b": []})

    assert await values_at(data.artifact_store, data.row, "$.a[*]", most_bytes=100_000) == list(range(3000))
    assert await values_at(data.artifact_store, data.row, "$.b", most_bytes=10) == [[]]
    assert await values_at(data.artifact_store, data.row, "$.c", most_bytes=10) == []
    with pytest.raises(InvalidRequest) as refused:
        await values_at(data.artifact_store, data.row, "$.a", most_bytes=1000)
    assert refused.value.code == "json_path_too_large"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("$.a[", "bad_json_path: The JSON path cannot be used: unexpected end"),
        ("$.a[?match(@, '(a*)*b')]", "there are length(), count() and value()"),
        ("$.a[?search(@, 'a')]", "there is no such function"),
        ("$" + "[?(" * 150, "bad_json_path: "),
        ("$..[0]", "give the way step by step"),
    ],
)
async def test_a_path_that_cannot_be_is_refused(
    artifact_store: ArtifactStore, path: str, message: str
) -> None:
    deep = await kept(artifact_store, b"[" * 200 + b"]" * 200, "deep.json")

    assert message in await deep.refused(json_path=path)


async def test_a_content_that_is_no_json_is_refused(artifact_store: ArtifactStore) -> None:
    """Text, and what is nested deeper than any reader goes."""
    text = await kept(artifact_store, "just words\n")
    deep = await kept(artifact_store, b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "deep.json")

    assert (await text.refused(json_path="$")).startswith(f"not_json: {text.row.ref} is text, not JSON: read")
    assert (await deep.refused(json_path="$.a")).startswith("not_json: ")


async def test_a_path_that_explodes_is_stopped(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"a": [[[number] * 20] * 20 for number in range(100)]})

    assert (await data.refused(json_path="$..[?count(@..*) > count($..*)]")).startswith(
        "json_path_too_slow: "
    )
    assert children() == set()


async def test_a_path_that_selects_without_end_shows_the_first(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"a": [{"b": [1, 2, 3]}] * 5000})

    part = await data.read(json_path="$..*")

    assert part.shown == f"Values 1-{part.last} of more than 2,000."
    assert part.remark is not None
    assert "select fewer at a time" in part.remark


async def test_one_member_of_many_objects_is_read_on_to_the_last(artifact_store: ArtifactStore) -> None:
    """Also of more than are counted: `next` goes on behind the last that was shown."""
    numbers = list(range(2500))
    data = await json(artifact_store, {"订单": [{"客": {"n": number}} for number in numbers]})
    part = await data.read(json_path="$.订单[*].客.n")
    assert part.remark is not None
    assert part.remark.endswith("More than 2,000 are not counted: go on with `next`.")
    seen: list[int] = []
    while True:
        shown = part.text
        seen += (
            orjson.loads(shown) if shown[0] == "[" else [int(row.split("  ")[1]) for row in shown.split("\n")]
        )
        if part.next is None:
            break
        part = await data.read(**next_of(part))

    assert seen == numbers


@pytest.mark.parametrize("path", ["$[?@ < 2400]", "$[0:2400]", "$..[?@ < 2400]"])
async def test_what_a_path_leaves_out_is_not_read_on_with(artifact_store: ArtifactStore, path: str) -> None:
    """More than are counted, and those that follow are not all selected."""
    data = await json(artifact_store, list(range(5000)))

    part = await data.read(json_path=path)

    assert (part.at_least, part.next) == (True, None)


@pytest.mark.parametrize("path", ["$.*[*]", "$['a','b'][*]", "$.a[*][*]"])
async def test_what_goes_through_several_lists_is_not_read_on_in_one(
    artifact_store: ArtifactStore, path: str
) -> None:
    """What follows in the one would pass over the other."""
    data = await json(
        artifact_store, {"a": [[number, -number] for number in range(2500)], "b": list(range(2500))}
    )

    part = await data.read(json_path=path)

    assert (part.at_least, part.next) == (True, None)


async def test_the_process_ends_with_whoever_waits_for_it(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"a": [[[number] * 20] * 20 for number in range(100)]})
    asking = asyncio.create_task(data.read(json_path="$..[?count(@..*) > count($..*)]"))
    while not children():
        await asyncio.sleep(0.01)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert children() == set()


async def test_at_most_two_run_at_once_and_all_are_answered(artifact_store: ArtifactStore) -> None:
    data = await json(artifact_store, {"a": 1})
    most = 0
    asking = [asyncio.create_task(data.read(json_path="$.a")) for _ in range(5)]
    while not all(each.done() for each in asking):
        most = max(most, len(children()))
        await asyncio.sleep(0.01)

    assert [each.result().text for each in asking] == ["1"] * 5
    assert 1 <= most <= 2


async def test_a_changed_content_is_not_evaluated(
    artifact_store: ArtifactStore, backing: StoreFolder
) -> None:
    data = await json(artifact_store, {"a": 1})
    (backing.folder / data.row.path).write_bytes(b'{"a":2}')

    with pytest.raises(ArtifactDamaged, match=data.row.sha256):
        await data.read(json_path="$.a")
    assert children() == set()
