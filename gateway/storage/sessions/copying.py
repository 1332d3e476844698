"""Whole sessions out of the tables and into them, in SQL."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Table, and_, bindparam, case, func, insert, select, union, update

from gateway.errors import ArtifactsFull, Conflict, SessionIdTaken
from gateway.messages import Usage
from gateway.storage.archives import CompressionRow, SummaryRow
from gateway.storage.archives.compressions import insert_version, versions
from gateway.storage.archives.rows import SUMMARIES
from gateway.storage.archives.store import insert_archive
from gateway.storage.archives.summaries import OF_SESSION as SUMMARY
from gateway.storage.archives.summaries import save
from gateway.storage.artifacts import ArtifactRow, Chunk, store
from gateway.storage.artifacts.rows import ARTIFACTS
from gateway.storage.artifacts.totals import room_of, space_used
from gateway.storage.artifacts.uses import refs_used, use
from gateway.storage.branches.forks import ADD as ADD_BRANCH
from gateway.storage.branches.forks import put_active
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Prepared, Store, query, reads, snapshot, writes
from gateway.storage.log.feedback import feedback_text
from gateway.storage.log.packs import ADD_PACK, packs_of, rows_of
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import as_json, pairs_of
from gateway.storage.schema import branches, heads, instructions, messages, sessions, turns
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.copies import (
    ArtifactCopy,
    Attachment,
    BranchCopy,
    Incoming,
    InstructionsCopy,
    Moment,
    SessionCopy,
    SummaryCopy,
    TurnCopy,
    VersionArchive,
    VersionCopy,
)
from gateway.storage.sessions.session_creation import add_session
from gateway.storage.sessions.session_row import is_there
from gateway.storage.turns.attachments import attachments_of, json_of, take_into
from gateway.storage.turns.heads import OF_SESSION

OF_HEAD = {"head": heads.c.head, "last_position": heads.c.position}
NAMED = OF_HEAD | {"epoch_from": sessions.c.generation_from}
"""Fields of the format that are columns of other names."""
SESSION_FIELDS = tuple(SessionCopy.model_fields)
SESSION_ROW = [name for name in SessionRow.__dataclass_fields__ if name in SESSION_FIELDS]
BRANCH_FIELDS = tuple(BranchCopy.model_fields)
TURN_FIELDS = tuple(TurnCopy.model_fields)
VERSION_FIELDS = tuple(VersionCopy.model_fields)
SUMMARY_FIELDS = tuple(SummaryCopy.model_fields)


def _columns(table: Table, *, without: str = "") -> dict[str, Any]:
    """A parameter for each column."""
    return {column.name: bindparam(column.name) for column in table.c if column.name != without}


_ID = bindparam("session_id")
SESSION = Prepared(
    select(*(NAMED[name] if name in NAMED else sessions.c[name] for name in SESSION_FIELDS))
    .join_from(sessions, heads, OF_SESSION)
    .where(sessions.c.id == _ID, sessions.c.owner == bindparam("owner"))
)
# The format counts a turn's owners, and knows nothing of instructions that a turn took back.
_TURN_VALUES = {"epoch": turns.c.recoveries + 1, "instructions": func.nullif(turns.c.instructions, "")}
TURNS = Prepared(
    select(
        turns.c.number,
        *(_TURN_VALUES[name] if name in _TURN_VALUES else turns.c[name] for name in TURN_FIELDS),
    )
    .where(and_(turns.c.session_id == _ID, turns.c.status == "done", turns.c.number > bindparam("after")))
    .order_by(turns.c.number)
    .limit(bindparam("most"))
)
# A generation that has not begun yet begins with the next turn, whichever message is the last.
_begins = case(
    (branches.c.generation_from > bindparam("last"), bindparam("last")), else_=branches.c.generation_from
)
BRANCHES = Prepared(
    select(*(_begins if name == "generation_from" else branches.c[name] for name in BRANCH_FIELDS))
    .where(branches.c.session_id == _ID)
    .order_by(branches.c.branch)
)
# Those that its turns name, or that the next one will have: a gateway of a version before may have left rows
# of a session with the same id.
_named = union(
    select(turns.c.instructions).where(turns.c.session_id == _ID),
    select(sessions.c.instructions).where(sessions.c.id == _ID),
    select(branches.c.instructions).where(branches.c.session_id == _ID),
)
INSTRUCTIONS = Prepared(
    select(instructions.c.digest, instructions.c.text)
    .where(instructions.c.session_id == _ID, instructions.c.digest > bindparam("after"))
    .where(instructions.c.digest.in_(_named))
    .order_by(instructions.c.digest)
    .limit(bindparam("most"))
)
ADD_INSTRUCTIONS = Prepared(insert(instructions).values(_columns(instructions)))
ADD_TURN = Prepared(insert(turns).values(_columns(turns, without="number")))
ADD_MESSAGE = Prepared(insert(messages).values(_columns(messages)))
TURN_TAKEN = Prepared(select(turns.c.id).where(turns.c.id == bindparam("turn_id")))


def _branches_of(connection: Connection, last: int, session_id: str) -> Iterable[list[Any]]:
    place = BRANCH_FIELDS.index("ranges")
    for row in BRANCHES.all(connection, session_id=session_id, last=last):
        yield [*row[:place], pairs_of(row[place]), *row[place + 1 :]]


def turn_of(row: Sequence[Any]) -> TurnCopy:
    """A row of TURN_FIELDS."""
    fields = dict(zip(TURN_FIELDS, row, strict=True))
    usage, attachments = fields["usage"], fields["attachments"]
    fields["usage"] = Usage.model_validate_json(usage) if usage else None
    fields["cancel_requested"] = bool(fields["cancel_requested"])
    # Rows are believed; only what is read from a file is checked.
    fields["attachments"] = (
        [Attachment.trusted(each) for each in orjson.loads(attachments)] if attachments else None
    )
    return TurnCopy.model_construct(**fields)


def add(
    connection: Connection, owner: str, incoming: Incoming, quota: int, tenant_quota: int | None = None
) -> SessionRow:
    """Adds all of it, in one transaction. An artifact that the owner has already, with this content, is
    used as it is.

    Raises:
        errors.Conflict: the id of the session or of one of its turns is taken, or the reference of an
            artifact is, for another content; or writing the blobs took so long that they were swept.
        errors.ArtifactsFull: the owner's artifacts would take more than `quota` bytes, or those of all
            users of their tenant more than `tenant_quota`. In all cases nothing was added.
    """
    session, versions, summary, _, several = incoming.moment
    if is_there(connection, session.id):
        raise SessionIdTaken(session.id)
    fields = session.model_dump()
    position, fields["generation_from"] = fields.pop("last_position"), fields.pop("epoch_from")
    own = {"session_id": session.id}
    row = SessionRow(owner=owner, **{name: fields.pop(name) for name in SESSION_ROW})
    add_session(connection, row, position=position, said=incoming.said, quota=incoming.session_quota)
    connection.execute(update(sessions).where(sessions.c.id == row.id).values(fields))
    ADD_INSTRUCTIONS.many(connection, (own | each.model_dump() for each in incoming.instructions))
    # One by one: PostgreSQL's driver takes no other statement while it executes many.
    for turn in _new_turns(connection, session.id, owner, incoming):
        ADD_TURN.run(connection, **turn)
        if incoming.seeded:
            take_into(connection, row, turn["id"], attachments_of(turn["attachments"]))
    for branch in several:
        values = branch.model_dump() | own | {"ranges": as_json(branch.ranges), "told_memories": None}
        ADD_BRANCH.run(connection, **values)
        if branch.branch == session.branch:
            put_active(connection, session.id, branch.ranges)
    for version in versions:
        insert_version(connection, _version(session.id, version, incoming.archives[version.version]))
    if summary is not None:
        save(connection, _summary_row(session, owner, summary))
    if _add_artifacts(connection, session.id, owner, incoming, quota):
        store.check_tenant(connection, owner, tenant_quota)
    ADD_MESSAGE.many(connection, (own | each._asdict() for each in incoming.messages))
    happened = ((session.id, each.seq, each.turn_id, each.type, each.body) for each in incoming.events)
    ADD_PACK.many(connection, rows_of(packs_of(happened)))
    if incoming.archived is not None:
        insert_archive(connection, incoming.archived)
    return row


def _new_turns(
    connection: Connection, session_id: str, owner: str, incoming: Incoming
) -> Iterable[dict[str, Any]]:
    for turn in incoming.turns:
        if TURN_TAKEN.one(connection, turn_id=turn.id) is not None:
            raise Conflict(f"The turn id {turn.id} is taken.")
        row = turn.model_dump()
        row["recoveries"] = max(0, row.pop("epoch") - 1)
        row["usage"] = turn.usage.model_dump_json() if turn.usage else None
        row["attachments"] = json_of(turn.attachments or ())
        own = {"session_id": session_id, "owner": owner, "status": "done"} | dict.fromkeys(
            ("client_tools", "mark", "dialect", "key_id", "sign_in", "scopes", "unreported", "sampling")
        )
        rated = incoming.feedback.get(turn.id)
        places = {
            "after_position": incoming.began.get(turn.id),
            "is_imported": None if incoming.seeded else True,
        }
        yield row | own | places | {"feedback": feedback_text(rated) if rated is not None else None}


def _add_artifacts(
    connection: Connection, session_id: str, owner: str, incoming: Incoming, quota: int
) -> bool:
    """Whether there are more of the owner's than before."""
    grew = False
    for copy in incoming.artifacts:
        known = store.ONE.one(connection, owner=owner, ref=copy.ref)
        if known is None:
            path = incoming.contents[copy.sha256]
            store.take_blob(connection, owner, path)
            store.insert(connection, _artifact(owner, path, copy))
            grew = True
        elif ARTIFACTS.read(known).sha256 != copy.sha256:
            raise Conflict(
                f"You have an artifact {copy.ref} with another content. Delete it, then import the session."
            )
        use(connection, owner, session_id, [copy.ref])
    used = space_used(connection, owner).used
    if grew and used > quota:
        raise ArtifactsFull(
            f"With those of this session your artifacts would take {used} bytes; they may take {quota}. "
            "Delete some.",
            details={"quota": quota, "used": used},
        )
    return grew


