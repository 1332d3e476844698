"""Memories that are encrypted, as clients, commands and the data folder have them."""

from pathlib import Path
from typing import Any

import pytest

from gateway.wiring import open_stored_memories
from gateway.wiring.encryption import open_keyring
from gateway.wiring.memory_encryption import forget_memories
from tests.harness import Client, running_gateway, settings_for
from tests.product import SettingsError, load_settings, new_key, open_memory, serve_demo

pytestmark = pytest.mark.anyio

OLD, NEW = "Ann must not eat peanuts.", "Ann drinks oolong at four. 安在四点喝乌龙茶。"


async def found(client: Client, words: str) -> list[str]:
    return [row["content"] for row in (await client.get(f"/api/memory?q={words}")).json()["memories"]]


async def rotate(client: Client) -> dict[str, int]:
    counts = {"rows": 0, "memories": 0, "blobs": 0, "unreadable": 0}
    after: str | None = None
    while True:
        answer = await client.post("/api/secrets/rotate", {"after": after} if after else {})
        part = answer.json()
        counts = {name: count + part[name] for name, count in counts.items()}
        if (after := part.get("after")) is None:
            return counts


def stored(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("memory.db*"))


async def test_what_was_remembered_before_is_encrypted_by_the_rotation(tmp_path: Path) -> None:
    """Old and new are found side by side, in both languages, and corrected, exported, recalled and erased as
    ever. After a round none of it is in the file or its log."""
    keys: dict[str, Any] = {"encryption_keys": new_key(), "encrypt_contents": True}
    async with serve_demo() as url:
        async with running_gateway(settings_for(tmp_path, url)) as client:
            await client.post("/api/memory", {"content": OLD, "tags": ["allergy"]})
            await client.post("/api/memory", {"content": "Ann has a secretbike."})
        assert b"peanut" in stored(tmp_path)
        async with running_gateway(settings_for(tmp_path, url, **keys)) as client:
            made = (await client.post("/api/memory", {"content": NEW})).json()
            again = await client.post("/api/memory", {"content": OLD})
            side_by_side = [await found(client, words) for words in ("peanuts", "乌龙茶", "oolong", "peanu")]
            first, second = await rotate(client), await rotate(client)
            rotated = [await found(client, words) for words in ("peanuts", "乌龙茶", "oolong", "peanu")]
            exported = (await client.get("/api/memory/export")).text
            path = f"/api/memory/{made['id']}"
            corrected = await client.http.patch(path, json={"content": "Ann drinks oolong at five."})
            details = (await client.get(path)).json()
            (bike,) = (await client.get("/api/memory?q=secretbike")).json()["memories"]
            erased = await client.http.post(f"/api/memory/{bike['id']}/erase")
            frames = await client.chat("Which oolong does Ann drink, and at what time?")
        raw = stored(tmp_path)

    assert again.status_code in {200, 409}, "the same is one memory, in either form"
    assert side_by_side == rotated == [[OLD], [NEW], [NEW], [OLD]]
    assert (first["memories"], first["unreadable"], second["memories"]) == (2, 0, 0)
    assert OLD in exported
    assert corrected.is_success, corrected.text
    assert NEW in str(details["versions"]), "it has what it said before"
    assert erased.is_success, erased.text
    assert "oolong at five" in str([frame for frame in frames if frame["type"] == "retrieval"])
    for secret in ("peanut", "oolong", "乌龙", "secretbike", "allergy"):
        assert secret.encode() not in raw


async def test_a_process_without_the_keys_does_not_read_them(tmp_path: Path) -> None:
    """It says what to set; once the key is given up, nothing of them is left."""
    keys: dict[str, Any] = {"encryption_keys": new_key(), "encrypt_contents": True}
    async with serve_demo() as url, running_gateway(settings_for(tmp_path, url, **keys)) as client:
        await client.post("/api/memory", {"content": OLD})
    for given in ({}, {"encryption_keys": new_key()}):
        settings = load_settings(data_dir=tmp_path, **given)
        for opening in (open_memory, open_stored_memories):
            with pytest.raises(SettingsError, match="GATEWAY_ENCRYPTION_KEYS"):
                async with opening(settings):
                    pass
    lost = load_settings(data_dir=tmp_path, **keys)
    async with open_stored_memories(lost) as memories:
        assert await memories.store.census() != {}
    keyring = open_keyring(lost)
    assert keyring is not None
    assert await forget_memories(load_settings(data_dir=tmp_path), keyring.first) == 1
    async with open_stored_memories(load_settings(data_dir=tmp_path)) as memories:
        assert await memories.store.census() == {}
