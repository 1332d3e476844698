"""Open requests, their streams, and readers of shared sessions in this process, each with the access that it
rests on. It ends with that access.

    request ── rests on ──▶ its key, its sign-in, its user, a time at which they end
    guest   ── rests on ──▶ their membership

    signal `revoked` ──▶ what rests on that id ends     `access` ──▶ guests are looked at again
    every TICK ──▶ what has come to its time ends       every LOOK_EVERY ──▶ all are looked at again

A signal may be lost with the connection that carries it: then what has ended is seen by the look. What is
open costs a look into a table when it begins and when it ends, and nothing between.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextvars import Context
from time import monotonic
from types import TracebackType

import structlog

from gateway.auth import Principal
from gateway.errors import AccessEnded, StorageError
from gateway.ids import now_ms
from gateway.pace import until_next
from gateway.service.standing_access import KEY_ENDED, NO_MEMBER, SIGN_IN_ENDED, StandingAccess
from gateway.storage.replica_signals import Signals

TICK = 0.5
"""Seconds by which a token, key or sign-in may be over before what rests on it ends."""
GUESTS_PAUSE = 0.2
"""Seconds between two looks at guests: who changes a role again and again has others wait for none of it."""
LOOK_EVERY = 3.0
"""Seconds after which what has ended is known whose signal was lost."""
EXPIRED = "The token that this was asked for with has expired: get a new one."
USER_ENDED = "Everything of this user is being erased."

log = structlog.get_logger(__name__)


class Resting:
    """Something open that rests on access, of the task that enters it as a context. Leaving it raises
    errors.AccessEnded where that task was cancelled as the access had ended."""

    __slots__ = ("_access", "_is_taken", "_task", "ended", "is_open", "session_id", "subjects", "who")

    def __init__(self, access: "OpenAccess", who: Principal, session_id: str | None) -> None:
        self.who = who
        self.subjects = (who.user_id, *filter(None, (who.key_id, who.sign_in)))
        """The ids of what it rests on."""
        self.session_id = session_id
        """Whose sharing it rests on, of a guest."""
        self.ended: AccessEnded | None = None
        self.is_open = False
        self._access = access
        self._task: asyncio.Task[object] | None = None
        self._is_taken = False

    def __enter__(self) -> "Resting":
        self._task = asyncio.current_task()
        self.is_open = True
        self._access.entered(self)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.is_open = False
        self._access.left(self)
        if isinstance(error, asyncio.CancelledError) and (ended := self.taken()) is not None:
            raise ended from None

    def rests_on(self, session_id: str) -> None:
        """It reads a session that another shares, and rests on that as well."""
        self.session_id = session_id
        self._access.entered_as_guest(self)

    def release(self) -> None:
        """It does not rest on access any more, and ends by itself."""
        self.is_open = False
        self._access.left(self)

    def end(self, why: str) -> None:
        """Cancels its task, which is not the one that calls."""
        if self.ended is None:
            self.ended = AccessEnded(why)
            # Not now: the task may be about to leave, and would carry the cancellation elsewhere.
            asyncio.get_running_loop().call_soon(self._cancel)

    def taken(self) -> AccessEnded | None:
        """For who catches the cancellation: why it ended, and the cancellation is taken back. None: it was
        cancelled for another reason."""
        if self.ended is None or self._is_taken or self._task is None:
            return None
        self._is_taken = True
        return None if self._task.uncancel() else self.ended

    def _cancel(self) -> None:
        if self.is_open and self._task is not None:
            self._task.cancel()


class OpenAccess:
    """One per process. `noted` is called with what ended it (key, sign_in, user, session), its id, a tenant
    and how many were open."""

    def __init__(
        self,
        standing: StandingAccess,
        signals: Signals,
        noted: Callable[[str, str, str, int], None],
        being_erased: Callable[[], Collection[str]] = frozenset[str],
    ) -> None:
        self._standing = standing
        self._noted = noted
        self._being_erased = being_erased
        self._by: dict[str, set[Resting]] = {}
        self._guests: set[Resting] = set()
        self._ending: set[Resting] = set()
        self._is_open = asyncio.Event()
        self._is_changed = False
        self._looking: asyncio.Task[None] | None = None
        signals.on("revoked", self._revoked)
        signals.on("access", self._members_changed)

    def resting(self, who: Principal) -> Resting:
        """A context for what somebody asks for."""
        return Resting(self, who, None)

    def guest(self, user_id: str, session_id: str) -> Resting:
        """A context for what somebody reads that another shares with them."""
        return Resting(self, Principal(user_id), session_id)

    def entered(self, resting: Resting) -> None:
        """Counts something open that begins."""
        who = resting.who
        self._is_open.set()
        if resting.session_id is not None:
            self.entered_as_guest(resting)
            return
        if who.expires_at is not None:
            self._ending.add(resting)
        for subject in resting.subjects:
            self._by.setdefault(subject, set()).add(resting)

    def entered_as_guest(self, resting: Resting) -> None:
        """Counts something open that rests on what another shares."""
        self._is_open.set()
        self._guests.add(resting)

    def left(self, resting: Resting) -> None:
        """Forgets something open that is over."""
        self._guests.discard(resting)
        self._ending.discard(resting)
        for subject in resting.subjects:
            if (found := self._by.get(subject)) is not None:
                found.discard(resting)
                if not found:
                    del self._by[subject]

    def open_of(self, subject: str) -> int:
        """The number of what is open and rests on a key, a sign-in or a user, by its id."""
        return len(self._by.get(subject, ()))

    async def check_guest(self, guest: Resting) -> None:
        """Ends what a guest has just begun to read, should they not be allowed to since. Never raises."""
        await self._look_at_guest([guest], ends_unknown=True)

    async def run(self) -> None:
        """Looks again and again, until it is cancelled."""
        looked_at = monotonic()
        while True:
            if not self._by and not self._guests:
                self._is_open.clear()
                await self._is_open.wait()
            await asyncio.sleep(until_next(TICK))
            self._end_what_is_over(now_ms())
            if monotonic() - looked_at < LOOK_EVERY:
                continue
            try:
                await self.look()
            except StorageError as error:
                log.warning("access_not_looked_at", code=error.code, error=str(error))
            looked_at = monotonic()

    async def look(self) -> None:
        """Ends what rests on access that has ended. Raises errors.StorageError."""
        for user_id in self._being_erased():
            self._end("user", user_id, USER_ENDED)
        open_ = {each for found in self._by.values() for each in found}
        keys = {each.who.key_id for each in open_ if each.who.key_id is not None}
        sign_ins = {each.who.sign_in for each in open_ if each.who.sign_in is not None}
        gone = await self._standing.gone(keys, sign_ins)
        for key_id in gone.keys:
            self._end("key", key_id, KEY_ENDED)
        for digest in gone.sign_ins:
            self._end("sign_in", digest, SIGN_IN_ENDED)
        await self._look_at_guests(ends_unknown=False)

    def _revoked(self, subject: str) -> None:
        found = next(iter(self._by.get(subject, ())), None)
        if found is None:
            return
        if subject == found.who.key_id and subject != found.who.user_id:
            self._end("key", subject, KEY_ENDED)
        elif subject == found.who.sign_in:
            self._end("sign_in", subject, SIGN_IN_ENDED)
        else:
            self._end("user", subject, USER_ENDED)

    def _members_changed(self, _: str) -> None:
        """Somebody may do less than before: guests are looked at now, or once more where they just are."""
        self._is_changed = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_while_changed(), context=Context())

    async def _look_while_changed(self) -> None:
        while self._is_changed:
            self._is_changed = False
            await self._look_at_guests(ends_unknown=True)
            await asyncio.sleep(GUESTS_PAUSE)

    async def _look_at_guests(self, *, ends_unknown: bool) -> None:
        places: dict[tuple[str, str | None], list[Resting]] = {}
        for guest in self._guests:
            places.setdefault((guest.who.user_id, guest.session_id), []).append(guest)
        for found in places.values():
            await self._look_at_guest(found, ends_unknown=ends_unknown)

    async def _look_at_guest(self, found: list[Resting], *, ends_unknown: bool) -> None:
        """With `ends_unknown` also where the database cannot tell: whoever still may reads again."""
        user_id, session_id = found[0].who.user_id, found[0].session_id
        assert session_id is not None
        try:
            is_readable = await self._standing.may_read(user_id, session_id)
        except StorageError:
            is_readable = not ends_unknown
        if not is_readable:
            self._end_all(found, "session", session_id, NO_MEMBER)

    def _end(self, kind: str, subject: str, why: str) -> None:
        self._end_all(self._by.get(subject, ()), kind, subject, why)

    def _end_all(self, found: Iterable[Resting], kind: str, subject: str, why: str) -> None:
        still = [each for each in found if each.is_open and each.ended is None]
        for each in still:
            each.end(why)
        if still:
            shown = subject if kind != "sign_in" else subject[:16]
            log.info("access_ended", kind=kind, id=shown, open=len(still))
            self._noted(kind, shown, still[0].who.tenant, len(still))

    def _end_what_is_over(self, now: int) -> None:
        """A token that is over is nothing that was taken away: no audit has it."""
        for each in [each for each in self._ending if each.who.expires_at is not None]:
            if (each.who.expires_at or 0) > now:
                continue
            who = each.who
            if who.key_id is not None:
                self._end("key", who.key_id, KEY_ENDED)
            elif who.sign_in is not None:
                self._end("sign_in", who.sign_in, SIGN_IN_ENDED)
            else:
                each.end(EXPIRED)
