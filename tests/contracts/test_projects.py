"""What storage owes about projects and their members."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest

from gateway.errors import Forbidden, SessionIdTaken
from gateway.storage.projects import Invitation, Member, Membership, Project
from gateway.storage.retention import SessionDays
from gateway.storage.sessions import Sharing
from gateway.storage.sessions.access import ProjectRole, SessionAccess
from gateway.storage.turns import TurnRow
from tests.contracts.test_approvals import APPROVED, asked
from tests.product import Conflict, NotFound, Storage
from tests.storage.writing import accepted

pytestmark = pytest.mark.anyio

ADA, BOB, EVE = "ada", "bob", "eve"
APOLLO = Project("p_1", "default", "Apollo", ADA, 5)
MOST = 3


def member(user_id: str, role: ProjectRole = "reader", by: str = ADA, at: int = 7) -> Member:
    return Member(APOLLO.id, user_id, role, by, at)


async def put(storage: Storage, wanted: Member, *, most: int = MOST, most_open: int = 9) -> object:
    """Invites somebody, who accepts; or gives a member another role. Returns the turns that have to stop."""
    given = Invitation(wanted.project_id, wanted.user_id, wanted.role, wanted.added_by, wanted.added_at)
    stopped = await storage.projects.put_member(given, most=most, most_open=most_open)
    with suppress(NotFound):  # a member already
        await storage.projects.accept(wanted.project_id, wanted.user_id, wanted.added_at)
    return stopped


async def test_who_is_invited_has_nothing_of_a_project_before_they_accept(storage: Storage) -> None:
    """Neither it nor what is shared in it is in their lists, nor found by its id; declined, or taken back, it
    is as if they had not been asked."""
    projects = storage.projects
    await projects.add(APOLLO, most=MOST)
    await storage.sessions.create("s", ADA, None, 5)
    await storage.sessions.change("s", ADA, 6, project_id=APOLLO.id, shared="write")
    asked = Invitation(APOLLO.id, BOB, "editor", ADA, 7)
    await projects.put_member(replace(asked, role="reader"), most=MOST, most_open=9)
    await projects.put_member(asked, most=MOST, most_open=9)

    assert list(await projects.invitations(BOB, limit=9)) == [(APOLLO, asked)]
    assert list(await projects.invited(APOLLO.id, ADA)) == [asked]
    assert list(await projects.list(BOB)) == []
    assert await projects.access("s", BOB) is None
    assert [each.user_id for each in await projects.members(APOLLO.id, ADA)] == [ADA]
    for refused in (projects.get(APOLLO.id, BOB), projects.invited(APOLLO.id, BOB)):
        with pytest.raises(NotFound):
            await refused
    with pytest.raises(NotFound):
        await projects.accept(APOLLO.id, EVE, 8)

    for end in (projects.decline(APOLLO.id, BOB), projects.remove_member(APOLLO.id, BOB, by=ADA)):
        await end
        assert list(await projects.invitations(BOB, limit=9)) == []
        with pytest.raises(NotFound):
            await projects.accept(APOLLO.id, BOB, 8)
        await projects.put_member(asked, most=MOST, most_open=9)

    assert await projects.accept(APOLLO.id, BOB, 8) == Membership(APOLLO, "editor")
    assert await projects.access("s", BOB) == SessionAccess(ADA, "editor", "write")
    assert list(await projects.invited(APOLLO.id, BOB)) == []


async def test_invitations_that_wait_are_bounded(storage: Storage) -> None:
    """Those of a project count as its members, and one user has few of the same other one; a project that is
    deleted takes its own along."""
    projects = storage.projects
    for name in ("p_1", "p_2", "p_3"):
        await projects.add(replace(APOLLO, id=name), most=MOST)
        if name != "p_3":
            await projects.put_member(Invitation(name, BOB, "reader", ADA, 7), most=2, most_open=2)
    for name, user, code in (("p_1", EVE, "too_many_members"), ("p_3", BOB, "too_many_invitations")):
        with pytest.raises(Conflict) as refused:
            await projects.put_member(Invitation(name, user, "reader", ADA, 7), most=2, most_open=2)
        assert refused.value.code == code
    await projects.delete("p_1", by=ADA)

    assert [each.id for each, _ in await projects.invitations(BOB, limit=9)] == ["p_2"]
    assert await projects.invitations(BOB, limit=0) == []


async def test_an_invitation_ends_with_the_rights_of_who_made_it(storage: Storage) -> None:
    """An owner who is about to be removed, or made less, leaves no accomplice behind."""
    projects = storage.projects
    await projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB, "owner"))
    for lessened in ("editor", None):
        asked = Invitation(APOLLO.id, EVE, "owner", BOB, 8)
        await projects.put_member(asked, most=MOST, most_open=9)
        if lessened is None:
            await projects.remove_member(APOLLO.id, BOB, by=ADA)
        else:
            await put(storage, member(BOB, "editor"))
        assert list(await projects.invited(APOLLO.id, ADA)) == []
        with pytest.raises(NotFound):
            await projects.accept(APOLLO.id, EVE, 9)
        if lessened is not None:
            await put(storage, member(BOB, "owner"))


async def test_its_maker_is_its_first_owner(storage: Storage) -> None:
    await storage.projects.add(APOLLO, most=MOST)

    assert await storage.projects.get(APOLLO.id, ADA) == Membership(APOLLO, "owner")
    assert list(await storage.projects.members(APOLLO.id, ADA)) == [member(ADA, "owner", at=5)]
    assert list(await storage.projects.list(ADA)) == [Membership(APOLLO, "owner")]


async def test_to_who_is_no_member_it_is_as_absent_as_one_that_never_was(storage: Storage) -> None:
    """In the same words, whatever is asked."""
    await storage.projects.add(APOLLO, most=MOST)
    projects = storage.projects
    asked: list[Callable[[str], Awaitable[object]]] = [
        lambda name: projects.get(name, EVE),
        lambda name: projects.members(name, EVE),
        lambda name: projects.change(name, EVE, name="mine"),
        lambda name: projects.delete(name, by=EVE),
        lambda name: put(storage, replace(member(EVE, "owner", EVE), project_id=name), most=MOST),
        lambda name: projects.remove_member(name, EVE, by=EVE),
        lambda name: projects.remove_member(name, ADA, by=EVE),
    ]
    for each in asked:
        said: set[str] = set()
        for name in (APOLLO.id, "p_2"):
            with pytest.raises(NotFound) as refused:
                await each(name)
            assert refused.value.code == "project_not_found"
            said.add(refused.value.message.replace(name, "it"))
        assert len(said) == 1
    assert list(await projects.list(EVE)) == []
    assert list(await projects.members(APOLLO.id, ADA)) == [member(ADA, "owner", at=5)]


async def test_owners_alone_change_it(storage: Storage) -> None:
    """Another member may leave, and no more."""
    await storage.projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB, "editor"), most=MOST)

    for change in (
        storage.projects.change(APOLLO.id, BOB, name="mine"),
        storage.projects.delete(APOLLO.id, by=BOB),
        put(storage, member(BOB, "owner", BOB), most=MOST),
        storage.projects.remove_member(APOLLO.id, ADA, by=BOB),
    ):
        with pytest.raises(Forbidden) as refused:
            await change
        assert refused.value.code == "not_project_owner"

    assert await storage.projects.change(APOLLO.id, ADA, name="阿波罗") == replace(APOLLO, name="阿波罗")
    await storage.projects.remove_member(APOLLO.id, BOB, by=BOB)
    assert [each.user_id for each in await storage.projects.members(APOLLO.id, ADA)] == [ADA]


async def test_it_is_never_left_without_an_owner(storage: Storage) -> None:
    """Neither by leaving nor by another role; once there is a second one, the first may go."""
    await storage.projects.add(APOLLO, most=MOST)
    for change in (
        storage.projects.remove_member(APOLLO.id, ADA, by=ADA),
        put(storage, member(ADA, "editor"), most=MOST),
    ):
        with pytest.raises(Conflict) as refused:
            await change
        assert refused.value.code == "last_owner"
    assert (await storage.projects.get(APOLLO.id, ADA)).role == "owner"

    await put(storage, member(BOB, "owner"), most=MOST)
    await storage.projects.remove_member(APOLLO.id, ADA, by=ADA)

    assert (await storage.projects.get(APOLLO.id, BOB)).role == "owner"


async def test_a_member_is_put_once_and_then_gets_another_role(storage: Storage) -> None:
    """A project has no more of them than it may; who is in it already takes no place."""
    await storage.projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB), most=2)
    await put(storage, member(BOB, "editor", at=9), most=2)
    with pytest.raises(Conflict) as refused:
        await put(storage, member(EVE), most=2)

    assert refused.value.code == "too_many_members"
    assert list(await storage.projects.members(APOLLO.id, BOB)) == [
        member(ADA, "owner", at=5),
        member(BOB, "editor"),
    ]


async def test_a_user_makes_no_more_than_they_may(storage: Storage) -> None:
    """One that is deleted makes room; those of others take none."""
    await storage.projects.add(APOLLO, most=1)
    await storage.projects.add(replace(APOLLO, id="p_2", created_by=BOB), most=1)
    with pytest.raises(Conflict) as refused:
        await storage.projects.add(replace(APOLLO, id="p_3"), most=1)
    assert refused.value.code == "too_many_projects"

    await storage.projects.delete(APOLLO.id, by=ADA)
    await storage.projects.add(replace(APOLLO, id="p_3"), most=1)

    assert [each.project.id for each in await storage.projects.list(ADA)] == ["p_3"]


async def test_a_shared_session_is_something_to_members_of_its_project(storage: Storage) -> None:
    """To its owner always; to others by their role, as long as its owner is in the project as well."""
    await storage.projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB), most=MOST)
    await storage.sessions.create("s", ADA, None, 5)
    access = storage.projects.access
    assert [await access("s", user) for user in (ADA, BOB)] == [SessionAccess(ADA), None]

    await storage.sessions.change("s", ADA, 6, project_id=APOLLO.id, shared="read")
    assert [await access("s", user) for user in (ADA, BOB, EVE)] == [
        SessionAccess(ADA),
        SessionAccess(ADA, "reader"),
        None,
    ]
    assert await access("t", ADA) is None
    assert [each.id for each in await storage.sessions.list(BOB, limit=9, project_id=APOLLO.id)] == ["s"]
    assert await storage.sessions.list(BOB, limit=9) == []
    assert await storage.sessions.list(EVE, limit=9, project_id=APOLLO.id) == []

    await put(storage, member(BOB, "owner"), most=MOST)
    await storage.projects.remove_member(APOLLO.id, ADA, by=BOB)
    assert await access("s", BOB) is None
    assert (await storage.sessions.get("s", ADA)).shared is None


async def test_what_others_share_is_one_list_over_all_projects(storage: Storage) -> None:
    """With pages and with a search; without one's own, what is private there, and what a stranger shares."""
    zeus = replace(APOLLO, id="p_2", name="Zeus")
    for project in (APOLLO, zeus):
        await storage.projects.add(project, most=MOST)
        await put(storage, replace(member(BOB, "editor"), project_id=project.id), most=MOST)
    made: list[tuple[str, str, Project, Sharing]] = [
        ("first", ADA, APOLLO, "read"),
        ("second", ADA, zeus, "write"),
        ("kept", ADA, zeus, "none"),
        ("own", BOB, zeus, "read"),
    ]
    for at, (name, owner, project, shared) in enumerate(made):
        await storage.sessions.create(name, owner, f"launch {name}", at)
        await storage.sessions.change(name, owner, at, project_id=project.id, shared=shared)

    async def listed(user: str, **given: Any) -> list[str]:
        given = {"limit": 9, **given}
        return [row.id for row in await storage.sessions.list(user, **given)]

    assert await listed(BOB, whose="others") == ["second", "first"]
    assert await listed(BOB, whose="others", limit=1, before=(1, "second")) == ["first"]
    assert await listed(BOB, whose="others", query="launch") == ["second", "first"]
    assert await listed(BOB, whose="others", project_id=zeus.id) == ["second"]
    assert await listed(BOB, whose="all") == ["own", "second", "first"]
    assert await listed(BOB, whose="all", query="launch") == ["own", "second", "first"]
    assert await listed(BOB, whose="mine", project_id=zeus.id) == await listed(BOB) == ["own"]
    assert await listed(ADA, whose="others") == ["own"]
    assert await listed(EVE, whose="all") == await listed(EVE, whose="others", query="launch") == []

    await storage.projects.remove_member(zeus.id, BOB, by=ADA)
    assert await listed(BOB, whose="others", query="launch") == ["first"]


