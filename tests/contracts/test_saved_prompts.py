"""What storage owes about saved prompts: they are seen and changed by those whose they are alone."""

from dataclasses import replace

import pytest

from gateway.errors import Forbidden
from gateway.storage.holds import Hold
from gateway.storage.projects import Invitation, Project
from gateway.storage.saved_prompts import SavedPrompt, SavedPromptChanges
from gateway.storage.sessions.access import ProjectRole
from tests.product import Conflict, NotFound, Storage

pytestmark = pytest.mark.anyio

ADA, BOB, EVE = "ada", "bob", "eve"
APOLLO = Project("p_1", "default", "Apollo", ADA, 5)
MINE = SavedPrompt("sp_1", "prompt", "default", ADA, None, "standup", "每日", "{{what}}?", None, ADA, 5, 5)
OURS = replace(MINE, id="sp_2", owner=None, project_id=APOLLO.id)
OF_ALL = replace(MINE, id="sp_3", owner=None, created_by=EVE)


async def joined(storage: Storage, user_id: str, role: ProjectRole) -> None:
    await storage.projects.put_member(Invitation(APOLLO.id, user_id, role, ADA, 6), most=9, most_open=9)
    await storage.projects.accept(APOLLO.id, user_id, 7)


async def shown(storage: Storage, user_id: str, tenant: str = "default") -> list[str]:
    return [each.id for each in await storage.saved_prompts.list(user_id, tenant, limit=99)]


async def test_everybody_sees_their_own_those_of_their_projects_and_those_of_all(storage: Storage) -> None:
    """Their own first. Nothing is seen in another tenant, and nothing of a project by who is not in it."""
    await storage.projects.add(APOLLO, most=9)
    await joined(storage, BOB, "reader")
    for prompt in (OF_ALL, OURS, MINE):
        await storage.saved_prompts.add(prompt, most=9)

    assert await shown(storage, ADA) == ["sp_1", "sp_2", "sp_3"]
    assert await shown(storage, BOB) == ["sp_2", "sp_3"]
    assert await shown(storage, EVE) == ["sp_3"]
    assert await shown(storage, EVE, "team") == []
    assert (await storage.saved_prompts.list(ADA, "default", limit=1))[0] == MINE


async def test_it_is_changed_by_those_whose_it_is(storage: Storage) -> None:
    """Its owner, who writes in its project, an admin of its tenant: to the others it is not there, and who
    only reads in the project is told so."""
    await storage.projects.add(APOLLO, most=9)
    await joined(storage, BOB, "editor")
    await joined(storage, "rita", "reader")
    for prompt in (OF_ALL, OURS, MINE):
        await storage.saved_prompts.add(prompt, most=9)
    edits = SavedPromptChanges(title="", text="Now?")
    change, delete = storage.saved_prompts.change, storage.saved_prompts.delete

    assert await change("sp_1", ADA, edits, 8) == replace(MINE, title=None, text="Now?", updated_at=8)
    assert (await change("sp_2", BOB, SavedPromptChanges(name="sync"), 8)).name == "sync"
    assert (await change("sp_3", ADA, edits, 8, tenant="default")).text == "Now?"
    refused = [("sp_1", BOB, None), ("sp_2", EVE, None), ("sp_3", ADA, None), ("sp_9", ADA, None)]
    refused += [("sp_1", ADA, "default"), ("sp_2", ADA, "default"), ("sp_3", ADA, "team")]
    for prompt_id, user_id, tenant in refused:
        with pytest.raises(NotFound):
            await change(prompt_id, user_id, edits, 9, tenant=tenant)
        with pytest.raises(NotFound):
            await delete(prompt_id, user_id, tenant=tenant)
    with pytest.raises(Forbidden):
        await delete("sp_2", "rita")
    with pytest.raises(Forbidden):
        await storage.saved_prompts.add(replace(OURS, id="sp_8", created_by="rita"), most=9)
    with pytest.raises(NotFound):
        await storage.saved_prompts.add(replace(OURS, id="sp_8", created_by=EVE), most=9)

    await delete("sp_1", ADA)
    await delete("sp_2", BOB)
    await delete("sp_3", ADA, tenant="default")
    assert await shown(storage, ADA) == []


async def test_a_name_is_there_once_and_there_are_only_so_many(storage: Storage) -> None:
    """A persona may have the name of a prompt, and somebody else's may have it too."""
    add = storage.saved_prompts.add
    await add(MINE, most=3)
    await add(replace(MINE, id="sp_4", kind="persona"), most=3)
    await add(replace(MINE, id="sp_5", owner=BOB, created_by=BOB), most=3)
    await add(replace(MINE, id="sp_6", name="other"), most=3)

    with pytest.raises(Conflict) as full:
        await add(replace(MINE, id="sp_7", name="third"), most=3)
    with pytest.raises(Conflict) as taken:
        await add(replace(MINE, id="sp_7", name="STANDUP"), most=9)
    with pytest.raises(Conflict) as renamed:
        await storage.saved_prompts.change("sp_6", ADA, SavedPromptChanges(name="standup"), 9)

    codes = [each.value.code for each in (full, taken, renamed)]
    assert codes == ["too_many_saved_prompts", "name_taken", "name_taken"]
    assert (await storage.saved_prompts.change("sp_1", ADA, SavedPromptChanges(name="StandUp"), 9)).updated_at


async def test_those_of_a_project_end_with_it(storage: Storage) -> None:
    await storage.projects.add(APOLLO, most=9)
    await storage.saved_prompts.add(OURS, most=9)
    await storage.projects.delete(APOLLO.id, by=ADA)
    await storage.projects.add(APOLLO, most=9)

    assert await shown(storage, ADA) == []


async def test_what_is_held_is_neither_overwritten_nor_removed(storage: Storage) -> None:
    await storage.saved_prompts.add(MINE, most=9)
    await storage.holds.place(Hold("hold_1", "user", ADA, ADA, "default", "a case", EVE, 5))

    with pytest.raises(Conflict) as changed:
        await storage.saved_prompts.change("sp_1", ADA, SavedPromptChanges(text="gone"), 9)
    with pytest.raises(Conflict) as deleted:
        await storage.saved_prompts.delete("sp_1", ADA)

    assert {changed.value.code, deleted.value.code} == {"legal_hold"}
