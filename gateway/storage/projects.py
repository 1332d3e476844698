"""Projects: groups of people of one tenant who share sessions and memories.

What a member may do in a session is in sessions/access.py."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, null, select, update

from gateway.errors import Conflict, Forbidden, NotFound
from gateway.storage.database import OwnerLock, Prepared, Store, query, snapshot
from gateway.storage.holds import check_not_held
from gateway.storage.row_codec import Rows
from gateway.storage.saved_prompts import REMOVE_OF_PROJECT
from gateway.storage.schema import project_invitations, project_members, projects, sessions
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.access import ACCESS, ARTIFACT, NEEDS, Need, ProjectRole, SessionAccess
from gateway.storage.turns import TurnRow
from gateway.storage.turns.stranded_turns import settle


@dataclass(frozen=True, slots=True)
class Project:
    """A row of its own. `created_at` is in Unix milliseconds; `instructions` are those with which sessions
    begin that are made in it. `kind` is written for versions before, which had others, and is not read."""

    id: str
    tenant: str
    name: str
    created_by: str
    created_at: int
    instructions: str | None = None
    kind: str = "project"


@dataclass(frozen=True, slots=True)
class Member:
    """A user of the project's tenant, who need not have come yet. `added_at` is in Unix milliseconds."""

    project_id: str
    user_id: str
    role: ProjectRole
    added_by: str
    added_at: int


@dataclass(frozen=True, slots=True)
class Invitation:
    """A user of the project's tenant who was asked into it. Nothing of it is theirs, and it is in none of
    their lists, until they accept. `invited_at` is in Unix milliseconds."""

    project_id: str
    user_id: str
    role: ProjectRole
    invited_by: str
    invited_at: int


class Membership(NamedTuple):
    """A project, and the role in it of somebody who asks."""

    project: Project
    role: ProjectRole


class Standing(NamedTuple):
    """How a session that others see too stands for somebody who asks: what they may do with it, and the
    project in which it is shared; None: they are in it no more."""

    may: tuple[Need, ...]
    project: Project | None

    @classmethod
    def of(cls, row: SessionRow, user_id: str, found: Membership | None) -> "Standing":
        project = found.project if found is not None else None
        if row.owner == user_id:
            return cls(NEEDS, project)
        access = SessionAccess(row.owner, found.role if found is not None else "reader", row.shared or "read")
        return cls(tuple(need for need in NEEDS if access.may(need)), project)


def member_handle(project_id: str, user_id: str) -> str:
    """What stands for a member in the events of sessions that are shared: their name can leave no archive and
    no copy again. It is told with the project's members; alone it names nobody, as ids of projects are
    random."""
    return "m_" + hashlib.sha256(f"{project_id} {user_id}".encode()).hexdigest()[:32]


_p, _m, _i = projects.c, project_members.c, project_invitations.c
PROJECTS = Rows(Project, projects)
MEMBERS = Rows(Member, project_members)
INVITATIONS = Rows(Invitation, project_invitations)