async def test_what_is_shared_is_found_by_its_words_among_what_the_project_has(storage: Storage) -> None:
    """With one's own there; not what others keep to themselves, nor without the project, nor by strangers."""
    await storage.projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB, "editor"), most=MOST)
    made: list[tuple[str, str, Sharing]] = [("a", ADA, "read"), ("kept", ADA, "none"), ("b", BOB, "none")]
    for name, owner, shared in made:
        await storage.sessions.create(name, owner, f"火箭 launch, {name}", 5)
        await storage.sessions.change(name, owner, 6, project_id=APOLLO.id, shared=shared)
    await storage.sessions.create("elsewhere", BOB, "another launch", 5)

    async def found(user: str, query: str, project_id: str | None = APOLLO.id) -> set[str]:
        rows = await storage.sessions.list(user, limit=9, query=query, project_id=project_id)
        return {row.id for row in rows}

    assert await found(BOB, "launch 火箭") == {"a", "b"}
    assert await found(ADA, "launch") == {"a", "kept"}
    assert await found(BOB, "kept") == await found(EVE, "launch") == await found(EVE, "launch", None) == set()
    assert await found(BOB, "launch", None) == {"b", "elsewhere"}

    await storage.sessions.change("a", ADA, 7, shared="none")
    assert await found(BOB, "launch") == {"b"}


