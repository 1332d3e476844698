"""The branches of sessions, in SQL."""

from sqlalchemy import Connection, and_, func, select

from gateway.storage.branches import BranchRow, SessionBranches
from gateway.storage.branches.branch_positions import BEGAN, ID, RAN, branch_of, parent_of, state_of
from gateway.storage.branches.forks import NEWEST_IN_BRANCH, activate
from gateway.storage.database import Prepared, SessionLock, Store, snapshot
from gateway.storage.schema import branches, turns

_OWN = and_(
    turns.c.session_id == branches.c.session_id, turns.c.branch == branches.c.branch, BEGAN.is_not(None)
)
_count = select(func.count()).select_from(turns).where(_OWN).correlate(branches).scalar_subquery()
_last = select(turns.c.id).where(_OWN).order_by(BEGAN.desc()).limit(1).correlate(branches).scalar_subquery()
LISTED = Prepared(
    select(
        branches.c.branch, branches.c.parent, branches.c.fork_turn_id, branches.c.created_at, _count, _last
    )
    .where(branches.c.session_id == ID)
    .order_by(branches.c.branch)
)
COUNT_RAN = Prepared(select(func.count()).select_from(turns).where(RAN))
ALL_BEGAN = Prepared(select(turns.c.id, BEGAN).where(RAN))


class Branches(Store):
    """The branches of sessions. New ones are made by turns (see `NewTurn.parent_turn_id`). Callers have
    checked the session's owner before."""

    @snapshot
    def list(self, connection: Connection, session_id: str) -> SessionBranches:
        """Raises errors.NotFound (session_not_found)."""
        state = state_of(connection, session_id)
        if state.branch is not None:
            rows = LISTED.all(connection, session_id=session_id)
            return SessionBranches(state.branch, [BranchRow(*row) for row in rows])
        count = COUNT_RAN.value(connection, session_id=session_id)
        last = NEWEST_IN_BRANCH.value(connection, session_id=session_id, branch=0)
        return SessionBranches(0, [BranchRow(0, None, None, state.created_at, count, last)])

    async def parent(self, session_id: str, turn_id: str) -> str:
        """The turn after which that one was asked, or ROOT.

        Raises:
            errors.NotFound: (turn_not_found).
            errors.Conflict: (no_branch_point) it has no messages, or they are not known any more.
        """
        return await self.database.write(
            lambda connection: parent_of(connection, session_id, turn_id), over=SessionLock(session_id)
        )

    async def activate(self, session_id: str, branch: int) -> None:
        """Turns go on in that branch, with its compressions and its prompt as they were left.

        Raises:
            errors.NotFound: (session_not_found, branch_not_found).
            errors.TurnInProgress: a turn runs or waits.
        """
        await self.database.write(
            lambda connection: activate(connection, session_id, branch), over=SessionLock(session_id)
        )

    @snapshot
    def turns(self, connection: Connection, session_id: str, branch: int) -> frozenset[str]:
        """The ids of the turns that a branch consists of. Raises errors.NotFound (branch_not_found)."""
        found = branch_of(connection, session_id, branch)
        began = ALL_BEGAN.all(connection, session_id=session_id)
        return frozenset(turn_id for turn_id, at in began if found is None or found.has(at + 1))
