"""Of what replicas are asked for at the same moment, one pays."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.history.compressing import MODEL, Session, talk
from tests.history.scripted import ScriptedModel
from tests.postgres import needs_postgres
from tests.product import Conflict, Storage
from tests.storage.writing import OWNER, postgres_storage, sqlite_storage

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def in_one_process(folder: Path) -> AsyncGenerator[tuple[Storage, Storage]]:
    async with sqlite_storage(folder) as storage:
        yield storage, storage


@asynccontextmanager
async def on_postgres(folder: Path) -> AsyncGenerator[tuple[Storage, Storage]]:
    async with postgres_storage(folder) as one, postgres_storage(folder) as other:
        yield one, other


@pytest.fixture(params=[in_one_process, pytest.param(on_postgres, marks=needs_postgres)])
async def two(
    request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str
) -> AsyncGenerator[tuple[Session, Session]]:
    """A long session as two replicas have it, with one model that is paid."""
    async with request.param(tmp_path) as (one, other):
        model = ScriptedModel()
        first, second = Session(one, model), Session(other, model)
        for turn in talk(12, "words " * 400):
            await first.add(*turn)
        yield first, second


def refused(outcomes: Sequence[object]) -> list[str]:
    """The codes of those that were refused; one was not."""
    codes = [each.code for each in outcomes if isinstance(each, Conflict)]
    assert len(outcomes) - len(codes) == 1, outcomes
    return codes


async def test_two_compressions_at_once_are_one(two: tuple[Session, Session]) -> None:
    """Its archive is the only one that is left."""
    first, second = two
    outcomes = await asyncio.gather(first.compress(), second.compress(), return_exceptions=True)

    assert refused(outcomes) == ["compression_in_progress"]
    assert len(first.model.requests) == 1
    assert len(await second.storage.compressions.list("s")) == 1
    assert await second.storage.orphans.candidates(2**62, 9) == []


async def test_two_summaries_at_once_are_one(two: tuple[Session, Session]) -> None:
    session = await two[0].storage.sessions.get("s", OWNER)
    asked = (each.summariser().summarise_session(session, model=MODEL, trigger="idle") for each in two)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)

    assert refused(outcomes) == ["summary_in_progress"]
    assert len(two[0].model.requests) == 1
