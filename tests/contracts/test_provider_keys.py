"""What storage owes about secrets: provider keys, webhooks, and the keys that encrypt them."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text, update

from gateway.errors import DecryptionFailed, EncryptionOff
from gateway.storage.provider_keys import TENANT, ProviderKey, ProviderKeys
from gateway.storage.schema import provider_keys
from gateway.storage.webhooks import Webhook
from tests.product import Keyring, SettingsError, Storage
from tests.storage.writing import Factory

pytestmark = pytest.mark.anyio

OLD, NEW = Keyring([bytes(range(32))]), Keyring([bytes(range(32, 64))])
BOTH = Keyring([bytes(range(32, 64)), bytes(range(32))])
ADA = ProviderKey("default", "ada", "sk-ant-key-of-ada", "-ada", 5, "ada")
HOOK = Webhook("wh_a", "ada", "https://a.example/", ("turn.finished",), "whsec_c2VjcmV0", 1)


async def rows(storage: Storage, table: str) -> str:
    """All that a table has, as text."""
    keys = storage.provider_keys
    assert isinstance(keys, ProviderKeys)
    every = text(f"SELECT * FROM {table}")
    found = await keys.database.read(lambda connection: list(connection.execute(every)))
    return repr(found)


async def rotated(storage: Storage, limit: int = 1) -> tuple[int, int]:
    after, done, unreadable = None, 0, 0
    while True:
        part = await storage.secrets.rotate(after, limit)
        done, unreadable, after = done + part.rows, unreadable + part.unreadable, part.after
        if after is None:
            return done, unreadable


async def test_the_users_key_serves_before_their_tenants(factory: Factory, tmp_path: Path) -> None:
    """Others of the tenant have the tenant's, those of another tenant none; and no row has a key."""
    async with factory(tmp_path, OLD) as storage:
        keys = storage.provider_keys
        shared = replace(ADA, user_id=TENANT, secret="sk-ant-of-all", ending="-all")
        for key in (ADA, shared):
            await keys.set(key)

        assert await keys.serving("default", "ada") == ADA
        assert await keys.serving("default", "bob") == shared
        assert await keys.serving("team", "team/ada") is None
        assert [await keys.get("default", user) for user in ("ada", TENANT, "bob")] == [ADA, shared, None]
        assert "sk-ant" not in await rows(storage, "provider_keys")
        assert ADA.secret not in repr(ADA)

        assert [await keys.remove("default", "ada") for _ in range(2)] == [True, False]
        assert await keys.serving("default", "ada") == shared


async def test_a_row_that_is_copied_to_somebody_else_does_not_open(factory: Factory, tmp_path: Path) -> None:
    async with factory(tmp_path, OLD) as storage:
        keys = storage.provider_keys
        assert isinstance(keys, ProviderKeys)
        await keys.set(ADA)
        await keys.database.write(
            lambda connection: connection.execute(update(provider_keys).values(user_id="bob"))
        )

        with pytest.raises(DecryptionFailed):
            await keys.serving("default", "bob")


async def test_without_a_key_to_encrypt_with_nothing_is_stored(factory: Factory, tmp_path: Path) -> None:
    async with factory(tmp_path) as storage:
        assert not storage.provider_keys.can_store
        with pytest.raises(EncryptionOff):
            await storage.provider_keys.set(ADA)
        assert await storage.provider_keys.serving("default", "ada") is None


async def test_secrets_of_webhooks_are_encrypted_older_ones_read(factory: Factory, tmp_path: Path) -> None:
    """Those from before there was a key are as they were until a rotation."""
    async with factory(tmp_path) as storage:
        await storage.webhooks.add(HOOK, most=9)
    async with factory(tmp_path, OLD) as storage:
        newer = replace(HOOK, id="wh_b", secret="whsec_bmV3ZXI=", created_at=2)
        await storage.webhooks.add(newer, most=9)

        assert list(await storage.webhooks.list("ada")) == [HOOK, newer]
        assert await storage.webhooks.get("wh_b", "ada") == newer
        assert HOOK.secret in await rows(storage, "webhooks")
        assert newer.secret not in await rows(storage, "webhooks")

        assert await rotated(storage) == (1, 0)
        assert "whsec_" not in await rows(storage, "webhooks")
        assert list(await storage.webhooks.list("ada")) == [HOOK, newer]


async def test_a_rotation_goes_on_where_it_was_stopped(factory: Factory, tmp_path: Path) -> None:
    """In slices of one row; what is done is not done again, and then the former key is needed no more."""
    async with factory(tmp_path, OLD) as storage:
        await storage.secrets.begin(1)
        for user in ("ada", "bob", "eve"):
            await storage.provider_keys.set(replace(ADA, user_id=user))
        await storage.webhooks.add(HOOK, most=9)
    async with factory(tmp_path, BOTH) as storage:
        await storage.secrets.begin(2)
        assert (await storage.secrets.rotate(None, 1)).rows == 1  # and the process is killed
    async with factory(tmp_path, BOTH) as storage:
        assert await storage.provider_keys.get("default", "eve") is not None  # while it is half done
        assert await rotated(storage) == (3, 0)
        assert await rotated(storage) == (0, 0)
        await storage.secrets.end_rotation()
    async with factory(tmp_path, NEW) as storage:
        await storage.secrets.begin(3)
        assert await storage.provider_keys.get("default", "ada") == ADA
        assert await storage.webhooks.get("wh_a", "ada") == HOOK


async def test_a_row_that_does_not_open_holds_up_no_rotation(factory: Factory, tmp_path: Path) -> None:
    async with factory(tmp_path, OLD) as storage:
        for user in ("ada", "bob"):
            await storage.provider_keys.set(replace(ADA, user_id=user))
    async with factory(tmp_path, NEW) as storage:
        await storage.provider_keys.set(replace(ADA, user_id="bob"))
        assert await rotated(storage) == (0, 1)


async def test_a_start_without_a_key_that_is_in_use_is_refused(factory: Factory, tmp_path: Path) -> None:
    """It names the key by its id; where it is lost its secrets can be given up."""
    async with factory(tmp_path, OLD) as storage:
        await storage.secrets.begin(1)
        await storage.provider_keys.set(ADA)
    for keyring in (None, NEW):
        async with factory(tmp_path, keyring) as storage:
            with pytest.raises(SettingsError, match=OLD.first):
                await storage.secrets.begin(2)
    async with factory(tmp_path, NEW) as storage:
        assert await storage.secrets.forget(OLD.first) == 1
        await storage.secrets.begin(3)
        assert await storage.provider_keys.get("default", "ada") is None
