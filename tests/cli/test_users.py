"""Persons, legal holds and retention on the command line."""

import json
import zipfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.calling import Command
from tests.running import Running, gateway_process

ADA, BOB = (f"{name}-secret-0123456789" for name in ("ada", "bob"))


@pytest.fixture(scope="module")
def with_accounts(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    given = {"GATEWAY_API_KEYS": f"ada:{ADA},bob:{BOB}", "GATEWAY_ADMINS": "ada"}
    with gateway_process(tmp_path_factory.mktemp("gateway"), **given) as gateway:
        yield gateway


def test_a_person_is_exported_held_and_erased(
    command: Command, with_accounts: Running, tmp_path: Path
) -> None:
    """An admin does it; the hold stops the erasure until it is lifted, and the report is printed."""
    at, ada, bob = ("--url", with_accounts.url), ("--key", ADA), ("--key", BOB)
    assert command("chat", "/say quendelduft", *at, *bob).code == 0

    exported = command("users", "export", "bob", "-o", "all.zip", *at, *ada)
    assert (exported.code, exported.err.split(":")[0]) == (0, "all.zip")
    archive = zipfile.ZipFile(tmp_path / "all.zip")
    assert json.loads(archive.read("manifest.json"))["user_id"] == "bob"
    assert b"quendelduft" in archive.read("sessions.jsonl")
    refused = command("users", "export", "ada", "-o", "hers.zip", *at, *bob)
    assert (refused.code != 0, (tmp_path / "hers.zip").exists()) == (True, False)

    placed = command("holds", "place", "case 7", "--user", "bob", *at, *ada)
    hold = placed.out.split()[0]
    assert placed.out == f"{hold} holds the user bob.\n"
    assert hold in command("holds", "list", *at, *ada).out
    held = command("users", "erase", "bob", "--confirm", "bob", *at, *ada)
    assert held.code != 0
    assert "legal hold" in held.err.lower()
    assert command("holds", "lift", hold, *at, *ada).out == f"{hold} is lifted.\n"
    assert command("holds", "list", *at, *ada).err == f"There is no legal hold at {with_accounts.url}.\n"

    mistyped = command("users", "erase", "bob", "--confirm", "ada", *at, *ada)
    assert mistyped.code != 0
    erased = command("users", "erase", "bob", "--confirm", "bob", *at, *ada)
    assert erased.code == 0, erased.err
    assert " is done at " in erased.out
    assert "kept: backups." in erased.out
    report = json.loads(command("users", "erasure", "bob", "--json", *at, *ada).out)
    assert (report["state"], report["found"]["sessions"]) == ("done", 1)
    assert report["person"] in command("users", "erasure", "bob", *at, *ada).out


def test_a_hold_is_on_a_user_or_a_session(command: Command) -> None:
    for given in ((), ("--user", "bob", "--session", "s")):
        answer = command("holds", "place", "case 7", *given)
        assert (answer.code, "Give --user or --session" in answer.err) == (2, True)


def test_a_rule_of_retention_is_set_shown_and_looked_at_beforehand(
    command: Command, with_accounts: Running
) -> None:
    at = ("--url", with_accounts.url, "--key", ADA)
    put = command("retention", "set", "--archive-days", "30", "--delete-days", "0", "--fixed", *at)

    assert put.out.splitlines()[:2] == ["archive: after 30 days", "delete: never"]
    assert put.out.splitlines()[2].endswith("may have their own: no")
    assert command("retention", "show", *at).out == put.out
    previewed = command("retention", "preview", *at)
    assert previewed.err == "0 sessions would be deleted, 0 archived; 0 are held.\n"
    refused = command("retention", "set", "--url", with_accounts.url, "--key", BOB)
    assert refused.code != 0
