"""A keeper for each test."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.memory.extraction.conversing import Learner, open_learner


@pytest.fixture
async def learner(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Learner]:
    """Ann, Bea and Cid share the household `home`."""
    async with open_learner(tmp_path, households={"home": ("ann", "bea"), "other": ("cid",)}) as opened:
        yield opened
