"""What a messenger's program has to know after kill -9: a SQLite file with what came and is not done, the
threads with their cursors, and the messages that were posted.

    inbox    kept ──▶ done          an id that came is known for DAYS, so that a repetition does nothing
    posted   intended ──▶ posted    what is only intended is looked for in the messenger, before it is posted
"""

import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from gateway.adapters.messengers.base import Place, Received, RemoteFile, Thread
from gateway.errors import GatewayError

DAYS = 30
"""For which what is done is kept: a message is rated, a repetition is known."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS inbox (
    number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, channel TEXT NOT NULL, thread TEXT NOT NULL,
    body BLOB, came_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS inbox_open ON inbox (number) WHERE body IS NOT NULL;
CREATE TABLE IF NOT EXISTS threads (
    session_id TEXT PRIMARY KEY, channel TEXT NOT NULL, thread TEXT NOT NULL, person TEXT NOT NULL,
    cursor INTEGER NOT NULL, active_at REAL NOT NULL, is_former INTEGER NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS threads_place ON threads (channel, thread) WHERE NOT is_former;
CREATE INDEX IF NOT EXISTS threads_person ON threads (person);
CREATE INDEX IF NOT EXISTS threads_active ON threads (active_at);
CREATE TABLE IF NOT EXISTS posted (
    turn_id TEXT NOT NULL, part TEXT NOT NULL, channel TEXT NOT NULL, session_id TEXT NOT NULL,
    message TEXT, digest TEXT NOT NULL, posted_at REAL NOT NULL, PRIMARY KEY (turn_id, part)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS posted_message ON posted (channel, message);
CREATE TABLE IF NOT EXISTS links (person TEXT PRIMARY KEY, key TEXT NOT NULL);
"""


class Posted(NamedTuple):
    """A message of a turn; without `message` it was intended, and nobody knows."""

    message: str | None
    digest: str


