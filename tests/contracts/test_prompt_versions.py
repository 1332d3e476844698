"""What storage owes about what the operator writes in place of files of the prompt."""

from dataclasses import replace

import pytest

from gateway.storage.prompt_versions import PromptVersion
from tests.product import Conflict, Storage

pytestmark = pytest.mark.anyio

NEW = PromptVersion(0, "identity", "You are 小助手.", "digest", "a name", "root", 5)


async def test_versions_are_kept_and_the_newest_of_each_component_holds(storage: Storage) -> None:
    """In the order in which they came; each is told of."""
    told: list[str] = []
    storage.signals.on("configured", told.append)
    store = storage.prompt_versions
    first = await store.add(NEW, after=0)
    other = await store.add(replace(NEW, component="style"), after=0)
    second = await store.add(replace(NEW, text=None, digest=None), after=first.number)

    assert replace(first, number=0) == NEW
    assert await store.newest() == [second, other]
    assert await store.of("identity", before=None, limit=9) == [second, first]
    assert await store.of("identity", before=None, limit=1) == [second]
    assert await store.of("identity", before=second.number, limit=9) == [first]
    assert await store.of("nothing", before=None, limit=9) == []
    assert told == ["prompt_versions"] * 3


async def test_nobody_writes_over_what_they_have_not_seen(storage: Storage) -> None:
    first = await storage.prompt_versions.add(NEW, after=0)
    for after in (0, first.number + 1):
        with pytest.raises(Conflict) as refused:
            await storage.prompt_versions.add(NEW, after=after)
        assert refused.value.code == "component_changed"

    assert await storage.prompt_versions.newest() == [first]
