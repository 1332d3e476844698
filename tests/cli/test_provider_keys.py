"""Provider keys and the keys that encrypt them on the command line, against a running gateway."""

import json
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from gateway.encryption.keyring import read_keys
from tests.cli.calling import Command
from tests.product import Keyring, new_key
from tests.running import Running, gateway_process

ADA, BOB = "ada-0123456789abcdef", "bob-0123456789abcdef"
USERS = {"GATEWAY_API_KEYS": f"ada:{ADA},bob:{BOB}", "GATEWAY_ADMINS": "ada"}
OWN, SHARED = "sk-canary-of-bob-0001", "sk-canary-of-all-0002"


@pytest.fixture(scope="module")
def taking(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway that takes keys."""
    folder = tmp_path_factory.mktemp("gateway")
    with gateway_process(folder, **USERS, GATEWAY_ENCRYPTION_KEYS=new_key()) as gateway:
        yield gateway


def key_id(key: str) -> str:
    return Keyring(read_keys(key)).first


def stored(folder: Path) -> list[str]:
    """The secrets as the database has them."""
    with closing(sqlite3.connect(folder / "data" / "gateway.db")) as connection:
        return [row[0] for row in connection.execute("SELECT secret FROM provider_keys")]


def test_a_key_is_set_shown_by_its_ending_and_removed(command: Command, taking: Running) -> None:
    """The key itself is nowhere in what is printed. Without one the demo model answers, as the gateway's."""
    bob = ("--url", taking.url, "--key", BOB)
    without = "Your calls of the model are made with the gateway's key.\n"

    told = [
        command("provider-keys", "show", *bob),
        command("provider-keys", "set", *bob, given=f"{OWN}\n".encode()),
        command("provider-keys", "show", *bob),
        command("provider-keys", "show", "--json", *bob),
        command("provider-keys", "remove", *bob),
        command("provider-keys", "show", *bob),
    ]

    assert [each.code for each in told] == [0] * 6, told
    first, put, shown, as_json, removed, last = (each.out for each in told)
    assert first == last == f"No key is set.\n{without}"
    assert put == shown
    assert shown.startswith("A key that ends in 0001 is set, since ")
    assert shown.endswith("Your calls of the model are made with your own key.\n")
    found = json.loads(as_json)
    assert (found["is_set"], found["ending"], found["serving"]) == (True, "0001", "user")
    assert removed == "There is none any more.\n"
    assert not any(OWN in each.out + each.err for each in told)


def test_the_key_of_a_tenant_is_for_admins_and_serves_the_others(command: Command, taking: Running) -> None:
    ada, bob = (("--url", taking.url, "--key", key) for key in (ADA, BOB))

    refused = command("provider-keys", "set", "--tenant", *bob, given=SHARED.encode())
    put = command("provider-keys", "set", "--tenant", *ada, given=SHARED.encode())
    others = command("provider-keys", "show", *bob)
    removed = command("provider-keys", "remove", "--tenant", *ada)

    assert (refused.code, put.code, removed.code) == (1, 0, 0)
    assert "admin" in refused.err
    assert others.out == "No key is set.\nYour calls of the model are made with your tenant's key.\n"


def test_no_key_on_standard_input_is_no_key(command: Command, taking: Running) -> None:
    nothing = command("provider-keys", "set", "--url", taking.url, "--key", BOB, given=b" \n")
    assert nothing.code == 2
    assert "There is no key on standard input." in nothing.err


def test_a_gateway_without_encryption_says_what_its_operator_does(command: Command, running: Running) -> None:
    refused = command("provider-keys", "set", "--url", running.url, given=OWN.encode())
    assert refused.code == 1
    assert "GATEWAY_ENCRYPTION_KEYS" in refused.err


def test_a_rotated_gateway_needs_no_former_key(command: Command, tmp_path: Path) -> None:
    """Keys as `generate` makes them; the secret goes from one to the other."""
    former, new = (command("secrets", "generate").out.strip() for _ in range(2))
    assert former != new
    with gateway_process(tmp_path, **USERS, GATEWAY_ENCRYPTION_KEYS=former) as gateway:
        command("provider-keys", "set", "--url", gateway.url, "--key", BOB, given=OWN.encode())
        gateway.stop()
    with gateway_process(tmp_path, **USERS, GATEWAY_ENCRYPTION_KEYS=f"{new},{former}") as gateway:
        at = ("--url", gateway.url, "--key")
        refused = command("secrets", "rotate", *at, BOB)
        rotated = command("secrets", "rotate", *at, ADA)
        again = command("secrets", "rotate", *at, ADA)
        gateway.stop()
    with gateway_process(tmp_path, **USERS, GATEWAY_ENCRYPTION_KEYS=new) as gateway:
        shown = command("provider-keys", "show", "--url", gateway.url, "--key", BOB)

    assert (refused.code, rotated.code, again.code) == (1, 0, 0), rotated.err
    counts = [each.out.splitlines()[0] for each in (rotated, again)]
    assert counts == [f"Encrypted anew: {n} secrets, 0 memories, 0 artifacts and archives." for n in (2, 0)]
    assert "Nothing needs a former key any more." in rotated.out
    assert "ends in 0001" in shown.out
    (secret,) = stored(tmp_path)
    assert key_id(new) in secret
    assert OWN not in secret


def test_a_lost_key_is_forgotten_with_what_it_encrypts(command: Command, tmp_path: Path) -> None:
    """Not while a gateway has the database; afterwards one starts without the key, and has none of it."""
    lost, new = new_key(), new_key()
    forget = ("secrets", "forget", key_id(lost), "--yes")
    data = str(tmp_path / "data")
    with gateway_process(tmp_path, **USERS, GATEWAY_ENCRYPTION_KEYS=lost) as gateway:
        command("provider-keys", "set", "--url", gateway.url, "--key", BOB, given=OWN.encode())
        in_use = command(*forget, GATEWAY_DATA_DIR=data)
        gateway.stop()
    asked = command("secrets", "forget", key_id(lost), given=b"n\n", GATEWAY_DATA_DIR=data)
    kept = len(stored(tmp_path))
    forgotten = command(*forget, GATEWAY_DATA_DIR=data)
    with gateway_process(tmp_path, **USERS, GATEWAY_ENCRYPTION_KEYS=new) as gateway:
        shown = command("provider-keys", "show", "--url", gateway.url, "--key", BOB)

    assert (in_use.code, asked.code, kept) == (1, 1, 1)
    assert "in use" in in_use.err
    assert (forgotten.code, forgotten.out.split(".")[0]) == (0, "1 secrets and 0 memories are removed"), (
        forgotten.err
    )
    assert shown.out.startswith("No key is set.")
    assert stored(tmp_path) == []
