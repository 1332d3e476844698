"""What goes between the processes that share a database: NOTIFY on two channels.

    gateway_log      [replica, {session: head, ...}, [session, ...]]
        after commits, many of them in one, of sessions that others follow; and those that the replica follows
    gateway_signals  [replica, kind, subject, to]
        in the transaction that makes it true

A NOTIFY holds a lock of the whole server while its transaction commits: in those of appends it would halve
their number. So appends are announced afterwards, on a connection of its own, which waits for no disk.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any, Self

import orjson
import psycopg

from gateway.storage.postgres.connections import Raw, ServerAddress
from gateway.storage.postgres.failures import storage_error
from gateway.storage.replica_signals import Signal

LOG, SIGNALS = "gateway_log", "gateway_signals"
MAX_SESSIONS = 48
"""Heads, and sessions followed, in one notification, of less than 8,000 bytes
(postgresql.org/docs/current/sql-notify.html); an id has at most 64."""

_NOTIFY = "SELECT pg_notify(%s, %s)"

log = logging.getLogger(__name__)


def announce(raw: Raw, replica: str, signals: Iterable[Signal]) -> None:
    """Sends `signals` to the other processes when the transaction is committed."""
    for kind, subject, to in signals:
        if to != replica:
            raw.execute(_NOTIFY, (SIGNALS, orjson.dumps([replica, kind, subject, to]).decode()))


def payloads(replica: str, heads: Mapping[str, int], followed: Iterable[str] = ()) -> Generator[str]:
    """The contents of the notifications for `heads` and for what is `followed`; one empty notification when
    there are none."""
    items, names = list(heads.items()), list(followed)
    for at in range(0, max(len(items), len(names), 1), MAX_SESSIONS):
        part = slice(at, at + MAX_SESSIONS)
        yield orjson.dumps([replica, dict(items[part]), names[part]]).decode()


class Notifier:
    """Announces commits, and what is followed. What comes while it sends goes out together next. Its methods
    belong to the event loop."""

    def __init__(self, server: ServerAddress, replica: str) -> None:
        self._server = server
        self._replica = replica
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="storage-notifier")
        self._heads: dict[str, int] = {}
        self._followed: set[str] = set()
        self._is_asked = self._is_busy = False
        self._raw: Raw | None = None

    def publish_head(self, session_id: str, head: int) -> None:
        """Announces the session's head to other processes soon."""
        self._heads[session_id] = head
        self.ping()

    def ping(self, followed: Iterable[str] = ()) -> None:
        """Sends a notification in any case, with the sessions that are `followed` here."""
        self._followed.update(followed)
        self._is_asked = True
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(
                self._hand_over, context=Context()
            )  # all that is published in this tick in one

    async def close(self) -> None:
        """What is being sent is sent."""
        self._is_busy = True
        await asyncio.to_thread(self._release)

    def _hand_over(self) -> None:
        self._is_asked, messages = False, list(payloads(self._replica, self._heads, self._followed))
        self._heads, self._followed = {}, set()
        try:
            self._loop.run_in_executor(self._thread, self._send, messages).add_done_callback(self._sent)
        except RuntimeError:  # it is closed
            return

    def _sent(self, sending: asyncio.Future[None]) -> None:
        if (error := sending.exception()) is not None:
            log.warning("other processes were not told of commits, and look for themselves: %s", error)
        self._is_busy = False
        if self._is_asked:
            self.ping()

    # What follows runs on the thread.

    def _send(self, messages: Iterable[str]) -> None:
        """Raises errors.StorageError: on a new connection it was in vain, too."""
        for payload in messages:
            try:
                self._connected().execute(_NOTIFY, (LOG, payload))
            except psycopg.OperationalError:
                self._disconnect()
                try:
                    self._connected().execute(_NOTIFY, (LOG, payload))
                except psycopg.OperationalError as error:
                    raise storage_error(error) from error

    def _connected(self) -> Raw:
        if self._raw is None:
            self._raw = self._server.connect()
            self._raw.execute("SET synchronous_commit = off")
        return self._raw

    def _disconnect(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def _release(self) -> None:
        self._thread.shutdown()
        self._disconnect()


class Ear:
    """A connection that listens on both channels. It has no thread: the event loop reads what has come."""

    def __init__(self, raw: Raw, received: Callable[[str, Any], None], lost: Callable[[], None]) -> None:
        self._raw = raw
        self._received = received
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._descriptor = raw.fileno()
        self._is_open = True
        self._loop.add_reader(self._descriptor, self.read)
        self._loop.call_soon(self.read)  # what came together with the answer, be it the end

    @classmethod
    async def open(
        cls, server: ServerAddress, received: Callable[[str, Any], None], lost: Callable[[], None]
    ) -> Self:
        """Calls `heard(channel, content)` for what is sent from now on, and `lost` when the connection ends,
        neither before this returns. Raises errors.StorageError."""
        return cls(await asyncio.to_thread(_listening, server), received, lost)

    def close(self) -> None:
        """Stops listening. Later calls do nothing."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._descriptor)
            self._raw.close()

    def read(self) -> None:
        """Takes what has come, without waiting."""
        driver = self._raw.pgconn
        try:
            if self._is_open:
                driver.consume_input()
        except psycopg.OperationalError as error:
            log.warning("the connection that hears of other processes' commits was lost: %s", error)
            self.close()
            self._lost()
            return
        while self._is_open and (notification := driver.notifies()) is not None:
            try:
                self._received(notification.relname.decode(), orjson.loads(notification.extra))
            except Exception:  # noqa: BLE001 - of another version or program: the next one is taken
                log.warning("a notification was not understood: %.200r", notification.extra)


def _listening(server: ServerAddress) -> Raw:
    raw = server.connect()
    try:
        raw.execute(f"LISTEN {LOG}; LISTEN {SIGNALS}")
    except psycopg.Error as error:
        raw.close()
        raise storage_error(error) from error
    return raw