class Journal:
    """One process has the file. Its writes are small and synced; they run on the event loop."""

    def __init__(self, path: Path) -> None:
        """Raises GatewayError: another process has it, or it cannot be written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # it may hold keys
        self._database = sqlite3.connect(path, isolation_level=None, timeout=0.5)
        try:
            # What is forgotten is overwritten.
            pragmas = ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON")
            for pragma in pragmas:
                self._database.execute(f"PRAGMA {pragma}")
            self._database.executescript(_SCHEMA)
            with self._transaction():
                self._forget_old()
        except sqlite3.Error as error:
            raise GatewayError(
                f"{path} cannot be used ({error}): does another process run with it?"
            ) from None

    def close(self) -> None:
        self._database.close()

    # What came

    def keep(self, received: Received) -> bool:
        """Whether it is new. A question that is not done is not asked any more when its stop comes."""
        row = (received.id, received.channel, received.thread, orjson.dumps(received), time.time())
        with self._transaction():
            found = self._database.execute(
                "INSERT INTO inbox (id, channel, thread, body, came_at) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO NOTHING",
                row,
            )
            if received.act == "stop" and received.about:
                self._database.execute("UPDATE inbox SET body = NULL WHERE id = ?", (received.about,))
        return found.rowcount > 0

    def waiting(self) -> Sequence[Place]:
        """The places in which something is not done."""
        rows = self._database.execute("SELECT DISTINCT channel, thread FROM inbox WHERE body IS NOT NULL")
        return [Place(*row) for row in rows]

    def next(self, place: Place) -> Received | None:
        """What came first there and is not done."""
        return next(self._not_done(place), None)

    def _not_done(self, place: Place) -> Iterator[Received]:
        rows = self._database.execute(
            "SELECT body FROM inbox WHERE body IS NOT NULL AND channel = ? AND thread = ? ORDER BY number",
            place,
        )
        return (_received(body) for (body,) in rows)

    def done(self, received: Received) -> None:
        self._database.execute("UPDATE inbox SET body = NULL WHERE id = ?", (received.id,))

    # Threads

    def thread(self, place: Place) -> Thread | None:
        return self._one("WHERE channel = ? AND thread = ? AND NOT is_former", place)

    def thread_of(self, session_id: str) -> Thread | None:
        """Where a session is delivered, also a former one of its place."""
        return self._one("WHERE session_id = ?", (session_id,))

    def thread_of_turn(self, turn_id: str) -> Thread | None:
        """Where a turn was delivered."""
        query = "WHERE session_id = (SELECT session_id FROM posted WHERE turn_id = ? LIMIT 1)"
        return self._one(query, (turn_id,))

    def _one(self, query: str, given: Sequence[object]) -> Thread | None:
        found = f"SELECT channel, thread, person, session_id FROM threads {query} LIMIT 1"  # noqa: S608 - ours
        row = self._database.execute(found, tuple(given)).fetchone()
        return Thread(Place(*row[:2]), *row[2:]) if row is not None else None

    def is_of(self, place: Place, person: str) -> bool:
        """Whether the person began a thread there, or will with a question that is not done."""
        if (thread := self.thread(place)) is not None:
            return thread.person == person
        return next((each.person == person for each in self._not_done(place) if each.act == "say"), False)

    def begin(self, thread: Thread, cursor: int) -> None:
        """The place has that session from now on, of which nothing is to be delivered up to `cursor`. What
        comes in the one before is delivered there too."""
        with self._transaction():
            self._database.execute(
                "UPDATE threads SET is_former = 1 WHERE channel = ? AND thread = ?", thread.place
            )
            self._database.execute(
                "INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, ?, ?, 0)",
                (thread.session_id, *thread.place, thread.person, cursor, time.time()),
            )

    def threads(self, after: str, limit: int) -> Sequence[Thread]:
        """Those behind that session, in the order of their ids, former ones too."""
        rows = self._database.execute(
            "SELECT channel, thread, person, session_id FROM threads WHERE session_id > ? "
            "ORDER BY session_id LIMIT ?",
            (after, limit),
        )
        return [Thread(Place(*row[:2]), *row[2:]) for row in rows]

    def forget(self, thread: Thread) -> None:
        """Its session is gone: so are the thread and what was posted, and their bytes in the file. What came
        there and is done has no text, and goes with what is old."""
        with self._transaction():
            self._database.execute("DELETE FROM threads WHERE session_id = ?", (thread.session_id,))
            self._database.execute("DELETE FROM posted WHERE session_id = ?", (thread.session_id,))
            self._forget_old()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget_old(self) -> None:
        before = time.time() - DAYS * 86_400
        self._database.execute("DELETE FROM inbox WHERE body IS NULL AND came_at < ?", (before,))
        self._database.execute("DELETE FROM posted WHERE posted_at < ?", (before,))

    def sessions(self) -> int:
        """How many there are."""
        return self._database.execute("SELECT count(*) FROM threads").fetchone()[0]

    def persons(self, after: str) -> Sequence[str]:
        """Those who have threads, in the order of their ids."""
        rows = self._database.execute(
            "SELECT DISTINCT person FROM threads WHERE person > ? ORDER BY person", (after,)
        )
        return [person for (person,) in rows]

    def cursor(self, thread: Thread) -> int:
        row = self._database.execute(
            "SELECT cursor FROM threads WHERE session_id = ?", (thread.session_id,)
        ).fetchone()
        return row[0] if row is not None else 0

    def delivered(self, thread: Thread, seq: int) -> None:
        """All turns up to that event are in the messenger."""
        self._database.execute(
            "UPDATE threads SET cursor = ?, active_at = ? WHERE session_id = ?",
            (seq, time.time(), thread.session_id),
        )

    def latest(self, limit: int) -> Sequence[Thread]:
        """The threads in which something happened last, the newest first."""
        rows = self._database.execute(
            "SELECT channel, thread, person, session_id FROM threads WHERE NOT is_former "
            "ORDER BY active_at DESC LIMIT ?",
            (limit,),
        )
        return [Thread(Place(*row[:2]), *row[2:]) for row in rows]

    def latest_of(self, person: str, channel: str) -> Thread | None:
        """The person's newest thread in the channel."""
        query = "WHERE person = ? AND channel = ? AND NOT is_former ORDER BY active_at DESC"
        return self._one(query, (person, channel))

    # What was posted

    def posted(self, turn_id: str) -> Mapping[str, Posted]:
        """By the part of the turn."""
        rows = self._database.execute(
            "SELECT part, message, digest FROM posted WHERE turn_id = ?", (turn_id,)
        )
        return {part: Posted(message, digest) for part, message, digest in rows}

    def intend(self, thread: Thread, turn_id: str, part: str) -> None:
        self._database.execute(
            "INSERT INTO posted VALUES (?, ?, ?, ?, NULL, '', ?) ON CONFLICT DO NOTHING",
            (turn_id, part, thread.place.channel, thread.session_id, time.time()),
        )

    def record(self, turn_id: str, part: str, message: str, digest: str) -> None:
        """The message says that."""
        self._database.execute(
            "UPDATE posted SET message = ?, digest = ? WHERE turn_id = ? AND part = ?",
            (message, digest, turn_id, part),
        )

    def withdraw(self, turn_id: str, part: str) -> None:
        """There is no such message any more."""
        self._database.execute("DELETE FROM posted WHERE turn_id = ? AND part = ?", (turn_id, part))

    def turn_of(self, channel: str, message: str) -> tuple[str, Thread] | None:
        """The turn that a posted message is of."""
        row = self._database.execute(
            "SELECT p.turn_id, t.channel, t.thread, t.person, t.session_id FROM posted p "
            "JOIN threads t ON t.session_id = p.session_id "
            "WHERE p.channel = ? AND p.message = ?",
            (channel, message),
        ).fetchone()
        return (row[0], Thread(Place(*row[1:3]), *row[3:])) if row is not None else None

    # Whose key a person gave

    def link(self, person: str, key: str | None) -> None:
        """None takes it away."""
        if key is None:
            self._database.execute("DELETE FROM links WHERE person = ?", (person,))
        else:
            self._database.execute("INSERT OR REPLACE INTO links VALUES (?, ?)", (person, key))

    def linked_persons(self, after: str, limit: int) -> Sequence[str]:
        """Those who gave a key, behind that one, in the order of their ids."""
        rows = self._database.execute(
            "SELECT person FROM links WHERE person > ? ORDER BY person LIMIT ?", (after, limit)
        )
        return [person for (person,) in rows]

    def linked(self, person: str) -> str | None:
        row = self._database.execute("SELECT key FROM links WHERE person = ?", (person,)).fetchone()
        return row[0] if row is not None else None

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:  # a full disk, say: the next one is to begin anew
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def _received(body: bytes) -> Received:
    given = orjson.loads(body)
    files = tuple(RemoteFile(**each) for each in given.pop("files"))
    return Received(**given, files=files)
