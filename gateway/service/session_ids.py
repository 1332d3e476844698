"""The ids of sessions: what is stored cannot be guessed, and what a user calls a session is theirs alone.

A name that a user has chosen leads to an id that follows from a secret, the user and the name. So two users
may choose the same, and none meets, learns of or takes what is another's: to them it is as what never was.

    ada: notes -> s_5f0c…        bob: notes -> s_91d2…        ada: s_5f0c… -> s_5f0c…
"""

import hmac

from gateway.auth import LOCAL_USER
from gateway.ids import new_session_id
from gateway.service.session_access import may_read
from gateway.storage.projects import Projects


class SessionIds:
    """Those of one installation. The local user, who is alone, has ids as they choose them."""

    def __init__(self, projects: Projects, key: bytes) -> None:
        """`key` is the installation's secret."""
        self._projects = projects
        self._key = key

    def for_message(self, owner: str, client_message_id: str | None) -> str:
        """The id of the session that a message makes which names none. With a client_message_id always the
        same one: a client that repeats a request whose answer it never saw cannot know the session that the
        first one made."""
        return new_session_id() if client_message_id is None else self._derived(owner, client_message_id)

    async def find(self, user_id: str, name: str) -> str:
        """The id of the session that the user means: one of that very id which they may read, or the one
        that they call so; else the name, under which there is nothing for them. Raises
        errors.StorageError."""
        stored = await self.new(user_id, name)
        return stored if stored == name or await may_read(self._projects, user_id, stored) else name

    async def new(self, user_id: str, name: str) -> str:
        """The id of a session that is to be made under that name, if the user has none of it: what `find`
        finds, or will. Raises errors.StorageError."""
        if user_id == LOCAL_USER.user_id or await may_read(self._projects, user_id, name):
            return name
        return self._derived(user_id, f"session\0{name}")

    def _derived(self, user_id: str, what: str) -> str:
        digest = hmac.digest(self._key, f"{user_id}\0{what}".encode(), "sha256")
        return f"s_{digest.hex()[:32]}"