async def test_a_session_that_moves_is_private_until_it_is_shared_again(storage: Storage) -> None:
    """It is moved where its owner may write, and nowhere else."""
    other = replace(APOLLO, id="p_2", created_by=BOB)
    for project in (APOLLO, other):
        await storage.projects.add(project, most=MOST)
    await storage.sessions.create("s", ADA, None, 5, project_id="a label")
    share = partial(storage.sessions.change, "s", ADA, 6)
    with pytest.raises(Conflict) as refused:
        await share(shared="read")
    assert refused.value.code == "session_in_no_project"
    await share(project_id=APOLLO.id, shared="read")
    with pytest.raises(NotFound) as absent:
        await share(project_id=other.id)
    assert absent.value.code == "project_not_found"

    await put(storage, replace(member(ADA, "editor", BOB), project_id=other.id), most=MOST)
    await share(project_id=other.id)

    moved = await storage.sessions.get("s", ADA)
    assert (moved.project_id, moved.shared) == (other.id, None)
    with pytest.raises(NotFound):
        await storage.sessions.change("s", BOB, 6, shared="read")


async def test_what_is_changed_together_is_changed_together_or_not_at_all(storage: Storage) -> None:
    """A title, days and a project that are given with a sharing that is refused stay as they were."""
    await storage.projects.add(APOLLO, most=MOST)
    await storage.sessions.create("s", ADA, "before", 5)
    before = await storage.sessions.get("s", ADA)
    days = SessionDays(archive=3, delete=9)

    for place in ({"shared": "read"}, {"project_id": "p_none", "shared": "none"}):
        with pytest.raises((Conflict, NotFound)):
            await storage.sessions.change(  # pyright: ignore[reportCallIssue]
                "s",
                ADA,
                6,
                title="after",
                pinned=True,
                retention=days,
                **place,  # pyright: ignore[reportArgumentType]
            )
        assert await storage.sessions.get("s", ADA) == before
    changed = await storage.sessions.change(
        "s", ADA, 6, title="after", project_id=APOLLO.id, shared="read", retention=days
    )

    assert (changed.title, changed.shared) == ("after", "read")
    assert (changed.archive_days, changed.delete_days) == (3, 9)