_ID = _p.id == bindparam("project_id")
_OF = _m.project_id == bindparam("project_id")
_USER = _m.user_id == bindparam("user_id")
_joined = select(*PROJECTS.columns, _m.role).join_from(projects, project_members, _m.project_id == _p.id)
MADE = Prepared(select(func.count()).select_from(projects).where(_p.created_by == bindparam("user_id")))
ONE = Prepared(_joined.where(_ID, _USER))
OF_USER = Prepared(_joined.where(_USER).order_by(_m.place.is_(None), _m.place, _p.created_at, _p.id))
ALL = Prepared(select(*MEMBERS.columns).where(_OF).order_by(_m.added_at, _m.user_id))
MEMBER = Prepared(select(*MEMBERS.columns).where(_OF, _USER))
COUNT = Prepared(select(func.count()).select_from(project_members).where(_OF))
OWNERS = Prepared(select(func.count()).select_from(project_members).where(_OF, _m.role == "owner"))
CHANGE = Prepared(
    update(projects).where(_ID).values(name=bindparam("name"), instructions=bindparam("instructions"))
)
UNARRANGE = Prepared(update(project_members).where(_USER).values(place=null()))
ARRANGE = Prepared(update(project_members).where(_OF, _USER).values(place=bindparam("place")))
SET_ROLE = Prepared(update(project_members).where(_OF, _USER).values(role=bindparam("role")))
REMOVE = Prepared(delete(projects).where(_ID))
REMOVE_ALL = Prepared(delete(project_members).where(_OF))
REMOVE_MEMBER = Prepared(delete(project_members).where(_OF, _USER))
_INVITED = (_i.project_id == bindparam("project_id"), _i.user_id == bindparam("user_id"))
_INTO = _i.project_id == bindparam("project_id")
INVITATION = Prepared(select(*INVITATIONS.columns).where(*_INVITED))
INVITED = Prepared(select(*INVITATIONS.columns).where(_INTO).order_by(_i.invited_at, _i.user_id))
INVITED_COUNT = Prepared(select(func.count()).select_from(project_invitations).where(_INTO))
OPEN_COUNT = Prepared(
    select(func.count())
    .select_from(project_invitations)
    .where(_i.user_id == bindparam("user_id"), _i.invited_by == bindparam("invited_by"))
)
OF_INVITED = Prepared(
    select(*PROJECTS.columns, *INVITATIONS.columns)
    .join_from(projects, project_invitations, _i.project_id == _p.id)
    .where(_i.user_id == bindparam("user_id"))
    .order_by(_i.invited_at, _i.project_id)
    .limit(bindparam("limit"))
)
INVITE_AS = Prepared(update(project_invitations).where(*_INVITED).values(role=bindparam("role")))
FORGET_INVITATION = Prepared(delete(project_invitations).where(*_INVITED))
FORGET_INVITATIONS = Prepared(delete(project_invitations).where(_INTO))
# What an owner began ends with their rights, as all does.
FORGET_INVITATIONS_BY = Prepared(
    delete(project_invitations).where(_INTO, _i.invited_by == bindparam("user_id"))
)
_IN_PROJECT = sessions.c.project_id == bindparam("project_id")
UNSHARE = Prepared(update(sessions).where(_IN_PROJECT, sessions.c.shared.is_not(None)).values(shared=null()))
UNSHARE_OF = Prepared(
    update(sessions)
    .where(_IN_PROJECT, sessions.c.shared.is_not(None), sessions.c.owner == bindparam("user_id"))
    .values(shared=null())
)


