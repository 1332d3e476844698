"""A file that lies about an artifact is refused, whatever hash it ends with."""

import asyncio
import base64
import hashlib
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import BadImport
from gateway.history.copies.checked_file import check
from gateway.storage.artifacts import CHUNK
from tests.history.artifact_copies import LONG, a_file, forged, is_untouched, lines_of, parsed
from tests.history.copying import imported
from tests.history.past import settings_in
from tests.product import open_storage

SOME = settings(max_examples=6)


Change = Callable[[list[dict[str, Any]]], object]


def artifact(lines: list[dict[str, Any]], size: int = len(LONG)) -> dict[str, Any]:
    return next(line for line in lines_of(lines, "artifact") if line["size"] == size)


def part(lines: list[dict[str, Any]], number: int = 1) -> dict[str, Any]:
    ref = artifact(lines)["ref"]
    return next(line for line in lines_of(lines, "content") if (line["ref"], line["number"]) == (ref, number))


def swap(lines: list[dict[str, Any]], one: dict[str, Any], other: dict[str, Any]) -> None:
    a, b = lines.index(one), lines.index(other)
    lines[a], lines[b] = other, one


def as_binary(lines: list[dict[str, Any]]) -> None:
    (image,) = [line for line in lines_of(lines, "artifact") if line["lines"] is None]
    image.update(holds="text", lines=2)


