"""Files that come in: how much of one user's there may be at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, nullcontext
from pathlib import Path

import pytest

from gateway.errors import TooLarge
from gateway.service.upload_buffer import UploadBuffer
from tests.product import QueueFull

pytestmark = pytest.mark.anyio


async def chunks(*sizes: int) -> AsyncGenerator[bytes]:
    for size in sizes:
        yield bytes(size)


@pytest.mark.parametrize("together", [True, False])
async def test_files_of_one_user_are_bounded_together(tmp_path: Path, together: bool) -> None:
    """Where the buffer says so: another one has no room beside one that is there. Others have theirs, and
    what is gone leaves its room."""
    buffer = UploadBuffer(
        tmp_path,
        largest=9,
        max_bytes=1000,
        limit="max_import_size",
        what="imports",
        of_one=2,
        together=together,
    )
    async with buffer.received(chunks(300, 300), "ada") as first:
        assert first.tell() == 600
        async with buffer.received(chunks(600), "bob"):
            pass
        refused = pytest.raises(TooLarge, match="With others of yours") if together else nullcontext()
        with refused:
            async with buffer.received(chunks(300, 300), "ada"):
                pass
    async with buffer.received(chunks(500, 500), "ada"):
        pass
    with pytest.raises(TooLarge, match="The file is larger than 1000 bytes: see GATEWAY_MAX_IMPORT_SIZE"):
        async with buffer.received(chunks(500, 501), "ada"):
            pass


async def test_an_upload_that_is_broken_off_leaves_its_room(tmp_path: Path) -> None:
    buffer = UploadBuffer(
        tmp_path, largest=9, max_bytes=1000, limit="x", what="imports", of_one=2, together=True
    )
    begun = asyncio.Event()

    async def endless() -> AsyncGenerator[bytes]:
        yield bytes(900)
        begun.set()
        await asyncio.Event().wait()

    async def receive() -> None:
        async with buffer.received(endless(), "ada"):
            pass

    task = asyncio.create_task(receive())
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    async with buffer.received(chunks(1000), "ada") as file:
        assert file.tell() == 1000


async def test_files_of_all_users_are_bounded_by_their_bytes(tmp_path: Path) -> None:
    """Whoever sends nothing keeps nobody out; where the bytes are used up, who sends more is refused."""
    buffer = UploadBuffer(
        tmp_path, largest=2, max_bytes=1000, limit="artifact_max_size", what="uploads", of_one=2
    )
    async with AsyncExitStack() as kept:
        for number in range(20):
            await kept.enter_async_context(buffer.received(chunks(), f"slow{number}"))
        for name in ("ada", "bob"):
            await kept.enter_async_context(buffer.received(chunks(900), name))
        await kept.enter_async_context(buffer.received(chunks(200), "cy"))
        with pytest.raises(QueueFull, match="Too many uploads"):
            await kept.enter_async_context(buffer.received(chunks(1), "dan"))
    async with buffer.received(chunks(1000), "dan"):
        pass
