"""What every store of blobs owes its callers: a claim per sentence of gateway/storage/blobs/__init__.py."""

import asyncio
import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from gateway.errors import BlobMissing
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.blobs.encrypted import EncryptedBlobs
from gateway.storage.blobs.folder import FolderBlobs
from gateway.storage.blobs.objects import BULK_WRITERS, CHUNK, PART, WRITERS, checked
from tests.loopback import TIMEOUT
from tests.product import Keyring, SettingsError, StorageError

pytestmark = pytest.mark.anyio

LARGE = 2 * PART + CHUNK + 17


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a store that speaks S3, with a bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    httpx2.put(f"{url}/bucket", trust_env=False).raise_for_status()
    try:
        yield url
    finally:
        server.stop()


@pytest.fixture(params=["folder", "bucket", "encrypted"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Blobs:
    if request.param == "encrypted":
        keyring = Keyring([bytes(range(32))])
        return EncryptedBlobs(open_blobs(str(tmp_path / "encrypted"), tmp_path), keyring, encrypts=True)
    if request.param == "folder":
        return open_blobs(f"file://{tmp_path}/some%20where", tmp_path)
    return bucket(request.getfixturevalue("s3"), f"prefix/{tmp_path.name}", monkeypatch)


def bucket(url: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> Blobs:
    environment = {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return open_blobs(f"s3://bucket/{prefix}", Path("unused"))


async def whole(blobs: Blobs, path: str) -> list[bytes]:
    return [chunk async for chunk in blobs.stream(path)]


async def test_a_blob_is_read_as_it_was_put(blobs: Blobs) -> None:
    """Whole, from a place on, in part, as a stream; and its size is told."""
    assert await blobs.put("a/b-1/c_2.gz", [b"hello, ", b"", b"world"]) == 12

    assert await blobs.read("a/b-1/c_2.gz") == b"hello, world"
    assert await blobs.read("a/b-1/c_2.gz", start=7) == b"world"
    assert await blobs.read("a/b-1/c_2.gz", start=2, length=3) == b"llo"
    assert await blobs.read("a/b-1/c_2.gz", start=7, length=99) == b"world"
    assert await blobs.read("a/b-1/c_2.gz", start=3, length=0) == b""
    assert await whole(blobs, "a/b-1/c_2.gz") == [b"hello, world"]


async def test_nothing_is_read_behind_the_end(blobs: Blobs) -> None:
    """A blob may be empty, and reading from its end on gives nothing."""
    await blobs.put("empty", [])
    await blobs.put("five", [b"12345"])

    assert await blobs.read("empty") == b""
    assert await blobs.read("empty", length=3) == b""
    assert await whole(blobs, "empty") == []
    assert await blobs.read("five", start=5) == b""
    assert await blobs.read("five", start=6, length=2) == b""


async def test_a_large_blob_comes_in_chunks_of_bounded_size(blobs: Blobs) -> None:
    """It is sent in parts and comes back whole, in pieces of at most CHUNK."""
    piece = bytes(range(256)) * 1024
    pieces = [piece] * (LARGE // len(piece)) + [b"end"]

    size = await blobs.put("large", iter(pieces))
    chunks = await whole(blobs, "large")

    assert size == sum(map(len, pieces)) > 2 * PART
    assert b"".join(chunks) == b"".join(pieces)
    assert max(map(len, chunks)) <= CHUNK


async def test_a_blob_takes_the_place_of_one_of_the_same_path(blobs: Blobs) -> None:
    """The newer one is there, whole."""
    await blobs.put("a/b", [b"first and longer"])
    await blobs.put("a/b", [b"second"])

    assert await blobs.read("a/b") == b"second"


async def test_a_blob_that_is_not_there_is_missing(blobs: Blobs) -> None:
    """Reading and streaming raise BlobMissing that names it; deleting it does nothing."""
    for attempt in (blobs.read("a/none"), blobs.read("a/none", start=3, length=4), whole(blobs, "a/none")):
        with pytest.raises(BlobMissing, match="a/none"):
            await attempt
    await blobs.delete("a/none")


async def test_a_deleted_blob_is_gone_and_no_other(blobs: Blobs) -> None:
    for path in ("s/1/a", "s/1/c", "s/1/cc"):
        await blobs.put(path, [b"x"])
    await blobs.delete("s/1/c")

    with pytest.raises(BlobMissing):
        await blobs.read("s/1/c")
    assert [await blobs.read(path) for path in ("s/1/a", "s/1/cc")] == [b"x", b"x"]


@pytest.mark.parametrize("size", [10, PART + 10])
async def test_a_blob_whose_source_fails_is_not_stored(blobs: Blobs, size: int) -> None:
    """What the source raises is raised, and what was there before stays."""

    def broken() -> Iterator[bytes]:
        yield b"new" * size
        raise OSError("the source is gone")

    await blobs.put("a/b", [b"old"])
    with pytest.raises(OSError, match="the source is gone"):
        await blobs.put("a/b", broken())
    with pytest.raises(OSError, match="the source is gone"):
        await blobs.put("a/new", broken())

    assert await blobs.read("a/b") == b"old"
    with pytest.raises(BlobMissing):
        await blobs.read("a/new")


async def test_a_source_is_iterated_beside_the_event_loop(blobs: Blobs) -> None:
    """It may wait for what the event loop does."""
    loop, threads = asyncio.get_running_loop(), list[str]()

    async def produced(number: int) -> bytes:
        await asyncio.sleep(0)
        return b"%d" % number

    def source() -> Iterator[bytes]:
        for number in range(3):
            threads.append(threading.current_thread().name)
            yield asyncio.run_coroutine_threadsafe(produced(number), loop).result()

    await blobs.put("a", source())

    assert await blobs.read("a") == b"012"
    assert threading.main_thread().name not in threads


class Held:
    """A source of a blob that waits at one of its chunks until it may go on; `asked` are those it gave."""

    def __init__(self, at: int = 0) -> None:
        self.begun, self.go_on, self.ended = asyncio.Event(), threading.Event(), asyncio.Event()
        self.asked: list[int] = []
        self._at, self._loop = at, asyncio.get_running_loop()

    def __iter__(self) -> Iterator[bytes]:
        try:
            for number in range(1000):
                self.asked.append(number)
                if number == self._at:
                    self._loop.call_soon_threadsafe(self.begun.set)
                    self.go_on.wait(TIMEOUT)
                yield b"x"
        finally:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.ended.set)


async def test_who_is_cancelled_while_a_blob_is_written_is_let_go_at_once(blobs: Blobs) -> None:
    """The source is asked no more, and what was written of it is not there, also after a deletion."""
    source = Held(3)
    putting = asyncio.ensure_future(blobs.put("a/b", source))
    await source.begun.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    await blobs.delete("a/b")
    assert not source.ended.is_set()
    source.go_on.set()
    await source.ended.wait()

    assert source.asked == [0, 1, 2, 3]
    await blobs.put("after", [b"it"])
    with pytest.raises(BlobMissing):
        await blobs.read("a/b")


async def test_who_is_cancelled_before_a_blob_is_begun_leaves_without_it(blobs: Blobs) -> None:
    """However long the writers are at the blobs of others: they never ask its source."""
    held = [Held() for _ in range(WRITERS)]
    others = [asyncio.ensure_future(blobs.put(f"other/{at}", each)) for at, each in enumerate(held)]
    for each in held:
        await each.begun.wait()
    source = Held()
    putting = asyncio.ensure_future(blobs.put("a", source))
    await asyncio.sleep(0)
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    for each in held:
        each.go_on.set()
    await asyncio.gather(*others)
    await blobs.put("after", [b"it"])

    assert source.asked == []
    with pytest.raises(BlobMissing):
        await blobs.read("a")


async def test_a_blob_does_not_wait_for_those_that_come_slowly(blobs: Blobs) -> None:
    """However many sessions are on their way to their archives, a tool's result is stored meanwhile."""
    held = [Held() for _ in range(2 * WRITERS)]
    slow = [asyncio.ensure_future(blobs.put(f"slow/{at}", each, bulk=True)) for at, each in enumerate(held)]
    for each in held[:BULK_WRITERS]:
        await each.begun.wait()

    async with asyncio.timeout(TIMEOUT):
        await blobs.put("quick", [b"result"])
    assert await blobs.read("quick") == b"result"
    assert not any(each.done() for each in slow)
    for each in held:
        each.go_on.set()
    assert await asyncio.gather(*slow) == [1000] * len(slow)


async def test_two_who_write_the_same_blob_do_not_mix(blobs: Blobs) -> None:
    """Both write at the same time; one of them is there, whole."""
    both = threading.Barrier(2)

    def source(letter: bytes) -> Iterator[bytes]:
        for _ in range(3):
            both.wait(TIMEOUT)
            yield letter * 100_000

    await asyncio.gather(blobs.put("a/b", source(b"1")), blobs.put("a/b", source(b"2")))

    assert await blobs.read("a/b") in {b"1" * 300_000, b"2" * 300_000}


async def test_what_a_killed_write_left_is_removed_by_its_age(tmp_path: Path) -> None:
    """Parts of blobs that nobody has written to since, under the names of this and of former versions, with
    their folders; nothing that is being written, and no blob."""
    blobs = FolderBlobs(tmp_path)
    await blobs.put("artifacts/a/whole", [b"it"])
    for name in ("artifacts/b/.c.part", f"artifacts/a/.d.{'0' * 16}.part", "artifacts/a/.new.part"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"half")
    for path in tmp_path.rglob("*"):
        if ".new" not in path.name:
            os.utime(path, (100, 100))
    source = Held(1)
    putting = asyncio.ensure_future(blobs.put("artifacts/e", source))
    await source.begun.wait()

    assert await blobs.sweep(99_000) == 0
    assert await blobs.sweep(101_000) == 2

    source.go_on.set()
    assert await putting == 1000
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["artifacts/a/.new.part", "artifacts/a/whole", "artifacts/e"]
    assert not (tmp_path / "artifacts" / "b").exists()


async def test_a_folder_goes_with_its_last_blob(tmp_path: Path) -> None:
    """And is made again, by whoever writes into it in that moment."""
    blobs = FolderBlobs(tmp_path)
    await blobs.put("a/b/one", [b"1"])
    await blobs.put("a/two", [b"2"])
    await blobs.delete("a/b/one")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["two"]

    for number in range(50):
        await asyncio.gather(blobs.delete("c/d/old"), blobs.put("c/d/new", [b"%d" % number]))
        assert await blobs.read("c/d/new") == b"%d" % number
        await blobs.put("c/d/old", [b"x"])
        await blobs.delete("c/d/new")


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "..", "a/../b", "a/./b", "a\\b", "a b", "ä", "a/b\n", "a#1", "%2e%2e"]
)
async def test_a_path_that_leads_elsewhere_is_refused(blobs: Blobs, path: str) -> None:
    """Whatever is asked of it, and before the store hears of it."""
    for attempt in (
        blobs.put(path, [b""]),
        blobs.read(path),
        whole(blobs, path),
        blobs.delete(path),
    ):
        with pytest.raises(ValueError, match="no path of a blob"):
            await attempt


@given(st.text(st.sampled_from("./ab"), max_size=8))
@example("a/..")
def test_a_path_that_is_taken_stays_below_the_store(path: str) -> None:
    """However dots and slashes are arranged."""
    root = Path("/store")
    try:
        checked(path)
    except ValueError:
        return
    target = Path(str(root / path))
    assert target.is_relative_to(root)
    assert target != root
    assert ".." not in target.parts


async def test_a_bucket_that_is_not_there_fails_in_our_words(
    s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that S3 refuses is a StorageError of one line."""
    bucket(s3, "p", monkeypatch)
    blobs = open_blobs("s3://nowhere/p", Path("unused"))

    with pytest.raises(StorageError) as refused:
        await blobs.put("a", [b"x"])
    assert "\n" not in refused.value.message


async def test_only_the_owner_can_read_a_folder_of_blobs(tmp_path: Path) -> None:
    """Folders are 0700, files 0600, and nothing else lies there."""
    blobs = open_blobs(None, tmp_path / "data")
    await blobs.put("sessions/s/archive/1.gz", [b"secret"])

    made = sorted((tmp_path / "data").rglob("*"))
    assert [path.relative_to(tmp_path / "data").as_posix() for path in made] == [
        "blobs",
        "blobs/sessions",
        "blobs/sessions/s",
        "blobs/sessions/s/archive",
        "blobs/sessions/s/archive/1.gz",
    ]
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


async def test_a_blob_reaches_the_disk_before_its_name_and_its_name_before_put_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is synced, then renamed, then the folder is synced, and each new folder in its parent."""
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted(descriptor: int) -> None:
        done.append(
            "sync " + str(Path(f"/proc/self/fd/{descriptor}").readlink()).removeprefix(f"{tmp_path}/")
        )
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        done.append("rename")
        return replace(path, target)

    blobs = FolderBlobs(tmp_path)
    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Path, "replace", renamed)
    await blobs.put("a/b/c", [b"x"])

    done[2] = re.sub("[0-9a-f]{16}", "NONCE", done[2])
    assert done == [f"sync {tmp_path}", "sync a", "sync a/b/.c.NONCE.part", "rename", "sync a/b"]


async def test_a_folder_that_cannot_be_used_fails_in_our_words(tmp_path: Path) -> None:
    """At once when it cannot be made, else when it is used."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be used"):
        open_blobs(str(tmp_path / "file"), tmp_path)

    blobs = open_blobs(str(tmp_path / "store"), tmp_path)
    (tmp_path / "store" / "a").write_text("in the way")
    with pytest.raises(StorageError, match=r"failed \(a/b: "):
        await blobs.put("a/b", [b"x"])


@pytest.mark.parametrize("url", ["http://host/x", "s3://", "file://host/path", "gs://bucket"])
def test_an_address_of_another_kind_is_refused(url: str, tmp_path: Path) -> None:
    """The message says which are taken."""
    with pytest.raises(SettingsError, match="GATEWAY_BLOB_URL must be"):
        open_blobs(url, tmp_path)
