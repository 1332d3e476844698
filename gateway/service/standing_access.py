"""Whether the access holds still on which something rests: a key, a sign-in, a membership."""

from collections.abc import Collection

from gateway.auth.static_keys import StaticKeys
from gateway.errors import StorageError
from gateway.ids import now_ms
from gateway.service.session_access import may_read
from gateway.settings import Settings
from gateway.storage.ended_access import EndedAccess, Held
from gateway.storage.projects import Projects
from gateway.storage.sign_ins import USED_EVERY
from gateway.storage.turns import TurnRow

KEY_ENDED = "The API key that this was asked for with was revoked, or has expired."
SIGN_IN_ENDED = "The sign-in by which this was asked for has ended: sign in again."
NO_MEMBER = "This chat belongs to someone else, who no longer lets you write in it."


class StandingAccess:
    """One per process. Every method raises errors.StorageError, where it does not say otherwise."""

    def __init__(self, store: EndedAccess, projects: Projects, settings: Settings) -> None:
        self._store = store
        self._projects = projects
        self.static = StaticKeys.of(settings).names
        """The keys of the settings."""
        self.has_accounts = settings.has_accounts
        """Whether anybody comes with a key, a token or a sign-in."""
        self.since = now_ms()
        """What was made with another key of the settings before that, was made with one that is gone; later
        it may be one that a replica with newer settings knows."""
        idle = int(settings.sign_in_idle * 1000)
        self._idle = idle + min(USED_EVERY, idle // 2)  # its last use is true to so much

    @property
    def idle_since(self) -> int:
        """A sign-in that was not used since has ended (Unix milliseconds)."""
        return now_ms() - self._idle

    async def gone(self, keys: Collection[str] = (), sign_ins: Collection[str] = ()) -> Held:
        """The access that holds no longer: keys by id, of the settings or of the database, sign-ins by
        digest."""
        asked = Held(frozenset(keys) - self.static, frozenset(sign_ins))
        if not asked.keys and not asked.sign_ins:
            return asked
        held = await self._store.holds(asked, now_ms(), self.idle_since)
        return Held(asked.keys - held.keys, asked.sign_ins - held.sign_ins)

    async def has_key(self, key_id: str | None) -> bool:
        """Whether a key holds; what was made without one needs none."""
        return key_id is None or not (await self.gone(keys=(key_id,))).keys

    async def may_read(self, user_id: str, session_id: str) -> bool:
        """Whether a guest still may."""
        return await may_read(self._projects, user_id, session_id)

    async def why_ended(self, turn: TurnRow) -> str | None:
        """What was taken away of who asked for the turn, in a sentence; None: nothing is known. Never
        raises."""
        try:
            gone = await self.gone(
                (turn.key_id,) if turn.key_id is not None else (),
                (turn.sign_in,) if turn.sign_in is not None else (),
            )
            if gone.keys:
                return KEY_ENDED
            if gone.sign_ins:
                return SIGN_IN_ENDED
            if turn.host is not None:
                access = await self._projects.access(turn.session_id, turn.owner)
                return NO_MEMBER if access is None or not access.may("write") else None
        except StorageError:
            pass
        return None
