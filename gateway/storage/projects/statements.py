"""Projects and their members, in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, func, null, select, update

from gateway.errors import Conflict, Forbidden, NotFound
from gateway.storage.database import OwnerLock, Prepared, Store, reads, writes
from gateway.storage.holds import check_not_held
from gateway.storage.projects import Invitation, Member, Membership, Project
from gateway.storage.projects.access import access, artifact_owner
from gateway.storage.projects.stranded_turns import settle
from gateway.storage.row_codec import Rows
from gateway.storage.saved_prompts import REMOVE_OF_PROJECT
from gateway.storage.schema import project_invitations, project_members, projects, sessions
from gateway.storage.turns import TurnRow

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


def add(connection: Connection, project: Project, most: int) -> None:
    if MADE.value(connection, user_id=project.created_by) >= most:
        raise Conflict(f"You have made {most} projects: delete one first.", code="too_many_projects")
    maker = Member(project.id, project.created_by, "owner", project.created_by, project.created_at)
    PROJECTS.add(connection, project)
    MEMBERS.add(connection, maker)


def get(connection: Connection, project_id: str, user_id: str) -> Membership:
    row = ONE.one(connection, project_id=project_id, user_id=user_id)
    if row is None:
        raise NotFound(f"There is no project {project_id}.", code="project_not_found")
    return Membership(PROJECTS.read(row[:-1]), row[-1])


def list_(connection: Connection, user_id: str) -> Sequence[Membership]:
    rows = OF_USER.all(connection, user_id=user_id)
    return [Membership(PROJECTS.read(row[:-1]), row[-1]) for row in rows]


def members(connection: Connection, project_id: str, user_id: str) -> Sequence[Member]:
    get(connection, project_id, user_id)
    return [MEMBERS.read(row) for row in ALL.all(connection, project_id=project_id)]


def change(
    connection: Connection,
    project_id: str,
    by: str,
    *,
    name: str | None = None,
    instructions: str | None = None,
) -> Project:
    project = _owned(connection, project_id, by)
    changed = replace(
        project,
        name=project.name if name is None else name,
        instructions=project.instructions if instructions is None else instructions or None,
    )
    is_lost = changed.name != project.name or project.instructions not in {None, changed.instructions}
    if is_lost:
        for member in ALL.all(connection, project_id=project_id):
            check_not_held(connection, MEMBERS.read(member).user_id)
    CHANGE.run(connection, project_id=project_id, name=changed.name, instructions=changed.instructions)
    return changed


def arrange(connection: Connection, user_id: str, project_ids: Sequence[str]) -> None:
    UNARRANGE.run(connection, user_id=user_id)
    places = ({"project_id": each, "user_id": user_id, "place": at} for at, each in enumerate(project_ids))
    ARRANGE.many(connection, places)


def remove(connection: Connection, project_id: str, by: str) -> Sequence[TurnRow]:
    _owned(connection, project_id, by)
    REMOVE_ALL.run(connection, project_id=project_id)
    REMOVE_OF_PROJECT.run(connection, project_id=project_id)
    FORGET_INVITATIONS.run(connection, project_id=project_id)
    UNSHARE.run(connection, project_id=project_id)
    REMOVE.run(connection, project_id=project_id)
    return settle(connection, project_id=project_id)


def put_member(connection: Connection, asked: Invitation, most: int, most_open: int) -> Sequence[TurnRow]:
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


def invited(connection: Connection, project_id: str, user_id: str) -> Sequence[Invitation]:
    get(connection, project_id, user_id)
    return [INVITATIONS.read(row) for row in INVITED.all(connection, project_id=project_id)]


def invitations(connection: Connection, user_id: str, limit: int) -> Sequence[tuple[Project, Invitation]]:
    rows, own = OF_INVITED.all(connection, user_id=user_id, limit=limit), len(PROJECTS.columns)
    return [(PROJECTS.read(row[:own]), INVITATIONS.read(row[own:])) for row in rows]


def accept(connection: Connection, project_id: str, user_id: str, now: int) -> Membership:
    row = INVITATION.one(connection, project_id=project_id, user_id=user_id)
    if row is None:
        raise _not_invited(project_id)
    asked = INVITATIONS.read(row)
    FORGET_INVITATION.run(connection, project_id=project_id, user_id=user_id)
    MEMBERS.add(connection, Member(project_id, user_id, asked.role, asked.invited_by, now))
    return get(connection, project_id, user_id)


def decline(connection: Connection, project_id: str, user_id: str) -> None:
    if not FORGET_INVITATION.run(connection, project_id=project_id, user_id=user_id).rowcount:
        raise _not_invited(project_id)


def _not_invited(project_id: str) -> NotFound:
    return NotFound(f"You are not invited to a project {project_id}.", code="invitation_not_found")


def remove_member(connection: Connection, project_id: str, user_id: str, by: str) -> Sequence[TurnRow]:
    if by == user_id:
        get(connection, project_id, by)
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


def erase_member(connection: Connection, project_id: str, user_id: str) -> Sequence[TurnRow]:
    REMOVE_MEMBER.run(connection, project_id=project_id, user_id=user_id)
    FORGET_INVITATIONS_BY.run(connection, project_id=project_id, user_id=user_id)
    UNSHARE_OF.run(connection, project_id=project_id, user_id=user_id)
    left = [MEMBERS.read(row) for row in ALL.all(connection, project_id=project_id)]
    if not left:
        UNSHARE.run(connection, project_id=project_id)
        REMOVE_OF_PROJECT.run(connection, project_id=project_id)
        FORGET_INVITATIONS.run(connection, project_id=project_id)
        REMOVE.run(connection, project_id=project_id)
    elif not any(member.role == "owner" for member in left):
        SET_ROLE.run(connection, project_id=project_id, user_id=left[0].user_id, role="owner")
    return settle(connection, project_id=project_id)


def _owned(connection: Connection, project_id: str, by: str) -> Project:
    """Raises errors.NotFound, errors.Forbidden: they are not an owner."""
    project, role = get(connection, project_id, by)
    if role != "owner":
        raise Forbidden("Only an owner of the project may do that: ask one.", code="not_project_owner")
    return project


def _check_has_owner(connection: Connection, project_id: str) -> None:
    if not OWNERS.value(connection, project_id=project_id):
        raise Conflict(
            "The project would be left without an owner: make somebody else one first, or delete it.",
            code="last_owner",
        )


def _project(project_id: str, by: str) -> OwnerLock:
    return OwnerLock(project_id)


def _changed(
    project_id: str, by: str, *, name: str | None = None, instructions: str | None = None
) -> OwnerLock:
    return OwnerLock(project_id)


class SqlProjects(Store):
    """The `Projects` protocol."""

    get = reads(get, snapshot=False)
    list = reads(list_, snapshot=False)
    members = reads(members)
    invited = reads(invited)
    invitations = reads(invitations, snapshot=False)
    access = reads(access, snapshot=False)
    artifact_owner = reads(artifact_owner, snapshot=False)
    add = writes(add, over=lambda project, most: OwnerLock(project.created_by))
    change = writes(change, over=_changed)
    arrange = writes(arrange, over=lambda user_id, project_ids: OwnerLock(user_id))
    delete = writes(remove, over=_project)
    put_member = writes(put_member, over=lambda asked, most, most_open: OwnerLock(asked.project_id))
    accept = writes(accept, over=lambda project_id, user_id, now: OwnerLock(project_id))
    decline = writes(decline, over=lambda project_id, user_id: OwnerLock(project_id))
    remove_member = writes(remove_member, over=lambda project_id, user_id, by: OwnerLock(project_id))
    erase_member = writes(erase_member, over=lambda project_id, user_id: OwnerLock(project_id))
