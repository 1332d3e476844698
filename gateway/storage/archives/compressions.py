"""The versions of sessions' compressed histories, in SQL."""

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
from gateway.storage.database import Prepared, Store, reads, writes
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
    return [COMPRESSIONS.read(row) for row in VERSIONS.all(connection, session_id=session_id)]


def holding(connection: Connection, session_id: str) -> Sequence[CompressionRow]:
    """The versions that hold in the active branch."""
    found = versions(connection, session_id)
    active = branch_of(connection, session_id) if found else None
    return [row for row in found if active is None or holds(connection, row, active)]


def holds(connection: Connection, row: CompressionRow, branch: Branch) -> bool:
    """Whether the branch has the messages that the version covers, and those before, and no others."""
    if row.branch == branch.number:
        return True
    covered = up_to(ranges_of(connection, row.session_id, row.branch), row.to_position)
    return covered == up_to(branch.ranges, row.to_position)


def get(connection: Connection, session_id: str, version: int) -> CompressionRow:
    row = ONE.one(connection, session_id=session_id, version=version)
    if row is None:
        raise NotFound(f"Session {session_id} has no version {version}.", code="version_not_found")
    return COMPRESSIONS.read(row)


def in_force(connection: Connection, session_id: str) -> int | None:
    return POINTER.value(connection, session_id=session_id)


def next_version(connection: Connection, session_id: str) -> int:
    return NEWEST.value(connection, session_id=session_id) + 1


def failed(connection: Connection, session_id: str) -> int:
    """0 when the session is gone."""
    COUNT_FAILURE.run(connection, session_id=session_id)
    return FAILURES.value(connection, session_id=session_id) or 0


def add(connection: Connection, row: CompressionRow) -> None:
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
    put_in_force(connection, row.session_id, row.version, by_turn=row.trigger != "manual")
    FORGET_FAILURES.run(connection, session_id=row.session_id)


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


def activate(connection: Connection, session_id: str, version: int | None) -> None:
    row = get(connection, session_id, version) if version is not None else None
    session = IN_FORCE.one(connection, session_id=session_id)
    if session is None:
        raise no_session(session_id)
    active = branch_of(connection, session_id) if row is not None else None
    if row is not None and active is not None and not holds(connection, row, active):
        raise Conflict(
            f"Version {version} covers messages that branch {active.number} does not have: activate branch "
            f"{row.branch} first.",
            code="version_of_other_branch",
            details={"branch": row.branch, "active_branch": active.number},
        )
    if session[0] != version:
        put_in_force(connection, session_id, version, by_turn=False)


def put_in_force(connection: Connection, session_id: str, version: int | None, *, by_turn: bool) -> None:
    """Moves the pointer and begins a prompt generation; unless the running turn itself asked for it
    (`by_turn`), that turn goes on with the old view, and the generation stays open."""
    PUT_IN_FORCE.run(connection, session_id=session_id, version=version, by_turn=int(by_turn))


class SqlCompressions(Store):
    """The `Compressions` protocol."""

    list = reads(holding)
    get = reads(get, snapshot=False)
    in_force = reads(in_force, snapshot=False)
    next_version = reads(next_version, snapshot=False)
    add = writes(add)
    activate = writes(activate)
    failed = writes(failed)