def twin(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The second artifact of one content."""
    first, second = [line for line in lines_of(lines, "artifact") if line["size"] == 13]
    assert first["sha256"] == second["sha256"]
    return second


def examples(lines: list[dict[str, Any]], given: object) -> None:
    artifact(lines)["metadata"]["examples"] = given


ODD = base64.b64encode(b"other").decode()
FORGERIES: dict[str, Change] = {
    "a content of another hash": lambda lines: artifact(lines).update(sha256="0" * 64),
    "a part of another hash": lambda lines: part(lines).update(data=ODD),
    "a part that is no base64": lambda lines: part(lines).update(data="?" + part(lines)["data"][1:]),
    "base64 in another form": lambda lines: part(lines, 2).update(data=part(lines, 2)["data"].rstrip("=")),
    "data that is none": lambda lines: part(lines).update(data=7),
    "a part that is missing": lambda lines: lines.remove(part(lines)),
    "the last part missing": lambda lines: lines.remove(part(lines, 2)),
    "a part twice": lambda lines: lines.insert(lines.index(part(lines)), part(lines)),
    "parts out of order": lambda lines: swap(lines, part(lines), part(lines, 2)),
    "a part before its artifact": lambda lines: swap(lines, part(lines), artifact(lines)),
    "a part of another artifact": lambda lines: part(lines).update(ref="ART-0000000000"),
    "a part with more in it": lambda lines: part(lines).update(more=1),
    "an artifact after the messages": lambda lines: lines.append(lines.pop(lines.index(artifact(lines)))),
    "an artifact twice": lambda lines: lines.insert(lines.index(artifact(lines, 13)), artifact(lines, 13)),
    "an artifact without its content": lambda lines: lines.remove(artifact(lines)),
    "another size": lambda lines: artifact(lines).update(size=len(LONG) - 1),
    "a size of more parts": lambda lines: artifact(lines).update(size=9 * CHUNK),
    "more lines than there are": lambda lines: artifact(lines).update(lines=1),
    "a text without lines": lambda lines: artifact(lines).update(lines=None),
    "line ends that are not there": lambda lines: artifact(lines)["chunks"][0].__setitem__(1, 3),
    "binary that says it is text": as_binary,
    "a reference of another form": lambda lines: artifact(lines).update(ref="ART-../../etc"),
    "a kind that is none": lambda lines: artifact(lines).update(holds="magic"),
    "a mime type with a line end": lambda lines: artifact(lines).update(mime="text/plain\r\nX-Evil: 1"),
    "a name with a path": lambda lines: artifact(lines).update(name="../../x"),
    "a name that shows nothing": lambda lines: artifact(lines).update(name="a\u202etxt.exe"),
    "a time that is none": lambda lines: artifact(lines).update(created_at=-1),
    "an end before the beginning": lambda lines: artifact(lines).update(expires_at=1),
    "an owner": lambda lines: artifact(lines).update(owner="root"),
    "a path": lambda lines: artifact(lines).update(path="sessions/x"),
    "somebody's session": lambda lines: artifact(lines).update(session_id="other"),
    "a compact form without end": lambda lines: artifact(lines).update(compact="x" * 30_000),
    "metadata without end": lambda lines: artifact(lines).update(metadata={"x": "y" * 100_000}),
    "other parts of a content that was there": lambda lines: twin(lines).update(chunks=[["0" * 64, 0]]),
    "other line ends of a content that was there": lambda lines: twin(lines)["chunks"][0].__setitem__(1, 7),
    "examples that are none": lambda lines: examples(lines, "x"),
    "an example that is no text": lambda lines: examples(lines, {"lines": 5}),
    "an example of nothing that is read": lambda lines: examples(lines, {"所有": "1"}),
    "an example without end": lambda lines: examples(lines, {"search": "x" * 2000}),
    "metadata that is none": lambda lines: artifact(lines).update(metadata=[]),
    "attachments that are none": lambda lines: lines_of(lines, "turn")[0].update(attachments=[]),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return asyncio.run(a_file(tmp_path_factory.mktemp("sound")))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_artifact_is_refused_though_the_hash_of_the_file_fits(sound: bytes, name: str) -> None:
    """Whoever can write a file can write its sha256 too, so everything is checked before anything is done."""
    lines = parsed(sound)
    FORGERIES[name](lines)
    with pytest.raises(BadImport) as refused:
        check(io.BytesIO(forged(lines)))

    assert refused.value.details is not None


def test_the_file_of_the_forgeries_is_sound_before_it_is_forged(sound: bytes) -> None:
    """So the refusals above are of the forgery."""
    assert check(io.BytesIO(forged(parsed(sound)))).counts["artifact"] == 4


@SOME
@given(st.data())
@pytest.mark.anyio
async def test_a_damaged_file_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, sound: bytes, data: st.DataObject
) -> None:
    """Flip any bit, cut the file anywhere, or swap two of its lines: it is refused with a line's number."""
    folder = tmp_path_factory.mktemp("damaged")
    async with open_storage(settings_in(folder)) as storage:
        for _ in range(5):
            damaged, lines = bytearray(sound), sound.splitlines(keepends=True)
            match data.draw(st.sampled_from(["flip", "cut", "swap"])):
                case "flip":
                    damaged[data.draw(st.integers(0, len(sound) - 1))] ^= 1 << data.draw(st.integers(0, 7))
                case "cut":
                    del damaged[data.draw(st.integers(0, len(sound) - 1)) :]
                case _:
                    a, b = data.draw(
                        st.lists(st.integers(0, len(lines) - 1), min_size=2, max_size=2, unique=True)
                    )
                    lines[a], lines[b] = lines[b], lines[a]
                    damaged = bytearray(b"".join(lines))
            with pytest.raises(BadImport) as refused:
                await imported(storage, bytes(damaged))

            assert refused.value.details is not None
        assert await is_untouched(storage, folder)


def test_a_file_of_artifacts_without_end_is_refused(sound: bytes) -> None:
    """So many rows would keep every turn from writing."""
    lines = parsed(sound)
    at, one = lines.index(artifact(lines, 13)), artifact(lines, 13)
    empty = {**one, "size": 0, "lines": 0, "sha256": hashlib.sha256(b"").hexdigest(), "chunks": []}
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    many = [
        empty | {"ref": f"ART-zz{''.join(alphabet[n >> 5 * k & 31] for k in range(8))}"}
        for n in range(10_001)
    ]
    with pytest.raises(BadImport, match="more than 10000 artifacts"):
        check(io.BytesIO(forged([*lines[:at], *many, *lines[at:]])))
