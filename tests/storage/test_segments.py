"""Lines in gzip members: any tool can read them, and a reader can enter in the middle."""

import gzip
import hashlib
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.storage.archives.segments import MEMBER_SIZE, Packer, members, unpack, unpacked
from tests.product import ArchiveDamaged

pytestmark = pytest.mark.anyio

lines = st.lists(st.binary(max_size=90).map(lambda line: line.replace(b"\n", b" ")), max_size=40)


def packed(given_lines: Sequence[bytes], member_size: int = 64, first: int = 1) -> tuple[Packer, list[bytes]]:
    packer = Packer(member_size)
    return packer, list(packer.pack(enumerate(given_lines, first)))


async def cut(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def drained(data: bytes, size: int = 1000) -> bytes:
    return b"".join([piece async for piece in unpacked("a.gz", cut(data, size))])


@given(lines)
def test_any_gzip_reader_gets_the_lines_and_the_digest_is_theirs(given_lines: list[bytes]) -> None:
    """The file is plain gzip, `sha256` is of what it holds, `size` is its own."""
    packer, found = packed(given_lines)
    data = b"".join(found)
    raw = b"".join(line + b"\n" for line in given_lines)

    assert (gzip.decompress(data) if data else b"") == raw
    assert packer.sha256 == hashlib.sha256(raw).hexdigest()
    assert packer.size == len(data)
    assert packer.last_key == (len(given_lines) or None)


@given(lines, st.integers(1, 9), st.integers(0, 45), st.integers(0, 45))
def test_the_index_leads_to_the_members_that_hold_a_range(
    given_lines: list[bytes], first_key: int, first: int, last: int
) -> None:
    """Each member can be read alone; those of a range hold all its lines, and none that has none of them."""
    packer, found = packed(given_lines, first=first_key)
    data = b"".join(found)
    end = first_key + len(given_lines) - 1
    chosen: dict[int, bytes] = {}
    for member in members(packer.index, end, first, last):
        stop = None if member.size is None else member.offset + member.size
        held = unpack("a.gz", data[member.offset : stop])
        assert len(held) == member.last - member.first + 1
        assert member.first <= last
        assert member.last >= first
        chosen |= dict(enumerate(held, member.first))

    wanted = {key: line for key, line in enumerate(given_lines, first_key) if first <= key <= last}
    assert {key: line for key, line in chosen.items() if first <= key <= last} == wanted


@given(lines)
def test_the_same_lines_make_the_same_bytes(given_lines: list[bytes]) -> None:
    """Neither the time nor the place of packing is in them."""
    (_, once), (_, again) = packed(given_lines), packed(given_lines)

    assert once == again
    assert all(member[4:8] == bytes(4) and member[3] == 0 for member in once)  # RFC 1952: MTIME, FLG


@given(lines, st.integers(1, 200))
async def test_a_stream_is_unpacked_wherever_it_is_cut(given_lines: list[bytes], size: int) -> None:
    """The pieces together are what was packed."""
    _, found = packed(given_lines)

    assert await drained(b"".join(found), size) == b"".join(line + b"\n" for line in given_lines)


async def test_a_stream_is_unpacked_in_pieces_of_bounded_size() -> None:
    """Also where a megabyte was zipped to a kilobyte."""
    _, found = packed([b"a" * 1_000_000, b"b" * 3], MEMBER_SIZE)

    pieces = [piece async for piece in unpacked("a.gz", cut(b"".join(found), 10_000))]

    assert max(map(len, pieces)) <= MEMBER_SIZE
    assert sum(map(len, pieces)) == 1_000_005


def test_members_are_of_the_size_asked_for_and_a_large_line_has_its_own() -> None:
    """A page of one member is bounded, or it is one line."""
    large = b"x" * 100
    packer, found = packed([b"1", b"2" * 30, large, b"4", b"5"])

    assert [key for key, _ in packer.index] == [1, 3, 4]
    assert [len(unpack("a.gz", member)) for member in found] == [2, 1, 2]


def test_lines_are_packed_while_they_come() -> None:
    """A member is out before the lines of the one after next were asked for: memory stays flat."""
    asked: list[int] = []

    def source() -> Iterator[tuple[int, bytes]]:
        for key in range(1, 100):
            asked.append(key)
            yield key, b"x" * 20

    out = Packer(64).pack(source())
    next(out)
    first = len(asked)
    next(out)

    assert first <= 4
    assert len(asked) <= 2 * first


def test_a_line_that_holds_a_line_end_is_refused() -> None:
    """It would come back as two."""
    with pytest.raises(ValueError, match="line 2"):
        packed([b"one", b"t\nwo"])


numbers = st.integers(0, 2**20)


@given(lines.filter(bool), numbers, numbers, numbers)
async def test_damage_is_found_and_named(given_lines: list[bytes], place: int, bit: int, kept: int) -> None:
    """A member with a flipped bit, cut off, or with something behind it is none, and no stream of members is
    read over damage: what comes out then is not complete without the error."""
    packer, found = packed(given_lines)
    place %= len(found)
    member = found[place]
    bit %= len(member) * 8
    kept %= len(member)
    flipped = bytearray(member)
    flipped[bit // 8] ^= 1 << bit % 8
    raw = b"".join(line + b"\n" for line in given_lines)

    for broken in (member[:kept], member + b"x", member + member):
        with pytest.raises(ArchiveDamaged, match=r"a\.gz") as raised:
            unpack("a.gz", broken)
        assert raised.value.details == {"path": "a.gz"}
    # Flags of the header (time, system) are covered by no checksum: they change nothing that is read.
    for broken in (bytes(flipped), member[:kept]):
        whole = b"".join([*found[:place], broken, *found[place + 1 :]])
        with suppress(ArchiveDamaged):
            read = await drained(whole)
            assert read == raw or hashlib.sha256(read).hexdigest() != packer.sha256


async def test_damage_is_told_in_our_words() -> None:
    """Not in those of the library that met it: whoever reads them may not know what it is."""
    _, [member] = packed([b"one", b"two"])
    broken = member[:10] + b"\xff" * 9 + member[19:]

    with pytest.raises(ArchiveDamaged) as alone:
        unpack("a.gz", broken)
    with pytest.raises(ArchiveDamaged) as streamed:
        await drained(broken)
    message = "The archive a.gz is damaged: a part of it is no longer what was zipped."
    assert alone.value.message == streamed.value.message == message


def test_zcat_and_sha256sum_agree(tmp_path: Path) -> None:
    """What an auditor types gives the digest that is recorded."""
    packer, found = packed([b'{"a":"%d"}' % number for number in range(5000)], 10_000)
    (tmp_path / "a.jsonl.gz").write_bytes(b"".join(found))

    output = subprocess.run(
        "zcat a.jsonl.gz | sha256sum", shell=True, cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert output.stdout.split()[0] == packer.sha256
    assert len(found) > 3
