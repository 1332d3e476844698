"""The contract of storage for access that has ended: what was begun with a key or a sign-in ends with it.

    a key is revoked, or expires ──▶ its open turns are asked to stop, its schedules paused, its webhooks off,
                                     its grants removed
    a sign-in ends, or expires   ──▶ its open turns are asked to stop

in the transaction that ends it, with a signal `revoked` to all processes. What is open in one of them, as a
stream, is closed by that signal, or because that process asks what still `holds`. What began meanwhile, or
what a process had no time to end, is found as `still_used`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from gateway.storage.schedules import ScheduleRow
from gateway.storage.turns import TurnRow

KEY_REVOKED = "key_revoked"
"""Why a schedule is paused, or a webhook off: the key that it was made with was revoked, or has expired."""
MAX_ENDED = 500
"""Turns, schedules, webhooks and grants, of each, that end in one transaction: the others are still used."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What ended with a key or a sign-in: open turns, which were asked to stop, schedules as they are now,
    ids of webhooks, tools that had been granted."""

    turns: Sequence[TurnRow] = ()
    schedules: Sequence[ScheduleRow] = ()
    webhooks: Sequence[str] = ()
    grants: Sequence[str] = ()


class Overdue(NamedTuple):
    """Access that is to be ended: a `key` by its id, a `sign_in` by its digest; of `user_id`. A key that is
    `unlisted` was one of the settings."""

    kind: Literal["key", "sign_in"]
    id: str
    user_id: str
    is_unlisted: bool = False


class Held(NamedTuple):
    """Keys by their ids, and sign-ins by their digests."""

    keys: frozenset[str]
    sign_ins: frozenset[str]


class EndedAccess(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work. `idle_since`: a sign-in
    that was not used since has ended (Unix milliseconds, as `now`)."""

    async def end_key(self, key_id: str, now: int) -> Ended:
        """Revokes a key for good, and ends what rests on it. One that was revoked before, or is not there,
        stays as it is."""
        ...

    async def end_sign_in(self, digest: str, heir: str | None = None) -> Ended:
        """Removes a sign-in and ends what rests on it; with an `heir`, another sign-in of that user in the
        same browser, its turns go on as that one's."""
        ...

    async def expired(self, now: int, idle_since: int) -> Sequence[Overdue]:
        """Keys and sign-ins that have expired and are there still. At most some."""
        ...

    async def still_used(self) -> Sequence[Overdue]:
        """Revoked keys with an open turn, an active schedule, a webhook that is on or a grant; sign-ins that
        are not there with an open turn. At most some."""
        ...

    async def unlisted(self, names: Collection[str], before: int) -> Sequence[Overdue]:
        """Keys that are neither stored nor among these `names`, those of the settings, of which there is an
        open turn, an active schedule, a webhook that is on or a grant, made before that time. At most
        some."""
        ...

    async def end_unlisted(self, key_id: str, now: int) -> Ended:
        """Ends what rests on such a key. Nothing is open with it in a process that does not know it: there
        is no signal, which would be taken for one about a user of that name."""
        ...

    async def holds(self, asked: Held, now: int, idle_since: int) -> Held:
        """The keys and sign-ins of `asked` that hold."""
        ...