class Projects(Store):
    """Every change names who makes it (`by`), and is checked against their role in the transaction that makes
    it. To who is no member a project is as absent as one that never was.

    Changes by which somebody may do less return the turns that run or wait in sessions of others and whose
    senders may not write there any more: they were asked to stop by the same transaction, and are to be
    taken up where nothing runs them.

    Every method raises errors.StorageError when the database cannot do its work, and those with an id
    errors.NotFound (project_not_found); changes errors.Forbidden (not_project_owner).
    """

    async def add(self, project: Project, *, most: int) -> None:
        """Adds it, with its maker as its first owner. Raises errors.Conflict (too_many_projects): they have
        made `most` that are there."""

        def work(connection: Connection) -> None:
            if MADE.value(connection, user_id=project.created_by) >= most:
                raise Conflict(f"You have made {most} projects: delete one first.", code="too_many_projects")
            maker = Member(project.id, project.created_by, "owner", project.created_by, project.created_at)
            PROJECTS.add(connection, project)
            MEMBERS.add(connection, maker)

        await self.database.write(work, over=OwnerLock(project.created_by))

    @query
    def get(self, connection: Connection, project_id: str, user_id: str) -> Membership:
        """The project, and the user's role in it."""
        return _membership(connection, project_id, user_id)

    @query
    def list(self, connection: Connection, user_id: str) -> Sequence[Membership]:
        """Those of which the user is a member: in the order that they gave them, then the oldest first."""
        rows = OF_USER.all(connection, user_id=user_id)
        return [Membership(PROJECTS.read(row[:-1]), row[-1]) for row in rows]

    @snapshot
    def members(self, connection: Connection, project_id: str, user_id: str) -> Sequence[Member]:
        """All of them, as a member may see them: those that were added first in front."""
        _membership(connection, project_id, user_id)
        return _members(connection, project_id)

    async def change(
        self, project_id: str, by: str, *, name: str | None = None, instructions: str | None = None
    ) -> Project:
        """Another name, other instructions ("": none); None: that stays."""

        def work(connection: Connection) -> Project:
            project = _owned(connection, project_id, by)
            changed = replace(
                project,
                name=project.name if name is None else name,
                instructions=project.instructions if instructions is None else instructions or None,
            )
            is_lost = changed.name != project.name or project.instructions not in {None, changed.instructions}
            if is_lost:
                for member in _members(connection, project_id):
                    check_not_held(connection, member.user_id)
            CHANGE.run(
                connection, project_id=project_id, name=changed.name, instructions=changed.instructions
            )
            return changed

        return await self.database.write(work, over=OwnerLock(project_id))

    async def arrange(self, user_id: str, project_ids: Sequence[str]) -> None:
        """The order of the user's own list; others come behind these. Projects of which they are no member
        are passed over."""
        places = [
            {"project_id": each, "user_id": user_id, "place": at} for at, each in enumerate(project_ids)
        ]

        def work(connection: Connection) -> None:
            UNARRANGE.run(connection, user_id=user_id)
            ARRANGE.many(connection, places)

        await self.database.write(work, over=OwnerLock(user_id))

    async def delete(self, project_id: str, by: str) -> Sequence[TurnRow]:
        """Removes it with its members. Sessions that were shared in it stay with their owners, and are
        private again."""

        def work(connection: Connection) -> Sequence[TurnRow]:
            _owned(connection, project_id, by)
            REMOVE_ALL.run(connection, project_id=project_id)
            _remove(connection, project_id)
            return settle(connection, project_id=project_id)

        return await self.database.write(work, over=OwnerLock(project_id))

    async def put_member(self, asked: Invitation, *, most: int, most_open: int) -> Sequence[TurnRow]:
        """Invites somebody, or gives a member, or who is invited, another role; `invited_by` does so. Raises
        errors.Conflict (last_owner: it would be left without one; too_many_members: it has `most`, with those
        who are invited; too_many_invitations: `most_open` of the same inviter wait for that user)."""

        def work(connection: Connection) -> Sequence[TurnRow]:
            project_id, user_id = asked.project_id, asked.user_id
            _owned(connection, project_id, asked.invited_by)
            if MEMBER.one(connection, project_id=project_id, user_id=user_id) is None:
                _invite(connection, asked, most, most_open)
                return ()
            SET_ROLE.run(connection, project_id=project_id, user_id=user_id, role=asked.role)
            _check_has_owner(connection, project_id)
            if asked.role != "owner":
                FORGET_INVITATIONS_BY.run(connection, project_id=project_id, user_id=user_id)
            return settle(connection, project_id=project_id)

        return await self.database.write(work, over=OwnerLock(asked.project_id))

    @snapshot
    def invited(self, connection: Connection, project_id: str, user_id: str) -> Sequence[Invitation]:
        """The users who have not answered yet, as a member may see them: the oldest first."""
        _membership(connection, project_id, user_id)
        return [INVITATIONS.read(row) for row in INVITED.all(connection, project_id=project_id)]

    @query
    def invitations(
        self, connection: Connection, user_id: str, *, limit: int
    ) -> Sequence[tuple[Project, Invitation]]:
        """The invitations that the user has not answered yet, the oldest first."""
        rows, own = OF_INVITED.all(connection, user_id=user_id, limit=limit), len(PROJECTS.columns)
        return [(PROJECTS.read(row[:own]), INVITATIONS.read(row[own:])) for row in rows]

    async def accept(self, project_id: str, user_id: str, now: int) -> Membership:
        """Makes a member of who is invited. Raises errors.NotFound (invitation_not_found)."""

        def work(connection: Connection) -> Membership:
            row = INVITATION.one(connection, project_id=project_id, user_id=user_id)
            if row is None:
                raise _not_invited(project_id)
            asked = INVITATIONS.read(row)
            FORGET_INVITATION.run(connection, project_id=project_id, user_id=user_id)
            MEMBERS.add(connection, Member(project_id, user_id, asked.role, asked.invited_by, now))
            return _membership(connection, project_id, user_id)

        return await self.database.write(work, over=OwnerLock(project_id))

    async def decline(self, project_id: str, user_id: str) -> None:
        """Raises errors.NotFound (invitation_not_found)."""

        def work(connection: Connection) -> None:
            if not FORGET_INVITATION.run(connection, project_id=project_id, user_id=user_id).rowcount:
                raise _not_invited(project_id)

        await self.database.write(work, over=OwnerLock(project_id))

    async def remove_member(self, project_id: str, user_id: str, by: str) -> Sequence[TurnRow]:
        """Removes a member, or takes an invitation back; anybody may leave. The sessions that they shared in
        it are private again. Raises errors.NotFound (member_not_found), errors.Conflict (last_owner)."""

        def work(connection: Connection) -> Sequence[TurnRow]:
            if by == user_id:
                _membership(connection, project_id, by)
            else:
                _owned(connection, project_id, by)
            if FORGET_INVITATION.run(connection, project_id=project_id, user_id=user_id).rowcount:
                return ()
            if not REMOVE_MEMBER.run(connection, project_id=project_id, user_id=user_id).rowcount:
                raise NotFound("They are no member of this project.", code="member_not_found")
            _check_has_owner(connection, project_id)
            FORGET_INVITATIONS_BY.run(connection, project_id=project_id, user_id=user_id)
            UNSHARE_OF.run(connection, project_id=project_id, user_id=user_id)
            return settle(connection, project_id=project_id)

        return await self.database.write(work, over=OwnerLock(project_id))

    @query
    def artifact_owner(self, connection: Connection, ref: str, user_id: str) -> str | None:
        """Whose artifact of that reference is used by a session that the user may read, and that is its
        owner's; None: nobody's."""
        return ARTIFACT.value(connection, ref=ref, user_id=user_id)

    async def erase_member(self, project_id: str, user_id: str) -> Sequence[TurnRow]:
        """Removes somebody who is erased. Without another owner the member that was added first becomes one;
        without another member the project goes."""

        def work(connection: Connection) -> Sequence[TurnRow]:
            REMOVE_MEMBER.run(connection, project_id=project_id, user_id=user_id)
            FORGET_INVITATIONS_BY.run(connection, project_id=project_id, user_id=user_id)
            UNSHARE_OF.run(connection, project_id=project_id, user_id=user_id)
            left = _members(connection, project_id)
            if not left:
                _remove(connection, project_id)
            elif not any(member.role == "owner" for member in left):
                SET_ROLE.run(connection, project_id=project_id, user_id=left[0].user_id, role="owner")
            return settle(connection, project_id=project_id)

        return await self.database.write(work, over=OwnerLock(project_id))

    @query
    def access(self, connection: Connection, session_id: str, user_id: str) -> SessionAccess | None:
        """What a user is to a session; None: it is not there, or nothing to them."""
        row = ACCESS.one(connection, session_id=session_id, user_id=user_id)
        if row is None:
            return None
        owner, role, shared = row
        if owner == user_id:
            return SessionAccess(owner)
        return SessionAccess(owner, role, shared) if role is not None else None


