"""The commit of a flush on PostgreSQL: one statement. When it is not known what became of it, it is sent
again: under the lock of the heads, what is there already is left out, and the heads refuse what is too late.
"""

import logging
import time
from collections.abc import Callable, Sequence
from struct import unpack

import psycopg
from psycopg import errors, pq

from gateway.errors import StorageError
from gateway.storage.log.appending import Run, refusal, runs_of
from gateway.storage.log.group_commit import Flush
from gateway.storage.postgres.append import rounds, statement_of
from gateway.storage.postgres.connections import ConnectionPool, Raw, ServerAddress
from gateway.storage.postgres.failures import DEADLOCK, SERIALIZATION, is_lost, state_of, storage_error
from gateway.storage.postgres.transactions import begin, commit, roll_back
from gateway.storage.replicas import SAFE_SHARE

log = logging.getLogger(__name__)

COMMIT_TIMEOUT = 6.0
"""Seconds for which a flush is tried while the server is away, as when it is started again; never longer than
a replica counts on its lease, after which the turns may be others'."""
PAUSE = 0.1
"""Seconds between two attempts."""

_LOCK = "SELECT FROM heads WHERE session_id = ANY(%s) ORDER BY session_id FOR NO KEY UPDATE"
_STORED = "SELECT FROM loose_events WHERE session_id = %s AND seq = %s AND turn_id = %s AND body = %s"
# A message alone moves no head; its row has the transaction that added it.
_STORED_MESSAGE = """
    SELECT FROM messages WHERE session_id = %s AND turn_id = %s AND content = %s AND xmin::text = ANY(%s)
"""


class PostgresCommits:
    """The `Commits` protocol. Nothing but appends comes here: transactions with locks of their own must not
    hold up the streams."""

    def __init__(self, server: ServerAddress, lease: float) -> None:
        self._server = server
        self._lease = lease
        self._links = ConnectionPool(server, 1)
        self._prepared: tuple[Raw | None, set[bytes]] = (None, set())

    def commit(self, flush: Flush) -> None:
        """Writes the flush's appends and sets its `refusals`. Where the head of one session cannot be had,
        the others are stored."""
        runs = runs_of(flush.appends)
        errors_of: dict[int, StorageError] = {}
        try:
            kept = self._stored(list(rounds(runs)))
        except errors.LockNotAvailable:
            kept: list[Run] = []
            for run in runs:
                try:
                    kept += self._stored([[run]], lost=True)
                except psycopg.Error as error:
                    errors_of |= {id(part): storage_error(error) for part in run.parts}
        stored = {id(part) for run in kept for part in run.parts}
        flush.refusals = [
            None if id(part) in stored else errors_of.get(id(part)) or refusal(part.batch)
            for part in flush.appends
        ]

    def undo(self, error: BaseException) -> Callable[[], StorageError]:
        """After a failed commit: logs what is a fault of the code, and returns what makes an error for each
        caller. A connection with something open was closed when it was given back."""
        if not isinstance(error, StorageError) and not is_lost(error):
            # Where it was; `error` itself may quote the events.
            log.error("a flush failed", exc_info=storage_error(error).with_traceback(error.__traceback__))
        return lambda: storage_error(error)

    def close(self) -> None:
        """Lets the connection go."""
        self._links.close()

    def _stored(self, parts: Sequence[Sequence[Run]], *, lost: bool = False) -> list[Run]:
        """Those of the runs that were stored, in this attempt or in one that was `lost`: whose outcome was
        not known."""
        until = time.monotonic() + min(COMMIT_TIMEOUT, self._lease * SAFE_SHARE)
        tried = list[str]()
        while True:
            try:
                return self._attempt(parts, tried, again=lost)
            except (psycopg.Error, StorageError) as error:
                lost = lost or is_lost(error)
                away = is_lost(error) or isinstance(error, StorageError)
                if not away and state_of(error) not in (DEADLOCK, SERIALIZATION):
                    raise
                if time.monotonic() > until or (isinstance(error, StorageError) and not error.retryable):
                    raise
            time.sleep(PAUSE if away else 0)

    def _attempt(self, parts: Sequence[Sequence[Run]], tried: list[str], *, again: bool) -> list[Run]:
        """`tried` gets the numbers of transactions that add messages alone."""
        with self._links.taken(anew=again) as link:
            raw = link.raw
            runs = [run for each in parts for run in each]
            if not again and len(parts) == 1 and all(run.end > run.head for run in runs):
                return self._run(raw, runs)
            number = begin(raw, pooled=self._server.pooled).number
            try:
                kept = _there(raw, runs, tried) if again else []
                tried.append(str(int(number) % 2**32))  # as a row has it
                for each in parts:
                    kept += self._run(raw, [run for run in each if run not in kept])
            except BaseException:
                roll_back(raw)
                raise
            commit(raw)
            return kept

    def _run(self, raw: Raw, runs: Sequence[Run]) -> list[Run]:
        """Those of the runs whose heads moved."""
        if not runs:
            return []
        (name, text, types), values = statement_of(runs)
        formats = [pq.Format.BINARY] * len(values)
        pgconn = raw.pgconn
        if self._server.pooled:
            result = pgconn.exec_params(text, values, types, formats, pq.Format.BINARY)
        else:
            if self._prepared[0] is not raw:
                self._prepared = raw, set()
            names = self._prepared[1]
            if name not in names:
                check(raw, pgconn.prepare(name, text, types))
                names.add(name)
            result = pgconn.exec_prepared(name, values, formats, pq.Format.BINARY)
        check(raw, result)
        numbers = [result.get_value(row, 0) or b"" for row in range(result.ntuples)]
        return [runs[unpack(">i", number)[0] - 1] for number in numbers]


def check(raw: Raw, result: pq.abc.PGresult) -> None:
    """Raises psycopg.Error when the statement failed."""
    if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        return
    if raw.pgconn.status != pq.ConnStatus.OK:
        raise psycopg.OperationalError(result.error_message.decode(errors="replace"))
    raise errors.error_from_result(result)


def _there(raw: Raw, runs: Sequence[Run], tried: list[str]) -> list[Run]:
    """Those of the runs that were stored before. What is under way still is waited for."""
    raw.execute(_LOCK, (list({run.session_id for run in runs}),))
    return [run for run in runs if _is_there(raw, run, tried)]


def _is_there(raw: Raw, run: Run, tried: list[str]) -> bool:
    """Whether its last event is in the log, as the turn's own, or its message in the history."""
    events = [event for part in run.parts for event in part.batch.events[-1:]]
    if events:
        last = events[-1]
        found = raw.execute(_STORED, (run.session_id, last.seq, last.turn_id, last.body))
    else:
        found = raw.execute(_STORED_MESSAGE, (run.session_id, run.turn_id, run.parts[-1].content, tried))
    return found.fetchone() is not None
