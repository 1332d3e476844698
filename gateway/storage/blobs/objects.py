"""Blobs through obstore, in any store that it knows."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError

from gateway.errors import BlobMissing, StorageError
from gateway.files.disk import is_full

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CHUNK = 1_048_576
"""Bytes of one chunk of `stream`: a slow reader holds no more, and no request open while it thinks."""

PART = 5_242_880
"""Bytes that are sent in one request. The least that S3 takes as a part of a larger upload (AWS, "Amazon S3
multipart upload limits")."""

NO_BUCKET = "<Code>NoSuchBucket</Code>"
"""In every answer of S3 about a bucket that does not exist (AWS, "Error responses")."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


WRITERS, BULK_WRITERS = 4, 2
"""Blobs that are stored at a time, and those that come slowly, as a session on its way to its archive."""


@dataclass(slots=True)
class Left:
    """How many writers are still at an abandoned blob, and whether it is to be removed afterwards."""

    count: int = 0
    is_unwanted: bool = False


class Given:
    """Chunks on their way to the store: counted, and at an end once `stopped` is set. What their source
    raises is kept, as a store may replace it by an error of its own."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.size = 0
        self.stopped = threading.Event()
        self.failure: Exception | None = None
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._chunks:
                self.check()
                self.size += len(chunk)
                yield chunk
        except Exception as error:
            self.failure = error
            raise

    def check(self) -> None:
        """Raises errors.StorageError once the blob was abandoned."""
        if self.stopped.is_set():
            raise StorageError("Storing the blob was given up.")


class ObjectBlobs:
    """The `Blobs` protocol. What is stored comes on threads of its own: it may be read with the help of
    others."""

    def __init__(self, store: "ObjectStore") -> None:
        self._store = store
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="blob-writer")
        self._bulk_writers = ThreadPoolExecutor(BULK_WRITERS, thread_name_prefix="blob-bulk-writer")
        self._left: dict[str, Left] = {}
        self._cleaning: set[asyncio.Task[None]] = set()

    async def put(self, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        """Stores the blob whole or not at all; returns its size in bytes."""
        given = Given(chunks)
        writers = self._bulk_writers if bulk else self._writers
        job = writers.submit(self._put, checked(path), given)
        if (left := self._left.get(path)) is not None:
            left.is_unwanted = False
        try:
            await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            given.stopped.set()
            if not job.cancel():
                self._leave(path, job)
            raise
        except Exception:
            if given.failure is not None:
                raise given.failure from None
            raise
        return given.size

    async def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        """At most `length` bytes from `start` on. Raises errors.BlobMissing."""
        if length == 0:
            return b""
        with failures(checked(path)):
            try:
                return await self._read(path, start, length)
            except BaseError:
                # A store refuses to read behind the end of a blob.
                if (await obstore.head_async(self._store, path))["size"] <= start:
                    return b""
                raise

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """The blob in chunks. Iterating raises errors.BlobMissing."""
        start = 0
        while chunk := await self.read(path, start=start, length=CHUNK):
            yield chunk
            start += len(chunk)
            if len(chunk) < CHUNK:
                return

    async def delete(self, path: str) -> None:
        """Removes the blob, also one that a cancelled caller is still writing."""
        if (left := self._left.get(path)) is not None:
            left.is_unwanted = True
        try:
            with failures(checked(path)):
                await self._delete(path)
        except BlobMissing:
            return

    async def sweep(self, before: int) -> int:
        """Removes nothing and returns 0. A bucket shows no part of a blob; what it keeps of one is for its
        own rules."""
        return 0

    async def _delete(self, path: str) -> None:
        await obstore.delete_async(self._store, path)

    def _leave(self, path: str, job: Future[None]) -> None:
        """Notes that the caller of a blob that is under way has left."""
        left = self._left.setdefault(path, Left())
        left.count += 1
        loop = asyncio.get_running_loop()

        def over(_: Future[None]) -> None:
            with suppress(RuntimeError):  # the loop was closed: a sweep of the next process finds the blob
                loop.call_soon_threadsafe(self._over, path, left)

        job.add_done_callback(over)

    def _over(self, path: str, left: Left) -> None:
        left.count -= 1
        if left.count:
            return
        del self._left[path]
        if left.is_unwanted:
            task = asyncio.create_task(self._clean(path), name=f"removal of {path}")
            self._cleaning.add(task)
            task.add_done_callback(self._cleaning.discard)

    async def _clean(self, path: str) -> None:
        with suppress(StorageError):  # a sweep finds it
            await self.delete(path)

    async def _read(self, path: str, start: int, length: int | None) -> bytes:
        if length is not None:
            return bytes(await obstore.get_range_async(self._store, path, start=start, length=length))
        found = await obstore.get_async(
            self._store, path, options={"range": {"offset": start}} if start else None
        )
        return bytes(await found.bytes_async())

    def _put(self, path: str, chunks: Given) -> None:
        """On a writer's thread. A small blob takes one request, a larger one is sent in parts."""
        parts = _in_parts(chunks)
        first, second = next(parts, b""), next(parts, None)
        whole = first if second is None else chain((first, second), parts)
        with failures(path):
            obstore.put(self._store, path, whole, chunk_size=PART, max_concurrency=2)


def checked(path: str) -> str:
    """The path itself. Raises ValueError when it may lead anywhere but below the store."""
    for part in path.split("/"):
        if not _NAME.fullmatch(part) or part in {".", ".."}:
            raise ValueError(f"{path!r} is no path of a blob")
    return path


@contextmanager
def failures(path: str) -> Generator[None]:
    """Turns what a store raises inside into our errors."""
    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise StorageError("The blob store failed.", cause="there is no such bucket") from error
        raise BlobMissing(f"There is no blob {path}.", details={"path": path}) from None
    except OSError as error:
        if is_full(error):
            raise StorageError("The disk of the blobs is full.", code="storage_full") from error
        raise StorageError("The blob store failed.", cause=f"{path}: {error.strerror or error}") from error
    except BaseError as error:
        # The first line is the error's own; below it obstore prints the chain of its causes.
        plain = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise StorageError("The blob store failed.", cause=f"{path}: {plain}") from error


def _in_parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of at least PART, but for the last."""
    gathered: list[bytes] = []
    size = 0
    for chunk in chunks:
        gathered.append(chunk)
        size += len(chunk)
        if size >= PART:
            yield b"".join(gathered)
            gathered, size = [], 0
    if gathered:
        yield b"".join(gathered)
