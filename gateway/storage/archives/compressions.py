"""The versions of sessions' compressed histories: append-only, and which of them is in force."""

from collections.abc import Sequence

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    select,
    update,
)

from gateway.errors import Conflict, NotFound
from gateway.storage.archives import CompressionRow
from gateway.storage.archives.rows import COMPRESSIONS
from gateway.storage.branches import Branch, up_to
from gateway.storage.branches.branch_positions import branch_of, ranges_of
from gateway.storage.database import Prepared, Store, query, snapshot, transaction
from gateway.storage.messages import GENERATION_OPEN
from gateway.storage.orphans import claim
from gateway.storage.refusals import no_session
from gateway.storage.schema import compressions, heads, sessions
from gateway.storage.turns.heads import OF_SESSION as HEAD_OF

OF_SESSION = compressions.c.session_id == bindparam("session_id")
ID = sessions.c.id == bindparam("session_id")

VERSIONS = Prepared(select(*COMPRESSIONS.columns).where(OF_SESSION).order_by(compressions.c.version))
ONE = Prepared(
    select(*COMPRESSIONS.columns).where(OF_SESSION, compressions.c.version == bindparam("version"))
)
NEWEST = Prepared(select(func.coalesce(func.max(compressions.c.version), 0)).where(OF_SESSION))
IN_FORCE = Prepared(select(sessions.c.compression, sessions.c.branch).where(ID).with_for_update())
POINTER = Prepared(select(sessions.c.compression).where(ID))
FAILURES = Prepared(select(sessions.c.failed_compressions).where(ID))
_position = select(heads.c.position).where(HEAD_OF).scalar_subquery()
_open = select(heads.c.turn_id).where(HEAD_OF).scalar_subquery()
_goes_on = and_(_open.is_not(None), bindparam("by_turn") == literal_column("0"))
PUT_IN_FORCE = Prepared(
    update(sessions)
    .where(ID)
    .values(
        compression=bindparam("version"),
        generation_from=case((_goes_on, GENERATION_OPEN), else_=_position),
        prefix_hash=null(),
    )
)
FORGET_FAILURES = Prepared(update(sessions).where(ID).values(failed_compressions=0))
COUNT_FAILURE = Prepared(
    update(sessions).where(ID).values(failed_compressions=sessions.c.failed_compressions + 1)
)


def versions(connection: Connection, session_id: str) -> Sequence[CompressionRow]:
    """All versions of a session, in whatever branch, the oldest first."""
    return [COMPRESSIONS.read(row) for row in VERSIONS.all(connection, session_id=session_id)]


def holds(connection: Connection, row: CompressionRow, branch: Branch) -> bool:
    """Whether the branch has the messages that the version covers, and those before, and no others."""
    if row.branch == branch.number:
        return True
    covered = up_to(ranges_of(connection, row.session_id, row.branch), row.to_position)
    return covered == up_to(branch.ranges, row.to_position)


def _version(connection: Connection, session_id: str, version: int) -> CompressionRow:
    row = ONE.one(connection, session_id=session_id, version=version)
    if row is None:
        raise NotFound(f"Session {session_id} has no version {version}.", code="version_not_found")
    return COMPRESSIONS.read(row)


def insert_version(connection: Connection, row: CompressionRow) -> None:
    """Adds the row and changes nothing else: which version is in force stays as it is. Raises errors.Conflict
    when its archive is no candidate any more: it may have been removed."""
    if not claim(connection, row.archive_path):
        raise Conflict(
            f"The archive of version {row.version} of session {row.session_id} took too long to be written, "
            "and was removed meanwhile. Nothing was changed.",
            code="compression_conflict",
            retryable=True,
        )
    COMPRESSIONS.add(connection, row)


def _put_in_force(connection: Connection, session_id: str, version: int | None, *, by_turn: bool) -> None:
    """Moves the pointer and begins a prompt generation; unless the running turn itself asked for it
    (`by_turn`), that turn goes on with the old view, and the generation stays open."""
    PUT_IN_FORCE.run(connection, session_id=session_id, version=version, by_turn=int(by_turn))


class Compressions(Store):
    """The versions of sessions' compressed histories, append-only, and which of them is in force."""

    @snapshot
    def list(self, connection: Connection, session_id: str) -> Sequence[CompressionRow]:
        """All versions that hold in the active branch, the oldest first."""
        found = versions(connection, session_id)
        active = branch_of(connection, session_id) if found else None
        return [row for row in found if active is None or holds(connection, row, active)]

    @query
    def get(self, connection: Connection, session_id: str, version: int) -> CompressionRow:
        """Raises errors.NotFound (code version_not_found)."""
        return _version(connection, session_id, version)

    @query
    def in_force(self, connection: Connection, session_id: str) -> int | None:
        """The version in force; None when every message is sent, or there is no such session."""
        return POINTER.value(connection, session_id=session_id)

    @query
    def next_version(self, connection: Connection, session_id: str) -> int:
        """The number of the version that would be added next, from 1."""
        return NEWEST.value(connection, session_id=session_id) + 1

    @transaction
    def add(self, connection: Connection, row: CompressionRow) -> None:
        """Adds the version and puts it in force, in one transaction: failures in a row are forgotten, the
        session's prefix hash too, and a new generation begins after its last message. When a turn runs that
        did not ask for this (the trigger is manual), that turn goes on with the old view: the generation
        stays open (GENERATION_OPEN) until the next turn begins.

        Raises:
            errors.Conflict: (code compression_conflict) the version in force is no longer `row.parent`, the
                branch is no longer active, or the number is taken: another task was faster. Or its archive is
                no candidate any more (see `Orphans`): writing it took so long that it was swept.
            errors.NotFound: the session is gone.
        """
        session = IN_FORCE.one(connection, session_id=row.session_id)
        if session is None:
            raise no_session(row.session_id)
        changed = session[0] != row.parent or (session[1] or 0) != row.branch
        if changed or ONE.one(connection, session_id=row.session_id, version=row.version):
            raise Conflict(
                f"Session {row.session_id} was compressed or given another version or branch meanwhile.",
                code="compression_conflict",
                details={"in_force": session[0], "parent": row.parent, "version": row.version},
            )
        insert_version(connection, row)
        _put_in_force(connection, row.session_id, row.version, by_turn=row.trigger != "manual")
        FORGET_FAILURES.run(connection, session_id=row.session_id)

    @transaction
    def activate(self, connection: Connection, session_id: str, version: int | None) -> None:
        """Puts another version in force, None: none of them; a new generation begins as with a manual `add`.

        Raises:
            errors.NotFound: (code version_not_found).
            errors.Conflict: (code version_of_other_branch) it covers messages that the active branch does
                not have.
        """
        row = _version(connection, session_id, version) if version is not None else None
        session = IN_FORCE.one(connection, session_id=session_id)
        if session is None:
            raise no_session(session_id)
        active = branch_of(connection, session_id) if row is not None else None
        if row is not None and active is not None and not holds(connection, row, active):
            raise Conflict(
                f"Version {version} covers messages that branch {active.number} does not have: "
                f"activate branch {row.branch} first.",
                code="version_of_other_branch",
                details={"branch": row.branch, "active_branch": active.number},
            )
        if session[0] != version:
            _put_in_force(connection, session_id, version, by_turn=False)

    @transaction
    def failed(self, connection: Connection, session_id: str) -> int:
        """Counts a failed attempt; returns how many there were in a row, 0 when the session is gone."""
        COUNT_FAILURE.run(connection, session_id=session_id)
        return FAILURES.value(connection, session_id=session_id) or 0