def _membership(connection: Connection, project_id: str, user_id: str) -> Membership:
    """Raises errors.NotFound."""
    row = ONE.one(connection, project_id=project_id, user_id=user_id)
    if row is None:
        raise NotFound(f"There is no project {project_id}.", code="project_not_found")
    return Membership(PROJECTS.read(row[:-1]), row[-1])


def _owned(connection: Connection, project_id: str, by: str) -> Project:
    """Raises errors.NotFound, errors.Forbidden: they are not an owner."""
    project, role = _membership(connection, project_id, by)
    if role != "owner":
        raise Forbidden("Only an owner of the project may do that: ask one.", code="not_project_owner")
    return project


def _members(connection: Connection, project_id: str) -> Sequence[Member]:
    return [MEMBERS.read(row) for row in ALL.all(connection, project_id=project_id)]


def _remove(connection: Connection, project_id: str) -> None:
    """Removes a project whose members are removed already."""
    REMOVE_OF_PROJECT.run(connection, project_id=project_id)
    FORGET_INVITATIONS.run(connection, project_id=project_id)
    UNSHARE.run(connection, project_id=project_id)
    REMOVE.run(connection, project_id=project_id)


def _check_has_owner(connection: Connection, project_id: str) -> None:
    if not OWNERS.value(connection, project_id=project_id):
        raise Conflict(
            "The project would be left without an owner: make somebody else one first, or delete it.",
            code="last_owner",
        )


def _invite(connection: Connection, asked: Invitation, most: int, most_open: int) -> None:
    project_id, user_id, by = asked.project_id, asked.user_id, asked.invited_by
    if INVITE_AS.run(connection, project_id=project_id, user_id=user_id, role=asked.role).rowcount:
        return
    count = COUNT.value(connection, project_id=project_id)
    if count + INVITED_COUNT.value(connection, project_id=project_id) >= most:
        raise Conflict(
            f"The project has {most} members already, with those who are invited.", code="too_many_members"
        )
    if OPEN_COUNT.value(connection, user_id=user_id, invited_by=by) >= most_open:
        raise Conflict(
            f"{most_open} of your invitations wait for their answer: take one back first.",
            code="too_many_invitations",
        )
    INVITATIONS.add(connection, asked)


def _not_invited(project_id: str) -> NotFound:
    return NotFound(f"You are not invited to a project {project_id}.", code="invitation_not_found")
