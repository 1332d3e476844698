"""`gateway secrets`: the keys that encrypt what is stored."""

from typing import Annotated

import typer

from gateway.cli.options import LOCAL_URL, Key, Url


def generate() -> None:
    """Print a new key for GATEWAY_ENCRYPTION_KEYS."""
    from gateway.encryption.keyring import new_key

    print(new_key())


def rotate(*, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Encrypt what is stored with the first key, in slices: stopped, it can be called again."""
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    rows = memories = blobs = unreadable = 0
    after: str | None = None
    with GatewayClient(url, key) as client:
        while True:
            done = client.rotate_secrets(after)
            rows, blobs = rows + done["rows"], blobs + done["blobs"]
            memories += done.get("memories", 0)
            unreadable += done["unreadable"]
            after = done.get("after")
            if after is None:
                break
    print(f"Encrypted anew: {rows} secrets, {memories} memories, {blobs} artifacts and archives.")
    if unreadable:
        to_stderr(f"{unreadable} do not open with any key, and are as they were: keep the former keys.")
        raise typer.Exit(1)
    print("Nothing needs a former key any more.")


def forget(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="Of the lost key, as the start names it.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove the secrets and memories that a lost key encrypts, for good. With SQLite the server must not be
    running."""
    import asyncio

    from gateway.settings import load_settings
    from gateway.wiring.encryption import forget_key
    from gateway.wiring.memory_encryption import forget_memories

    if not yes:
        typer.confirm(
            f"Remove all secrets and memories that are encrypted with {key_id}, for good?", abort=True
        )
    settings = load_settings()
    removed = asyncio.run(forget_key(settings, key_id))
    memories = asyncio.run(forget_memories(settings, key_id))
    print(
        f"{removed} secrets and {memories} memories are removed. "
        "Artifacts and archives under that key stay, and cannot be read."
    )
