"""Whatever stands in place of a value: the file is refused as damaged, or its session comes in."""

import asyncio
import contextlib
import io
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadImport
from gateway.history.copies.checked_file import check
from tests.history.copying import exported
from tests.history.past import Past, compress_past, sealed, settings_in, summarise_past, write_past
from tests.product import open_storage

Path = tuple[str | int, ...]

ODD: list[Any] = [None, True, 0, 1.0, -1, 2**63, 1e308, "", "x", "\0", [], {}, [[]], {"a": []}]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The lines of an export with every kind but artifacts, without the last one."""

    async def export() -> bytes:
        async with open_storage(settings_in(tmp_path_factory.mktemp("values"))) as storage:
            await write_past(storage, "s", [Past("我喜欢什么？", ("tea",)), Past("and?", ("b", "c"))])
            await compress_past(storage, "s", 2)
            await summarise_past(storage, "s", 4)
            return await exported(storage)

    return [orjson.loads(line) for line in asyncio.run(export()).splitlines()[:-1]]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield from paths(each, (*path, name))


def forged(lines: list[dict[str, Any]], path: Path, value: Any) -> bytes:
    """The export with another value there, and a last line that fits."""
    changed = deepcopy(lines)
    place: Any = changed
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return sealed([orjson.dumps(line) for line in changed])


@given(st.data())
def test_a_value_of_any_type_is_taken_or_refused(lines: list[dict[str, Any]], data: st.DataObject) -> None:
    """Nothing but BadImport is raised, which is 400."""
    places = [path for path in paths(lines) if len(path) > 1 and path[-1] != "kind"]
    file = forged(lines, data.draw(st.sampled_from(places)), data.draw(st.sampled_from(ODD)))
    with contextlib.suppress(BadImport):
        check(io.BytesIO(file))


@pytest.mark.parametrize("value", [[], {}, True, 1.0, None], ids=repr)
@pytest.mark.parametrize("name", ["format", "role", "position"])
def test_the_form_of_a_file_and_whose_a_message_is_are_checked_for_their_type(
    lines: list[dict[str, Any]], name: str, value: Any
) -> None:
    """Also with what cannot be compared with the right ones, or is equal to them and of another type."""
    at = next(at for at, line in enumerate(lines) if name in line)

    with pytest.raises(BadImport, match=f"^Line {at + 1}: "):
        check(io.BytesIO(forged(lines, (at, name), value)))
