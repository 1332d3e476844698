"""The branches of sessions, in SQL."""

from sqlalchemy import Connection, and_, func, select

from gateway.storage.branches import BranchRow, SessionBranches
from gateway.storage.branches.branch_positions import BEGAN, ID, RAN, branch_of, parent_of, state_of
from gateway.storage.branches.forks import NEWEST_IN_BRANCH, activate
from gateway.storage.database import Prepared, SessionLock, Store, reads, writes
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


def branches_of(connection: Connection, session_id: str) -> SessionBranches:
    state = state_of(connection, session_id)
    if state.branch is not None:
        rows = LISTED.all(connection, session_id=session_id)
        return SessionBranches(state.branch, [BranchRow(*row) for row in rows])
    count = COUNT_RAN.value(connection, session_id=session_id)
    last = NEWEST_IN_BRANCH.value(connection, session_id=session_id, branch=0)
    return SessionBranches(0, [BranchRow(0, None, None, state.created_at, count, last)])


def turns_of(connection: Connection, session_id: str, branch: int) -> frozenset[str]:
    found = branch_of(connection, session_id, branch)
    began = ALL_BEGAN.all(connection, session_id=session_id)
    return frozenset(turn_id for turn_id, at in began if found is None or found.has(at + 1))


class SqlBranches(Store):
    """The `Branches` protocol."""

    list = reads(branches_of)
    activate = writes(activate, over=lambda session_id, branch: SessionLock(session_id))
    parent = writes(parent_of, over=lambda session_id, turn_id: SessionLock(session_id))
    turns = reads(turns_of)
