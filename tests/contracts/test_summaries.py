"""What storage owes about summaries of sessions."""

from dataclasses import replace

import pytest

from tests.product import NotFound, Storage, Usage
from tests.storage.saying import add_turn, archive, ask, finish, summary
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


async def sessions(
    storage: Storage, *names: str, project_id: str | None = None, role_id: str | None = None
) -> None:
    for name in names:
        title = f"title of {name}"
        await storage.sessions.create(name, OWNER, title, 1, project_id=project_id, role_id=role_id)


async def test_a_session_has_its_newest_summary(storage: Storage) -> None:
    """A saved summary replaces the former one and is told with the session's title, to its owner alone."""
    await sessions(storage, "s")
    newest = replace(summary("s", 2), usage=Usage(input_tokens=1, output_tokens=2), cost=0.5, trigger="idle")
    await storage.summaries.save(summary("s", 1))
    await storage.summaries.save(newest)

    assert await storage.summaries.get("s", OWNER) == replace(newest, title="title of s")
    assert await storage.summaries.list(OWNER, project_id=None, limit=9) == [
        replace(newest, title="title of s")
    ]
    for session_id, owner in (("s", "bob"), ("nowhere", OWNER)):
        with pytest.raises(NotFound) as refused:
            await storage.summaries.get(session_id, owner)
        assert refused.value.code == "summary_not_found"
    assert await storage.summaries.list("bob", project_id=None, limit=9) == []


async def test_a_summary_of_a_session_that_is_gone_is_not_kept(storage: Storage) -> None:
    """Neither saving after the end nor a session that takes the id later brings one back."""
    await sessions(storage, "s")
    await storage.summaries.save(summary("s", 1))
    await storage.sessions.delete("s", OWNER)
    await storage.summaries.save(summary("s", 2))
    await sessions(storage, "s")

    assert await storage.summaries.list(OWNER, project_id=None, limit=9) == []


async def test_summaries_are_listed_newest_first(storage: Storage) -> None:
    """Of all projects or of one, without a session that is left out, and at most `limit`."""
    await sessions(storage, "a", "b", "c")
    await sessions(storage, "d", project_id="garden")
    for at, name in enumerate("cab"):
        await storage.summaries.save(summary(name, at))
    await storage.summaries.save(summary("d", 9, project_id="garden"))

    async def found(project_id: str | None, limit: int, except_for: str | None = None) -> str:
        rows = await storage.summaries.list(OWNER, project_id=project_id, limit=limit, except_for=except_for)
        return "".join(row.session_id for row in rows)

    assert await found(None, 9) == "dbac"
    assert await found(None, 2) == "db"
    assert await found(None, 9, "b") == "dac"
    assert await found("garden", 9) == "d"
    assert await found("kitchen", 9) == ""


async def test_a_new_session_is_shown_others_of_exactly_its_project(storage: Storage) -> None:
    """A session without a project is shown those without one; never itself, nor another owner's."""
    await sessions(storage, "a", "b", "new")
    await sessions(storage, "c", "d", "mine", project_id="garden")
    await storage.sessions.create("his", "bob", None, 1)

    async def shown(session_id: str, owner: str = OWNER) -> str:
        rows = await storage.summaries.carried(session_id, owner, limit=2)
        return "".join(row.session_id for row in rows)

    assert await shown("new") == ""
    for at, name in enumerate("abcd"):
        project = "garden" if name in "cd" else None
        await storage.summaries.save(summary(name, at, project_id=project))
    assert await shown("new") == "ba"
    assert await shown("b") == "a"
    assert await shown("mine") == "dc"
    assert await shown("his", "bob") == ""


async def test_what_was_said_in_a_role_is_shown_in_that_role_only(storage: Storage) -> None:
    """Neither in another role nor in none, also within one project; a list can be of one role."""
    await sessions(storage, "a", "b", role_id="lawyer")
    await sessions(storage, "c", "d", role_id="cook")
    await sessions(storage, "e", "f")
    await sessions(storage, "g", "h", project_id="garden", role_id="lawyer")
    for at, name in enumerate("aceg"):
        project = "garden" if name == "g" else None
        await storage.summaries.save(summary(name, at, project_id=project))

    async def shown(session_id: str) -> list[str]:
        rows = await storage.summaries.carried(session_id, OWNER, limit=9)
        return [row.session_id for row in rows]

    assert [await shown(name) for name in "bdfh"] == [["a"], ["c"], ["e"], ["g"]]
    listed = await storage.summaries.list(OWNER, role_id="lawyer", limit=9)
    assert [row.session_id for row in listed] == ["g", "a"]
    both = await storage.summaries.list(OWNER, project_id="garden", role_id="cook", limit=9)
    assert both == []


async def test_due_are_idle_sessions_with_something_new_to_tell(storage: Storage) -> None:
    """Not one that was used lately, has a turn in flight or no messages, or whose summary knows them all."""
    await sessions(storage, "empty")
    for name in ("never", "old", "known", "moved", "busy"):
        await add_turn(storage, name, f"t_{name}", "question", "answer")
    await storage.summaries.save(summary("old", 1, to=1))
    await storage.summaries.save(summary("known", 1, to=2))
    await archive(storage, "moved")
    busy = await ask(storage, "busy", "t_busy_2", "and?")

    assert await storage.summaries.due(idle_before=9, limit=9) == []
    found = await storage.summaries.due(idle_before=10, limit=9)
    assert sorted(found) == [(name, OWNER, None) for name in ("moved", "never", "old")]
    assert len(await storage.summaries.due(idle_before=10, limit=2)) == 2

    await finish(busy)
    assert ("busy", OWNER, None) in await storage.summaries.due(idle_before=10, limit=9)
