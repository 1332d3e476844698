"""The prompt's components on the command line: their versions, and the way back to one."""

import json
from collections.abc import Generator

import pytest

from gateway.client import GatewayClient
from tests.cli.calling import Command
from tests.running import Running, gateway_process

FIRST, SECOND = "Answer in one sentence.", "用一句话回答。"


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway whose prompt nobody else depends on."""
    with gateway_process(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


def test_a_version_is_restored_as_a_new_one_and_so_is_the_file(command: Command, writable: Running) -> None:
    """The history has every version with its author and note, and --json their texts."""
    at = ("--url", writable.url)
    nothing = command("prompts", "history", "style", *at)
    assert (nothing.code, nothing.out) == (0, "")
    assert (
        nothing.err == f"style says what its file says: nothing was written in its place at {writable.url}.\n"
    )
    with GatewayClient(writable.url) as client:
        of_file = client.write_prompt("style", None, after=0)["number"]
        first = client.write_prompt("style", FIRST, after=of_file, note="shorter")["number"]
        second = client.write_prompt("style", SECOND, after=first)["number"]

        restored = command("prompts", "restore", "style", str(first), *at)
        again = command("prompts", "restore", "style", str(first), *at)

        newest = client.prompt_versions("style")["versions"][0]
        assert (newest["text"], newest["note"]) == (FIRST, f"Version {first} again.")
        said = f"style says again what it said in version {first}: that is version {newest['number']} now.\n"
        assert (restored.code, restored.out) == (0, said)
        assert again.err == f"style says that already, as version {newest['number']}.\n"
        rows = command("prompts", "history", "style", *at).out.splitlines()[1:]
        assert [int(row.split()[0]) for row in rows] == [newest["number"], second, first, of_file]
        assert ("shorter" in rows[2], "the file's" in rows[3]) == (True, True)
        told = json.loads(command("prompts", "history", "style", "--json", *at).out)["versions"]
        assert [each.get("text") for each in told] == [FIRST, SECOND, FIRST, None]

        assert command("prompts", "restore", "style", str(of_file), "--note", "as before", *at).code == 0
        (style,) = [each for each in client.prompt_components()["components"] if each["name"] == "style"]
        assert style["source"] != "edited"
    listed = command("prompts", *at)
    assert "style" in [line.split()[0] for line in listed.out.splitlines()]


def test_what_cannot_be_restored_is_said_with_what_can(command: Command, writable: Running) -> None:
    """No such version, no such component, and a number that is none."""
    at = ("--url", writable.url)
    missing = command("prompts", "restore", "style", "999", *at)
    unknown = command("prompts", "history", "stile", *at)
    wrong = command("prompts", "restore", "style", "0", *at)

    assert missing.code == 1
    assert "style has no version 999: `gateway prompts history style` shows those" in missing.err
    assert (unknown.code, "There is no component 'stile' in the prompt." in unknown.err) == (1, True)
    assert wrong.code == 2
