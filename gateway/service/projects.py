"""The operations of projects: who is in them, and as what. Nothing of one tenant is seen from another."""

from collections.abc import Awaitable, Callable, Sequence

from gateway.auth import Principal, user_id_of
from gateway.ids import new_project_id, now_ms
from gateway.prompt.text_cleaning import clean
from gateway.service.dependencies import Dependencies
from gateway.storage.memories import shared_scope
from gateway.storage.projects import Invitation, Member, Membership, Project
from gateway.storage.sessions.access import ProjectRole
from gateway.storage.turns import TurnRow

MAX_PROJECTS = 200
"""That one user has made and that are there."""
MAX_MEMBERS = 200
"""Of one project, with those who are invited."""
MAX_INVITATIONS = 200
"""That one user is shown."""
MAX_OPEN_INVITATIONS = 10
"""Of one user by the same other one, which wait for an answer."""
ERASED_PROJECT = "erased:project"
"""In its place, should another memory name it."""


class UserProjects:
    """One per process."""

    def __init__(self, deps: Dependencies, stop: Callable[[Sequence[TurnRow]], Awaitable[None]]) -> None:
        """`stop` ends the turns of those who may not write any more."""
        self._deps = deps
        self._projects = deps.projects
        self._stop = stop

    async def create(self, who: Principal, name: str) -> Project:
        """A new one, of which the caller is the owner. Raises errors.Conflict (too_many_projects)."""
        project = Project(new_project_id(), who.tenant, name, who.user_id, now_ms())
        await self._projects.add(project, most=MAX_PROJECTS)
        return project

    async def get(self, who: Principal, project_id: str) -> Membership:
        """Raises errors.NotFound (project_not_found): there is none, or the caller is not in it."""
        return await self._projects.get(project_id, who.user_id)

    async def list(self, who: Principal) -> Sequence[Membership]:
        """Those that the caller is in, in their own order, then the oldest first."""
        return await self._projects.list(who.user_id)

    async def members(self, who: Principal, project_id: str) -> Sequence[Member]:
        """Raises errors.NotFound."""
        return await self._projects.members(project_id, who.user_id)

    async def change(
        self, who: Principal, project_id: str, *, name: str | None = None, instructions: str | None = None
    ) -> Project:
        """Another name, other instructions for sessions that are made in it ("": none); None: that stays.
        Raises errors.NotFound, errors.Forbidden (not_project_owner), errors.Conflict (legal_hold): on a
        member."""
        cleaned = None if instructions is None else clean(instructions)
        return await self._projects.change(project_id, who.user_id, name=name, instructions=cleaned)

    async def arrange(self, who: Principal, project_ids: Sequence[str]) -> Sequence[Membership]:
        """Puts the caller's list of projects in this order, and returns it; those that are not named come
        behind."""
        await self._projects.arrange(who.user_id, project_ids)
        return await self.list(who)

    async def delete(self, who: Principal, project_id: str) -> None:
        """What was shared in it stays with its owners, and is private again: turns of others there end. Its
        memories are erased. Raises errors.NotFound, errors.Forbidden (not_project_owner), errors.Conflict
        (legal_hold): on a member."""
        found = await self._projects.get(project_id, who.user_id)
        if found.role == "owner":
            for member in await self._projects.members(project_id, who.user_id):
                await self._deps.holds.check(member.user_id)
            # Before, as nobody would know of them after a crash; and what a turn saved meanwhile.
            await forget_project_memories(self._deps, project_id)
        await self._stop(await self._projects.delete(project_id, by=who.user_id))
        await forget_project_memories(self._deps, project_id)

    async def put_member(self, who: Principal, project_id: str, user: str, role: ProjectRole) -> None:
        """Invites a user of the caller's tenant, who need not have come yet, or gives a member another role:
        turns of who only reads from now on end in sessions of others. Raises errors.NotFound,
        errors.Forbidden (not_project_owner), errors.Conflict (last_owner, too_many_members,
        too_many_invitations)."""
        asked = Invitation(project_id, user_id_of(who.tenant, user), role, who.user_id, now_ms())
        await self._stop(
            await self._projects.put_member(asked, most=MAX_MEMBERS, most_open=MAX_OPEN_INVITATIONS)
        )

    async def invited(self, who: Principal, project_id: str) -> Sequence[Invitation]:
        """The users who were asked in and have not answered yet. Raises errors.NotFound."""
        return await self._projects.invited(project_id, who.user_id)

    async def invitations(self, who: Principal) -> Sequence[tuple[Project, Invitation]]:
        """The invitations that the caller has not answered yet, the oldest first, at most MAX_INVITATIONS."""
        return await self._projects.invitations(who.user_id, limit=MAX_INVITATIONS)

    async def accept(self, who: Principal, project_id: str) -> Membership:
        """The caller becomes a member. Raises errors.NotFound (invitation_not_found)."""
        return await self._projects.accept(project_id, who.user_id, now_ms())

    async def decline(self, who: Principal, project_id: str) -> None:
        """Raises errors.NotFound (invitation_not_found)."""
        await self._projects.decline(project_id, who.user_id)

    async def remove_member(self, who: Principal, project_id: str, user: str) -> None:
        """Removes a member, who may be the caller: their turns in its sessions and their streams end, and
        what they shared is private again. Raises errors.NotFound (project_not_found, member_not_found),
        errors.Forbidden (not_project_owner), errors.Conflict (last_owner)."""
        user_id = user_id_of(who.tenant, user)
        await self._stop(await self._projects.remove_member(project_id, user_id, by=who.user_id))


async def forget_project_memories(deps: Dependencies, project_id: str) -> None:
    """Erases what was remembered in the sessions that the members of a project share."""
    if deps.memory is not None:
        await deps.memory.store.erase_person(shared_scope(project_id).user_id, ERASED_PROJECT, ())