def _artifact(owner: str, path: str, copy: ArtifactCopy) -> ArtifactRow:
    fields = copy.model_dump()
    chunks = tuple(Chunk(*each) for each in fields.pop("chunks"))
    return ArtifactRow(owner=owner, path=path, kind=fields.pop("holds"), chunks=chunks, **fields)


def _version(session_id: str, copy: VersionCopy, stored: VersionArchive) -> CompressionRow:
    fields = {name: getattr(copy, name) for name in VERSION_FIELDS}
    return CompressionRow(session_id=session_id, archive_path=stored.path, archive_size=stored.size, **fields)


def _summary(row: SummaryRow) -> SummaryCopy:
    return SummaryCopy(**{name: getattr(row, name) for name in SUMMARY_FIELDS})


def _summary_row(session: SessionCopy, owner: str, copy: SummaryCopy) -> SummaryRow:
    fields = {name: getattr(copy, name) for name in SUMMARY_FIELDS}
    return SummaryRow(session_id=session.id, owner=owner, project_id=session.project_id, **fields)


class Copies(Store):
    """Whole sessions, out of the tables and into them. Raises `errors.StorageError` as all storage does."""

    taken = reads(is_there, snapshot=False)
    add = writes(add, over=lambda owner, incoming, quota, tenant_quota=None: room_of(owner, tenant_quota))

    @snapshot
    def moment(self, connection: Connection, session_id: str, owner: str) -> Moment:
        """Raises errors.NotFound (session_not_found), and errors.TurnInProgress while a turn is running or
        waiting."""
        row = SESSION.one(connection, session_id=session_id, owner=owner)
        if row is None:
            raise no_session(session_id)
        session = SessionCopy(**dict(zip(SESSION_FIELDS, row, strict=True)))
        check_is_idle(connection, session_id, session.head, "wait for its end, or cancel it")
        summary = SUMMARY.one(connection, session_id=session_id, owner=owner)
        return Moment(
            session,
            [
                VersionCopy(**{name: getattr(each, name) for name in VERSION_FIELDS})
                for each in versions(connection, session_id)
            ],
            _summary(SUMMARIES.read(summary)) if summary is not None else None,
            refs_used(connection, session_id),
            [
                BranchCopy.model_construct(**dict(zip(BRANCH_FIELDS, row, strict=True)))
                for row in _branches_of(connection, session.last_position, session_id)
            ],
        )

    @query
    def turns(
        self, connection: Connection, session_id: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, TurnCopy]]:
        """Turns that are over, in the order in which they were accepted, each with a number that grows: those
        after the number `after`, at most `limit`."""
        rows = TURNS.all(connection, session_id=session_id, after=after, most=limit)
        return [(number, turn_of(row)) for number, *row in rows]

    @query
    def instructions(
        self, connection: Connection, session_id: str, *, after: str, limit: int
    ) -> Sequence[InstructionsCopy]:
        """The instructions of its client applications, in the order of the digests: those after the digest
        `after`, at most `limit`."""
        rows = INSTRUCTIONS.all(connection, session_id=session_id, after=after, most=limit)
        return [InstructionsCopy.model_construct(digest=digest, text=text) for digest, text in rows]
