"""A session that is long enough to be compressed."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.history.compressing import TEXT, Session, session, talk


@pytest.fixture
async def long(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Session]:
    """A session of ten turns of some 600 tokens each."""
    async with session(tmp_path) as opened:
        for turn in talk(10, TEXT):
            await opened.add(*turn)
        yield opened
