"""Who a person in Slack is for the gateway."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal

from gateway.adapters.messengers.base import Account
from gateway.adapters.messengers.journal import Journal
from gateway.bounded_dict import BoundedDict
from gateway.errors import RequestRefused

Identity = Literal["one", "email", "slack"]
"""Who is not in the table and has no key of their own: all are the owner of the program's key; each is the
user of their e-mail address; each is the user of their Slack id."""
MAX_KNOWN = 10_000
"""E-mail addresses that are remembered."""


class SlackAccounts:
    """`users` names people by their Slack id or e-mail address. `email_of` asks Slack; "" where it does not
    tell, errors.RequestRefused where they are of another workspace: these are nobody, unless `users` has
    their id or they have linked an account."""

    def __init__(
        self,
        journal: Journal,
        key: str | None,
        users: Mapping[str, str],
        identity: Identity,
        email_of: Callable[[str], Awaitable[str]],
    ) -> None:
        self._journal = journal
        self._key = key
        self._users = users
        self._identity = identity
        self._email_of = email_of
        self._emails = BoundedDict[str, str](MAX_KNOWN)

    async def identify(self, person: str) -> Account:
        """Raises errors.RequestRefused: nobody; MessengerBusy: Slack does not answer."""
        if (linked := self._journal.linked(person)) is not None:
            return Account(linked)
        user = self._users.get(person)
        if user is None:
            email = await self._email(person)
            user = self._users.get(email) or (email if self._identity == "email" else None)
            if user == "":
                raise RequestRefused(
                    "Slack does not tell your e-mail address: link your account with /gateway link."
                )
        return Account(self._key, user or (person if self._identity == "slack" else None))

    async def _email(self, person: str) -> str:
        if person not in self._emails:
            self._emails[person] = (await self._email_of(person)).strip().casefold()
        return self._emails[person]


def read_users(given: Mapping[str, str]) -> Mapping[str, str]:
    """The table, with e-mail addresses in small letters."""
    return {name.casefold() if "@" in name else name: user for name, user in given.items()}