async def _written(storage: Storage, role: ProjectRole = "editor") -> None:
    """A session of Ada's in which Bob may write, if his role lets him."""
    await storage.projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB, role), most=MOST)
    await storage.sessions.create("s", ADA, None, 5)
    await storage.sessions.change("s", ADA, 6, project_id=APOLLO.id, shared="write")


async def test_who_may_write_in_a_session_starts_turns_there(storage: Storage) -> None:
    """They are its sender's, who is told beside whose the session is; nobody else may, nor make one of its
    id."""
    await _written(storage)

    bobs = (await accepted(storage, owner=BOB, create=False)).turn
    assert (bobs.owner, bobs.host, bobs.session_owner, bobs.is_shared) == (BOB, ADA, ADA, True)
    assert await storage.turns.get("s", "t", ADA) == await storage.turns.get(None, "t", BOB)
    assert (await storage.turns.get("s", "t", ADA)).host == ADA
    with pytest.raises(NotFound):
        await storage.turns.get("s", "t", BOB)
    assert await storage.turns.of_others("s", ADA) == {"t"}
    assert await storage.turns.of_others("s", BOB) == frozenset()
    with pytest.raises(NotFound):
        await accepted(storage, turn_id="t2", owner=EVE, create=False)
    with pytest.raises(SessionIdTaken):
        await accepted(storage, turn_id="t2", owner=EVE)
    assert [each.id for each in await storage.turns.of_owner(BOB, None, limit=9, before=None)] == ["t"]
    assert await storage.turns.of_owner(ADA, None, limit=9, before=None) == []


