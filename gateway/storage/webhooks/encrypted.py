"""Webhooks whose signing secrets are encrypted, bound to the webhook and its owner."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from gateway.encryption.keyring import Keyring, key_id_of, key_missing
from gateway.errors import DecryptionFailed
from gateway.storage.database import Database
from gateway.storage.webhooks import Webhook
from gateway.storage.webhooks.store import Webhooks

log = structlog.get_logger(__name__)


def bound_to(webhook_id: str, owner: str) -> Sequence[str]:
    """What the secret of a row is bound to."""
    return ("webhook", webhook_id, owner)


class EncryptedWebhooks(Webhooks):
    """Webhooks whose secrets are encrypted. Those from before there was a key are read as they are. Finding
    webhooks raises errors.DecryptionFailed besides."""

    def __init__(self, database: Database, keyring: Keyring | None) -> None:
        super().__init__(database)
        self._keyring = keyring

    async def add(self, webhook: Webhook, *, most: int) -> None:
        """Raises errors.Conflict (too_many_webhooks)."""
        if self._keyring is not None:
            words = bound_to(webhook.id, webhook.owner)
            webhook = replace(webhook, secret=self._keyring.encrypt(webhook.secret, *words))
        await super().add(webhook, most=most)

    async def list(self, owner: str) -> Sequence[Webhook]:
        """One whose secret does not open is there with what is stored of it."""
        return [self._readable(each) or each for each in await super().list(owner)]

    async def get(self, webhook_id: str, owner: str) -> Webhook:
        """Raises errors.NotFound."""
        return self._opened(await super().get(webhook_id, owner))

    async def switch(
        self, webhook_id: str, owner: str, *, disabled_at: int | None, key_id: str | None = None
    ) -> Webhook:
        """Raises errors.NotFound."""
        return self._opened(await super().switch(webhook_id, owner, disabled_at=disabled_at, key_id=key_id))

    async def ready(self, now: int, after: str, limit: int) -> Sequence[Webhook]:
        """One whose secret does not open is left out, and logged: the others go on."""
        found: list[Webhook] = []
        while (wanted := limit - len(found)) > 0:
            page = await super().ready(now, after, wanted)
            found += [each for each in map(self._readable, page) if each is not None]
            if len(page) < wanted:
                break
            after = page[-1].id
        return found

    def _readable(self, webhook: Webhook) -> Webhook | None:
        try:
            return self._opened(webhook)
        except DecryptionFailed as error:
            log.error("webhook_secret_unreadable", webhook_id=webhook.id, error=error.message)
            return None

    def _opened(self, webhook: Webhook) -> Webhook:
        if (key_id := key_id_of(webhook.secret)) is None:
            return webhook
        if self._keyring is None:
            raise key_missing(key_id)
        secret = self._keyring.decrypt(webhook.secret, *bound_to(webhook.id, webhook.owner))
        return replace(webhook, secret=secret)
