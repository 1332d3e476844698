"""Links by which a session is read, at this gateway: until it is ended, by whoever it is for."""

import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from gateway.auth import Principal, tenant_of
from gateway.errors import Forbidden, InvalidRequest, NotFound
from gateway.ids import new_link_id, now_ms
from gateway.service.api_keys import ApiKeys
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.service.session_replays import SessionReplays
from gateway.service.users_being_erased import BeingErased
from gateway.storage.sessions import SessionRow
from gateway.storage.shared_links import Audience, SharedLink, SharedLinks

PASS_FOR = 60
"""Seconds within which a browser whose reader has shown who they are opens the link."""

Turns = AsyncGenerator[tuple[str, list[dict[str, Any]]]]


class UserLinks:
    """One per process. `key` is a secret that the gateways of one database have in common."""

    def __init__(
        self,
        deps: Dependencies,
        links: SharedLinks,
        replays: SessionReplays,
        api_keys: ApiKeys,
        *,
        being_erased: BeingErased,
        key: bytes,
    ) -> None:
        self._deps, self._links, self._replays, self._api_keys = deps, links, replays, api_keys
        self._being_erased, self._key = being_erased, key

    async def create(
        self,
        who: Principal,
        session_id: str,
        *,
        audience: Audience = "signed_in",
        is_live: bool = False,
        expires_at: int | None = None,
    ) -> tuple[SharedLink, str]:
        """A new link to a session of the caller's, and its secret, which is stored nowhere. It shows the
        active branch as it is now, or, where it `is_live`, as it is when it is opened.

        Raises:
            errors.NotFound, errors.Forbidden: it is not their session; or not with the key that they came
            with. errors.Forbidden (no_public_links): links for anybody are off here.
            errors.InvalidRequest: an expiry that has passed.
            errors.Conflict (too_many_links).
        """
        now = now_ms()
        if audience == "anybody":
            if not self._deps.settings.public_links:
                raise Forbidden(
                    "Links for anybody are off here: its operator can allow them (GATEWAY_PUBLIC_LINKS).",
                    code="no_public_links",
                )
            await self._api_keys.check_in_person(who)  # it would outlive a key that somebody has found
        if expires_at is not None and expires_at <= now:
            raise InvalidRequest("expires_at has passed already.")
        owner = await owner_of(self._deps.projects, who, session_id, "own")
        session = await self._deps.sessions.get(session_id, owner)
        token = secrets.token_urlsafe(32)
        link = SharedLink(
            new_link_id(),
            digest_of(token),
            owner,
            session.id,
            audience,
            None if is_live else session.head,
            None if is_live else session.active_branch,
            now,
            expires_at,
        )
        await self._links.add(link, most=self._deps.settings.max_links)
        return link, token

    async def list(self, who: Principal) -> Sequence[tuple[SharedLink, str | None]]:
        """The caller's, the newest first, each with the title of its session."""
        return await self._links.list(who.user_id)

    async def end(self, who: Principal, link_id: str) -> None:
        """Ends a link for everybody, at once. Raises errors.NotFound."""
        if not await self._links.end(who.user_id, link_id):
            raise NotFound(f"There is no link {link_id}.", code="link_not_found")

    async def pass_for(self, who: Principal, token: str) -> str:
        """What lets the browser of somebody who is known open a link, for PASS_FOR seconds. Raises
        errors.NotFound: it has ended, is none, or is not for them."""
        link = await self._held(token)
        if not _is_for(link, who):
            raise _nothing()
        until = str(now_ms() // 1000 + PASS_FOR)
        return f"{until}.{self._signed(link, until)}"

    async def opened(self, token: str, who: Principal | None, given: str) -> SharedLink | None:
        """The link, for who may read it: everybody, who is known, or who has a pass for it. None: they have
        to show who they are first. Raises errors.NotFound: it has ended, is none, or is not for them."""
        link = await self._held(token)
        is_public = link.audience == "anybody" and self._deps.settings.public_links
        if not is_public and not self._passes(link, given):
            if who is None:
                return None
            if not _is_for(link, who):
                raise _nothing()
        await self._links.opened(link.id, now_ms())
        return link

    async def turns(self, link: SharedLink) -> tuple[SessionRow, Turns]:
        """What the link shows: the session, and its turns with their events. Raises as
        `SessionReplays.shared_turns`."""
        return await self._replays.shared_turns(
            Principal(link.owner), link.session, until=link.until_seq, branch=link.branch
        )

    async def _held(self, token: str) -> SharedLink:
        link = await self._links.find(digest_of(token))
        if link is None or not link.holds(now_ms()) or link.owner in self._being_erased.users:
            raise _nothing()
        return link

    def _passes(self, link: SharedLink, given: str) -> bool:
        until, _, signed = given.partition(".")
        if not (until.isascii() and until.isdigit() and len(until) <= 12):
            return False
        is_ours = hmac.compare_digest(signed.encode(), self._signed(link, until).encode())
        return is_ours and int(until) >= now_ms() // 1000

    def _signed(self, link: SharedLink, until: str) -> str:
        return hmac.digest(self._key, f"{link.digest} {until}".encode(), hashlib.sha256).hex()


def digest_of(token: str) -> str:
    """What is stored of a link's secret."""
    return hashlib.sha256(token.encode()).hexdigest()


def _is_for(link: SharedLink, who: Principal) -> bool:
    return "read" in who.scopes and who.tenant == tenant_of(link.owner)


def _nothing() -> NotFound:
    return NotFound("There is nothing at this link: it has ended, or never was.", code="link_not_found")