async def test_readers_start_none(storage: Storage) -> None:
    """Nor does anybody in a session that is only read."""
    await _written(storage, "reader")
    with pytest.raises(NotFound):
        await accepted(storage, owner=BOB, create=False)
    await put(storage, member(BOB, "editor"), most=MOST)
    await storage.sessions.change("s", ADA, 6, shared="read")
    with pytest.raises(NotFound):
        await accepted(storage, owner=BOB, create=False)
    assert await storage.projects.access("s", BOB) == SessionAccess(ADA, "editor", "read")


@pytest.mark.parametrize("way", ["removed", "erased", "made a reader", "read-only", "unshared", "deleted"])
async def test_turns_of_who_may_not_write_any_more_are_asked_to_stop(storage: Storage, way: str) -> None:
    """By the transaction that says so, which returns them: what runs, and what waits; not what their owner
    sent there, nor theirs elsewhere."""
    await _written(storage)
    await accepted(storage, owner=BOB, create=False)
    await accepted(storage, turn_id="waits", owner=BOB, create=False, on_conflict="queue")
    await accepted(storage, turn_id="adas", owner=ADA, create=False, on_conflict="queue")
    await accepted(storage, "bobs", "own", owner=BOB)
    projects = storage.projects
    change: dict[str, Callable[[], Awaitable[object]]] = {
        "removed": lambda: projects.remove_member(APOLLO.id, BOB, by=ADA),
        "erased": lambda: projects.erase_member(APOLLO.id, BOB),
        "made a reader": lambda: put(storage, member(BOB), most=MOST),
        "read-only": lambda: storage.sessions.change("s", ADA, 6, shared="read"),
        "unshared": lambda: storage.sessions.change("s", ADA, 6, shared="none"),
        "deleted": lambda: projects.delete(APOLLO.id, by=ADA),
    }

    stopped = await change[way]()

    assert [each.id for each in await storage.turns.stopping("s")] == ["t", "waits"]
    if isinstance(stopped, list):
        assert [each.id for each in cast("list[TurnRow]", stopped)] == ["t", "waits"]
    for turn_id in ("t", "waits", "adas"):
        turn = await storage.turns.get("s", turn_id, ADA)
        assert turn.cancel_requested == (turn_id != "adas")
    assert not (await storage.turns.get(None, "own", BOB)).cancel_requested
    with pytest.raises(NotFound):
        await accepted(storage, turn_id="later", owner=BOB, create=False, on_conflict="queue")


