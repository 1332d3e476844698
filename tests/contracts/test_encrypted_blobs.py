"""What encrypted blobs owe beside what every store does (test_blobs.py)."""

import asyncio
import functools
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.encryption.piecewise_cipher import PIECE, STORED_PIECE
from gateway.errors import DecryptionFailed
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.encrypted import HEADER, MAGIC, STREAMED, EncryptedBlobs
from gateway.storage.blobs.folder import FolderBlobs
from tests.product import Keyring

pytestmark = pytest.mark.anyio

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
EDGES = sorted({n + d for n in (0, PIECE, 2 * PIECE, STREAMED * PIECE) for d in (-1, 0, 1) if n + d >= 0})


def content(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@functools.cache
def plain(size: int, root: Path) -> tuple[FolderBlobs, EncryptedBlobs]:
    store = FolderBlobs(root)
    encrypted = EncryptedBlobs(store, Keyring([OLD]), encrypts=True)
    asyncio.run(encrypted.put(f"{size}", [content(size)]))
    return store, encrypted


async def whole(blobs: Blobs, path: str) -> bytes:
    return b"".join([chunk async for chunk in blobs.stream(path)])


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blobs")


@given(
    size=st.sampled_from(EDGES),
    start=st.integers(0, 3 * PIECE),
    length=st.none() | st.integers(0, 3 * PIECE),
)
@example(size=PIECE, start=PIECE, length=1)
@example(size=0, start=0, length=None)
def test_every_range_is_that_of_the_content(root: Path, size: int, start: int, length: int | None) -> None:
    """At the edges of pieces above all: a range is what it is of the plain content, and so is the stream."""
    _, encrypted = plain(size, root)

    end = None if length is None else start + length
    assert asyncio.run(encrypted.read(f"{size}", start=start, length=length)) == content(size)[start:end]


@pytest.mark.parametrize("size", EDGES)
async def test_a_stream_is_the_content_and_what_is_stored_is_not(root: Path, size: int) -> None:
    store, encrypted = await asyncio.to_thread(plain, size, root)
    stored = await store.read(f"{size}")

    assert await whole(encrypted, f"{size}") == content(size)
    assert len(stored) == HEADER + size + 16 * max(1, -(-size // PIECE))
    assert size < 16 or content(size)[:16] not in stored


@given(place=st.integers(0, HEADER + 2 * STORED_PIECE - 1), flip=st.integers(1, 255))
@example(place=0, flip=1)
@example(place=8, flip=1)
def test_no_byte_can_be_changed(root: Path, place: int, flip: int) -> None:
    """Whichever it is, reading ends in an error with its name, or in what is no content of ours: the mark at
    the beginning says that a blob is encrypted at all, and what needs it is told by its own hash."""
    store, _ = plain(2 * PIECE, root)

    async def attempt() -> bytes:
        stored = bytearray(await store.read(f"{2 * PIECE}"))
        stored[place] ^= flip
        await store.put("changed", [bytes(stored)])
        changed = EncryptedBlobs(_Renamed(store, f"{2 * PIECE}", "changed"), Keyring([OLD]), encrypts=True)
        return await whole(changed, f"{2 * PIECE}")

    if place < len(MAGIC):
        assert content(64) not in asyncio.run(attempt())
        return
    with pytest.raises(DecryptionFailed) as failed:
        asyncio.run(attempt())
    assert failed.value.code == "decryption_failed"


@pytest.mark.parametrize("left", [HEADER - 1, HEADER, HEADER + STORED_PIECE, HEADER + STORED_PIECE + 7])
async def test_a_blob_that_was_cut_off_is_noticed(tmp_path: Path, left: int) -> None:
    """Also between two pieces, and also by who reads on until nothing comes."""
    store = FolderBlobs(tmp_path)
    encrypted = EncryptedBlobs(store, Keyring([OLD]), encrypts=True)
    await encrypted.put("blob", [content(2 * PIECE)])
    stored = await store.read("blob")
    await store.put("blob", [stored[:left]])

    with pytest.raises(DecryptionFailed):
        await whole(encrypted, "blob")
    with pytest.raises(DecryptionFailed):
        await encrypted.read("blob", start=PIECE)


async def test_pieces_that_were_swapped_or_came_from_elsewhere_do_not_open(tmp_path: Path) -> None:
    """Neither within a blob, nor from another one, nor a whole blob under another path."""
    store = FolderBlobs(tmp_path)
    encrypted = EncryptedBlobs(store, Keyring([OLD]), encrypts=True)
    for path in ("a", "b"):
        await encrypted.put(path, [content(3 * PIECE)])
    a, b = await store.read("a"), await store.read("b")
    first, second = (slice(HEADER + n * STORED_PIECE, HEADER + (n + 1) * STORED_PIECE) for n in (0, 1))
    swapped = a[:HEADER] + a[second] + a[first] + a[second.stop :]
    mixed = a[: first.start] + b[first] + a[first.stop :]

    for stored in (swapped, mixed, b):
        await store.put("a", [stored])
        with pytest.raises(DecryptionFailed):
            await whole(encrypted, "a")


async def test_old_and_new_contents_are_read_whatever_is_written_now(tmp_path: Path) -> None:
    """Encryption is switched on and off at any time; without the key a blob says which one it needs."""
    store = FolderBlobs(tmp_path)
    on, off = (EncryptedBlobs(store, Keyring([OLD]), encrypts=encrypts) for encrypts in (True, False))
    await off.put("plain", [b"before"])
    await on.put("sealed", [b"after"])

    for blobs in (on, off):
        assert [await whole(blobs, path) for path in ("plain", "sealed")] == [b"before", b"after"]
    assert await store.read("plain") == b"before"
    with pytest.raises(DecryptionFailed) as failed:
        await EncryptedBlobs(store, Keyring([NEW]), encrypts=True).read("sealed")
    assert Keyring([OLD]).first in failed.value.message


async def test_content_that_looks_as_if_it_were_encrypted_comes_back(tmp_path: Path) -> None:
    """Nobody who uploads a file decides how it is read."""
    blobs = EncryptedBlobs(FolderBlobs(tmp_path), Keyring([OLD]), encrypts=False)
    await blobs.put("file", [MAGIC[:3], MAGIC[3:] + b"x" * 200])

    assert await blobs.read("file") == MAGIC + b"x" * 200


async def test_rotation_changes_the_beginning_alone(tmp_path: Path) -> None:
    """So a reader in the middle goes on; the former key is not needed any more; a second round does nothing;
    a plain blob becomes encrypted where contents are to be."""
    store = FolderBlobs(tmp_path)
    size = STREAMED * PIECE + 5
    await EncryptedBlobs(store, Keyring([OLD]), encrypts=True).put("blob", [content(size)])
    await store.put("plain", [b"before"])
    before = await store.read("blob")
    both = EncryptedBlobs(store, Keyring([NEW, OLD]), encrypts=True)
    reader = both.stream("blob")
    first = await anext(reader)

    done = [await both.rotate(path) for path in ("blob", "plain", "blob", "plain")]
    assert done == [True, True, False, False]

    assert first + b"".join([chunk async for chunk in reader]) == content(size)
    assert (await store.read("blob"))[HEADER:] == before[HEADER:]
    alone = EncryptedBlobs(store, Keyring([NEW]), encrypts=False)
    assert await whole(alone, "blob") == content(size)
    assert await whole(alone, "plain") == b"before"
    assert (await store.read("plain")).startswith(MAGIC)


class _Renamed(FolderBlobs):
    """A store in which a blob lies under another path than is asked for."""

    def __init__(self, store: FolderBlobs, asked: str, given: str) -> None:
        self.__dict__.update(vars(store))
        self._asked, self._given = asked, given

    async def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        return await super().read(self._given if path == self._asked else path, start=start, length=length)
