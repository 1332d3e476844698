"""The contract of storage for projects: groups of people of one tenant who share sessions and memories, and
who of them may do what in a shared session."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gateway.storage.sessions import SessionRow, Shared
from gateway.storage.turns import TurnRow

ProjectRole = Literal["owner", "editor", "reader"]
Sharing = Shared | Literal["none"]
Need = Literal["read", "write", "manage", "own"]
NEEDS: tuple[Need, ...] = ("read", "write", "manage", "own")


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


class SessionAccess(NamedTuple):
    """What somebody is to a session of `owner` that they may read. `role` is the one they have in its
    project; None: it is theirs. `shared` is what members may do with it."""

    owner: str
    role: ProjectRole | None = None
    shared: Shared = "read"

    def may(self, need: Need) -> bool:
        """read: see all of it. write: send turns, stop them, decide about their calls, rate them, choose a
        branch. manage: give it another title, unshare it, delete it. own: all else, as to share it, archive
        it, compress it."""
        if self.role is None or need == "read":
            return True
        if need == "write":
            return self.shared == "write" and self.role != "reader"
        return need == "manage" and self.role == "owner"


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


class Projects(Protocol):
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
        ...

    async def get(self, project_id: str, user_id: str) -> Membership: ...

    async def list(self, user_id: str) -> Sequence[Membership]:
        """Those of which the user is a member: in the order that they gave them, then the oldest first."""
        ...

    async def members(self, project_id: str, user_id: str) -> Sequence[Member]:
        """All of them, as a member may see them: those that were added first in front."""
        ...

    async def change(
        self, project_id: str, by: str, *, name: str | None = None, instructions: str | None = None
    ) -> Project:
        """Another name, other instructions ("": none); None: that stays."""
        ...

    async def arrange(self, user_id: str, project_ids: Sequence[str]) -> None:
        """The order of the user's own list; others come behind these. Projects of which they are no member
        are passed over."""
        ...

    async def delete(self, project_id: str, by: str) -> Sequence[TurnRow]:
        """Removes it with its members. Sessions that were shared in it stay with their owners, and are
        private again."""
        ...

    async def put_member(self, asked: Invitation, *, most: int, most_open: int) -> Sequence[TurnRow]:
        """Invites somebody, or gives a member, or who is invited, another role; `invited_by` does so. Raises
        errors.Conflict (last_owner: it would be left without one; too_many_members: it has `most`, with those
        who are invited; too_many_invitations: `most_open` of the same inviter wait for that user)."""
        ...

    async def invited(self, project_id: str, user_id: str) -> Sequence[Invitation]:
        """The users who have not answered yet, as a member may see them: the oldest first."""
        ...

    async def invitations(self, user_id: str, *, limit: int) -> Sequence[tuple[Project, Invitation]]:
        """The invitations that the user has not answered yet, the oldest first."""
        ...

    async def accept(self, project_id: str, user_id: str, now: int) -> Membership:
        """Makes a member of who is invited. Raises errors.NotFound (invitation_not_found)."""
        ...

    async def decline(self, project_id: str, user_id: str) -> None:
        """Raises errors.NotFound (invitation_not_found)."""
        ...

    async def remove_member(self, project_id: str, user_id: str, by: str) -> Sequence[TurnRow]:
        """Removes a member, or takes an invitation back; anybody may leave. The sessions that they shared in
        it are private again. Raises errors.NotFound (member_not_found), errors.Conflict (last_owner)."""
        ...

    async def artifact_owner(self, ref: str, user_id: str) -> str | None:
        """Whose artifact of that reference is used by a session that the user may read, and that is its
        owner's; None: nobody's."""
        ...

    async def erase_member(self, project_id: str, user_id: str) -> Sequence[TurnRow]:
        """Removes somebody who is erased. Without another owner the member that was added first becomes one;
        without another member the project goes."""
        ...

    async def access(self, session_id: str, user_id: str) -> SessionAccess | None:
        """What a user is to a session; None: it is not there, or nothing to them."""
        ...