async def test_a_decision_of_who_may_not_write_any_more_is_taken_back(storage: Storage) -> None:
    """As long as the turn has not gone on with it; that of the session's owner stays."""
    await _written(storage)
    await accepted(storage, owner=ADA, create=False)
    rows = [replace(asked(call), owner=ADA) for call in ("toolu_1", "toolu_2")]
    await storage.approvals.ask(rows)
    await storage.approvals.decide(rows[0], replace(APPROVED, by=BOB))
    await storage.approvals.decide(rows[1], replace(APPROVED, by=ADA))
    calls = ["toolu_1", "toolu_2"]
    assert await storage.approvals.withdraw("s", "t", calls) == 0
    await storage.projects.remove_member(APOLLO.id, BOB, by=ADA)

    assert await storage.approvals.withdraw("s", "t", calls) == 1

    first, second = await storage.approvals.of_turn("t")
    assert (first.verdict, second.verdict) == (None, replace(APPROVED, by=ADA))
    with pytest.raises(NotFound):
        await storage.approvals.decide(rows[0], replace(APPROVED, by=BOB))


async def test_a_list_of_projects_has_the_order_that_its_reader_gives_it(storage: Storage) -> None:
    """Others' lists stay as they are; what is not named comes behind, the oldest first."""
    projects = storage.projects
    made = [replace(APOLLO, id=f"p_{number}", created_at=number) for number in range(1, 5)]
    for each in made:
        await projects.add(each, most=9)
    await put(storage, member(BOB))

    await projects.arrange(ADA, ["p_3", "p_9", "p_1"])
    assert [each.project.id for each in await projects.list(ADA)] == ["p_3", "p_1", "p_2", "p_4"]
    await projects.arrange(ADA, ["p_4"])
    assert [each.project.id for each in await projects.list(ADA)] == ["p_4", "p_1", "p_2", "p_3"]
    assert [each.project.id for each in await projects.list(BOB)] == ["p_1"]


async def test_a_session_leaves_a_project_and_is_private_then(storage: Storage) -> None:
    await storage.projects.add(APOLLO, most=MOST)
    await storage.sessions.create("s", ADA, None, 5)
    await storage.sessions.change("s", ADA, 6, project_id=APOLLO.id, shared="write")
    await put(storage, member(BOB))

    changed = await storage.sessions.change("s", ADA, 7, project_id="")

    assert (changed.project_id, changed.shared) == (None, None)
    assert await storage.projects.access("s", BOB) is None
    with pytest.raises(Conflict):
        await storage.sessions.change("s", ADA, 8, project_id="", shared="read")


async def test_instructions_of_a_project_are_its_owners_to_write(storage: Storage) -> None:
    projects = storage.projects
    await projects.add(APOLLO, most=MOST)
    await put(storage, member(BOB, "editor"))

    changed = await projects.change(APOLLO.id, ADA, instructions="Be brief.")
    with pytest.raises(Forbidden):
        await projects.change(APOLLO.id, BOB, instructions="Be long.")

    assert changed == replace(APOLLO, instructions="Be brief.")
    assert (await projects.get(APOLLO.id, BOB)).project.instructions == "Be brief."
    assert await projects.change(APOLLO.id, ADA, instructions="") == APOLLO
