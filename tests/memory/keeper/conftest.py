"""A keeper for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.memory.keeper.conversing import Kept, keeping


@pytest.fixture
async def kept(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Kept]:
    """Ann, Bea and Cid share the household `home`."""
    async with keeping(tmp_path, households={"home": ("ann", "bea"), "other": ("cid",)}) as opened:
        yield opened
