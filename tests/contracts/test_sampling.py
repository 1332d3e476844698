"""How a turn's client wants the model to write stays with the turn, whoever runs it."""

from dataclasses import replace

import pytest

from gateway.messages import UNCHANGED, Sampling
from gateway.storage.turns import NewTurn
from tests.contracts.test_instructions import over
from tests.product import Storage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

WANTED = Sampling(5, ("END", "停"), 0.25, 0.5, 40)


def _new(turn_id: str, sampling: Sampling) -> NewTurn:
    new = NewTurn(turn_id, "s", OWNER, "hi", "model", turn_id, "queue", True, 5)
    return replace(new, sampling=sampling)


async def test_a_turn_that_waits_or_is_taken_over_keeps_it(storage: Storage) -> None:
    """Each turn has its own, also behind one that wanted nothing."""
    first = await storage.turns.accept(_new("t1", UNCHANGED), max_queued=9)
    second = await storage.turns.accept(_new("t2", WANTED), max_queued=9)
    assert (first.turn.sampling, second.turn.sampling) == (UNCHANGED, WANTED)
    await over(storage, first)
    claimed = await storage.turns.claim_next("s")
    assert claimed is not None
    assert claimed.turn.sampling == WANTED
    taken = await storage.turns.take_over("t2", recovered=False)
    assert taken is not None
    assert taken.turn.sampling == WANTED
    assert (await storage.turns.get("s", "t1", OWNER)).sampling == UNCHANGED
    again = await storage.turns.accept(_new("t2", UNCHANGED), max_queued=9)
    assert again.turn.sampling == WANTED
