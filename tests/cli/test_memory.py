"""What is remembered, looked after on the command line."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.memory.validation import make
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.cli.calling import Command, Outcome
from tests.product import NewMemory, Scope, indexed

NEVER = "m_0000000000000000"
OF_LOCAL = " of user local; --user NAME for another."


class Memory:
    """`gateway memory`, on one data folder."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def __call__(self, *arguments: str, given: bytes | None = None, **settings: str) -> Outcome:
        return self._command("memory", *arguments, given=given, **settings)

    def done(self, *arguments: str) -> str:
        said = self(*arguments)
        assert said.code == 0, said.err
        return said.out

    def saved(self, content: str, *more: str) -> str:
        """The id of a new memory."""
        return self.done("save", content, *more).split()[0]

    def json(self, *arguments: str) -> Any:
        return json.loads(self.done(*arguments, "--json"))


@pytest.fixture
def memory(command: Command) -> Memory:
    return Memory(command)


def test_a_memory_is_saved_found_edited_and_forgotten(memory: Memory) -> None:
    """In Chinese, in tables whose columns stand under one another."""
    saved = memory.done("save", "我喜欢简约的设计风格", "--type", "preference", "--tag", "设计", "--pinned")
    memory_id = saved.split()[0]
    other = memory.saved("Keeps bees in the garden", "--importance", "5")

    assert saved == f"{memory_id} remembered, version 1: 我喜欢简约的设计风格\n"
    titles, *rows = memory.done("list").splitlines()
    assert titles.split() == ["Id", "Type", "Imp", "State", "What"]
    assert [row.split()[0] for row in rows] == [other, memory_id]
    assert rows[1].split()[1:5] == ["preference", "3", "active,", "pinned"]
    assert rows[0].index("Keeps") == rows[1].index("我喜欢")
    assert memory_id in memory.done("search", "設計風格")
    assert other not in memory.done("search", "設計風格")
    edited = memory.done("edit", memory_id, "--content", "我喜欢极简风格", "--not-pinned", "--version", "1")
    assert edited == f"{memory_id} updated, version 2: 我喜欢极简风格\n"
    assert memory.done("delete", memory_id) == f"{memory_id} deleted, version 3: 我喜欢极简风格\n"
    assert memory_id not in memory.done("list")
    nothing = memory("search", "极简风格")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", f"Nothing like that is remembered{OF_LOCAL}\n")


def test_one_memory_is_shown_with_all_that_it_was(memory: Memory) -> None:
    """Its fields, and each version with who changed it and why; as JSON too."""
    memory_id = memory.saved("Meets on Wednesdays", "--type", "event")
    memory.done("edit", memory_id, "--content", "每周四开会")

    lines = memory.done("show", memory_id).splitlines()
    assert f"id:          {memory_id}" in lines
    assert "content:     每周四开会" in lines
    assert "owner:       user local" in lines
    versions = lines[lines.index("") + 1 :]
    assert "remembered" in versions[1]
    assert "Saved on the command line." in versions[1]
    assert versions[2].rstrip().endswith("每周四开会")
    told = memory.json("show", memory_id)
    assert (told["content"], told["version"]) == ("每周四开会", 2)
    assert [(each["operation"], each["actor"]) for each in told["versions"]] == [
        ("remembered", "local"),
        ("updated", "local"),
    ]


def test_what_is_corrected_leaves_a_chain(memory: Memory) -> None:
    """Suppressed, frozen, taken back, and replaced by what is true."""
    memory_id = memory.saved("办公室在东楼")

    assert " suppressed, " in memory.done("correct", memory_id, "suppress")
    assert " frozen, " in memory.done("correct", memory_id, "freeze")
    assert memory("search", "办公室").out == ""
    assert " activated, " in memory.done("correct", memory_id, "activate")
    memory.done("correct", memory_id, "replace", "--content", "办公室在西楼")
    (found,) = memory.json("search", "办公室")["memories"]
    assert found["content"] == "办公室在西楼"
    assert memory.json("show", memory_id)["superseded_by"] == found["id"]


def test_contradictions_are_listed_and_answered(memory: Memory) -> None:
    """The earlier of two first; `both` is taken back by `undecided`; and no answer without what it is of."""
    earlier = memory.saved("我住在上海")
    assert memory("contradictions").err == f"No two memories contradict each other{OF_LOCAL}\n"
    later = memory.saved("我住在臺北")

    titles, row = memory.done("contradictions").splitlines()
    assert titles.split() == ["Earlier", "It", "says", "Later", "It", "says"]
    assert row.split() == [earlier, "我住在上海", later, "我住在臺北"]
    assert memory("contradictions", earlier, later).code == 2
    assert memory("contradictions", later, earlier, "later").code == 1
    assert " confirmed, " in memory.done("contradictions", earlier, later, "both")
    assert memory.json("contradictions")["contradictions"] == []
    memory.done("contradictions", earlier, later, "undecided")
    (pair,) = memory.json("contradictions")["contradictions"]
    assert (pair["earlier"]["id"], pair["later"]["id"]) == (earlier, later)
    memory.done("contradictions", earlier, later, "later")
    assert memory.json("show", earlier)["superseded_by"] == later


def test_several_become_one(memory: Memory) -> None:
    """Which is recalled in their place."""
    first, second = memory.saved("Likes green tea"), memory.saved("Drinks tea at noon")

    memory.done("merge", first, second)

    found = memory.json("search", "tea")["memories"]
    assert len(found) == 1
    assert {memory.json("show", each)["status"] for each in (first, second)} == {"replaced"}


def test_what_is_erased_is_nowhere(memory: Memory, tmp_path: Path) -> None:
    """Only with --yes where nobody can be asked; a deleted one can be erased too."""
    memory_id = memory.saved("Has a secret cabin at the lake")
    memory.done("delete", memory_id)

    asked = memory("erase", memory_id)
    assert asked.code == 2
    assert "add --yes" in asked.err
    assert memory.done("erase", memory_id, "--yes") == f"{memory_id} is erased.\n"
    assert memory("erase", memory_id, "--yes").code == 1
    assert all(b"secret cabin" not in path.read_bytes() for path in (tmp_path / "data").iterdir())


def test_what_a_tool_claimed_is_confirmed(memory: Memory, tmp_path: Path) -> None:
    """Until then it is shown as unconfirmed and not found."""
    claim = {"content": "喜欢爵士乐", "quarantined": True, "type": "preference"}
    (tmp_path / "claims.jsonl").write_text(json.dumps(claim))
    memory.done("import", "claims.jsonl")
    (row,) = memory.json("list", "--unconfirmed")["memories"]

    assert " unconfirmed " in memory.done("list")
    assert memory("search", "爵士乐").out == ""
    assert " confirmed, " in memory.done("confirm", row["id"])
    assert row["id"] in memory.done("search", "爵士乐")
    assert memory.json("list", "--unconfirmed")["memories"] == []


def test_a_file_carries_memories_to_another_folder(memory: Memory, tmp_path: Path) -> None:
    """Exported, imported, and imported again without a double; a bad line is named, the others are taken."""
    kept = {memory.saved("住在上海"), memory.saved("Works from Lisbon")}
    assert memory.done("export", "--output", "mine.jsonl") == ""
    with (tmp_path / "mine.jsonl").open("a") as file:
        file.write('{"type": "fact"}\n')

    first = memory("import", "mine.jsonl", GATEWAY_DATA_DIR="elsewhere")
    again = memory("import", "-", given=memory.done("export").encode(), GATEWAY_DATA_DIR="elsewhere")

    made, refusal = first.err.splitlines()
    assert made.startswith(f"There was no memory in {tmp_path / 'elsewhere'}: a new one is made.")
    assert (first.code, refusal) == (1, "✗ line 3: content: must be given")
    assert first.out == "2 imported, 0 reinforced, 0 were there already, 1 refused.\n"
    assert (again.code, again.out) == (0, "0 imported, 0 reinforced, 2 were there already, 0 refused.\n")
    there = json.loads(memory("list", "--json", GATEWAY_DATA_DIR="elsewhere").out)
    assert {row["id"] for row in there["memories"]} == kept


def test_users_and_roles_have_their_own(memory: Memory) -> None:
    """A role sees its own and what is the user's; the user sees all of theirs, another user nothing."""
    private = memory.saved("Has an allergy", "--owner", "role", "--role", "doctor")
    everywhere = memory.saved("Prefers metric units")

    def seen(*arguments: str) -> set[str]:
        return {row["id"] for row in memory.json("list", *arguments)["memories"]}

    assert seen() == seen("--role", "doctor") == {private, everywhere}
    assert seen("--role", "lawyer") == {everywhere}
    assert seen("--user", "ben") == set()
    for arguments in (("show",), ("delete",), ("erase", "--yes"), ("correct",)):
        more = ("freeze",) if arguments == ("correct",) else ()
        refused = memory(arguments[0], private, *more, *arguments[1:], "--user", "ben")
        assert (refused.code, refused.out) == (1, "")
        assert "There is no memory" in refused.err
        assert "among those of user ben: --user NAME" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("memory", "list"),
        ("memory", "search", "茶"),
        ("memory", "show", NEVER),
        ("memory", "export"),
        ("memory", "confirm", NEVER),
        ("documents", "export", "files"),
    ],
)
def test_where_nothing_was_ever_remembered_nothing_is_made(
    command: Command, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """The folder is named, and what to do where another one was meant."""
    refused = command(*arguments)

    assert (refused.code, refused.out) == (1, "")
    assert f"There is no memory in {tmp_path / 'data'} yet: " in refused.err
    assert "set GATEWAY_DATA_DIR" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_a_first_memory_says_where_it_is_kept(memory: Memory, tmp_path: Path) -> None:
    """Once; and an empty list says whose it is, and whether others may be there."""
    first, second = memory("save", "Likes tea"), memory("save", "喜欢咖啡")

    assert f"There was no memory in {tmp_path / 'data'}: a new one is made." in first.err
    assert (second.code, second.err) == (0, "")
    assert memory("list", "--user", "ben").err == (
        "Nothing is remembered of user ben; --user NAME for another.\n"
    )
    assert memory("list", "--unconfirmed").err == (
        "Nothing like that is remembered of user local; --user NAME for another.\n"
    )


def test_a_long_list_is_cut_and_says_so(memory: Memory) -> None:
    """How many there are, and how to see more."""
    for number in range(3):
        memory.saved(f"Matter number {number}")

    cut = memory("list", "--limit", "2")
    assert len(cut.out.splitlines()) == 3
    assert cut.err.startswith("The newest 2 of 3. --limit shows more")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("save", " "), 1, "content is missing"),
        (("save", "长" * 8001), 1, "has 8001 characters, at most 8000 are kept"),
        (("save", "x", "--owner", "household"), 1, "GATEWAY_HOUSEHOLDS says who is in which."),
        (("save", "x", "--owner", "role"), 2, "--owner role needs --role."),
        (("save", "x", "--type", "喜好"), 2, "'喜好' is not one of"),
        (("save", "x", "--user", "阿达"), 2, "--user takes an id"),
        (("show", NEVER), 1, f"There is no memory {NEVER}. List or search memories to see their ids."),
        (("edit", NEVER), 2, "Nothing to change"),
        (("edit", NEVER, "--pinned"), 1, "There is no memory"),
        (("confirm", "没有"), 1, "There is no memory 没有"),
        (("correct", NEVER, "replace"), 2, "replace needs --content"),
        (("merge", NEVER), 1, "2 to 20 different memories can be merged, not 1."),
        (("import", "nowhere.jsonl"), 1, "nowhere.jsonl cannot be read: No such file or directory."),
        (("export", "--output", "no/where"), 1, "no/where cannot be written: No such file or directory."),
    ],
)
def test_what_cannot_be_done_is_told(
    memory: Memory, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """In words, without a traceback."""
    memory.saved("Is there already")
    refused = memory(*arguments)

    assert refused.code == code
    assert told in " ".join(refused.err.replace("│", " ").split())
    assert "Traceback" not in refused.err


def test_a_stale_version_changes_nothing(memory: Memory) -> None:
    """The current one is named."""
    memory_id = memory.saved("Lives in Rome")
    memory.done("edit", memory_id, "--importance", "5")

    for arguments in (("edit", memory_id, "--pinned"), ("delete", memory_id)):
        refused = memory(*arguments, "--version", "1")
        assert (refused.code, refused.err) == (
            1,
            f"gateway: {memory_id} is at version 2, not 1: read it again.\n",
        )


def test_what_is_remembered_does_not_steer_the_terminal(memory: Memory) -> None:
    """Control characters are gone, wherever it is shown; what comes from stdin is taken as it is."""
    said = memory("save", "-", given="evil \x1b[2J\x07 \u202e text\nsecond line".encode())
    memory_id = said.out.split()[0]

    for arguments in (("list",), ("show", memory_id), ("search", "evil"), ("show", memory_id, "--json")):
        shown = memory.done(*arguments)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", shown)
    assert memory("save", "-", given=b"\xff").code == 2


def test_a_search_finds_what_a_turn_would(memory: Memory, tmp_path: Path) -> None:
    """A role's own in that role alone, and documents; a list shows neither of these to others."""
    private = memory.saved("Has a peanut allergy", "--owner", "role", "--role", "doctor")

    def found(*arguments: str) -> set[str]:
        return {row["id"] for row in memory.json("search", "peanut allergy", *arguments)["memories"]}

    assert (found(), found("--role", "lawyer"), found("--role", "doctor")) == (set(), set(), {private})


def test_a_list_for_a_role_has_no_documents(memory: Memory, tmp_path: Path) -> None:
    """They are files, with commands of their own. A search has them."""
    row = make(NewMemory("Peanut oil burns at 230 degrees", type="reference"), Scope("nobody"), "d_1", 1)
    document = replace(row, source="document")

    async def put() -> None:
        async with await SqliteMemoryDatabase.open(tmp_path / "data" / "memory.db") as database:
            await MemoryStore(database).put_documents([(document, indexed(document))])

    memory.saved("Likes tea")
    asyncio.run(put())

    assert [row["content"] for row in memory.json("list", "--role", "cook")["memories"]] == ["Likes tea"]
    assert [row["id"] for row in memory.json("search", "peanut oil")["memories"]] == ["d_1"]


def test_an_export_is_for_its_owner_and_whole_or_not_there(memory: Memory, tmp_path: Path) -> None:
    """What was there before stays until it is."""
    memory.saved("Has an allergy")
    file = tmp_path / "mine.jsonl"
    file.write_text("what was there")
    file.chmod(0o644)

    memory.done("export", "--output", "mine.jsonl")

    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["content"] == "Has an allergy"
    beside = {path.name for path in tmp_path.iterdir() if path.is_file()}
    memory("export", "--output", "nowhere/mine.jsonl")
    (tmp_path / "data" / "memory.db").write_bytes(b"rubbish" * 1000)
    assert memory("export", "--output", "mine.jsonl").code == 1
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == beside
    assert json.loads(file.read_text())["content"] == "Has an allergy"


def test_what_was_deleted_is_listed_and_restored_until_it_is_erased(memory: Memory) -> None:
    """With what it said, and who deleted it."""
    memory_id = memory.saved("我的诊断", "--type", "fact")
    memory.done("delete", memory_id)

    shown = memory.done("list", "--deleted")

    assert (memory_id in shown, "我的诊断" in shown) == (True, True)
    (gone,) = memory.json("list", "--deleted")["deleted"]
    assert (gone["content"], gone["actor"]) == ("我的诊断", "local")
    assert gone["reason"] == "Deleted on the command line."
    assert memory("list", "--deleted", "--tag", "x").code == 2
    assert memory.done("restore", memory_id) == f"{memory_id} restored, version 3: 我的诊断\n"
    memory.done("edit", memory_id, "--content", "别的")
    assert memory.done("restore", memory_id, "--to", "1") == f"{memory_id} restored, version 5: 我的诊断\n"
    memory.done("erase", memory_id, "--yes")
    assert memory("restore", memory_id).code == 1
    assert memory("list", "--deleted").err == "Nothing is deleted that is not erased.\n"


def test_what_follows_from_a_memory_is_marked_when_that_is_corrected(memory: Memory) -> None:
    """As it was said when it was saved."""
    root = memory.saved("Lives in Berlin")
    leaf = memory.saved("Her gym is around the corner", "--depends-on", root)

    told = memory.done("correct", root, "replace", "--content", "Lives in Paris", "--version", "1")

    assert f"{leaf} flagged" in told
    stale = memory("confirm", leaf, "--version", "1")
    assert (stale.code, "at version 2, not 1" in stale.err) == (1, True)


def test_an_import_tells_what_it_left_out(memory: Memory, tmp_path: Path) -> None:
    """Quotes, which only a gateway can check, and links that lead nowhere."""
    claim = {
        "content": "Likes tea",
        "evidence": [{"session_id": "s", "position": 1, "quote": "I like tea"}],
        "links": [{"to_id": NEVER, "relation": "depends_on"}],
    }
    (tmp_path / "file.jsonl").write_text(json.dumps(claim))

    said = memory("import", "file.jsonl")

    assert said.out == "1 imported, 0 reinforced, 0 were there already, 0 refused.\n"
    assert "! 1 quotes were left out" in said.err
    assert "! 1 links were left out" in said.err


def test_a_profile_is_shown_and_changed_a_fact_at_a_time(memory: Memory) -> None:
    """Of a user and of a household of theirs; what is wrong changes nothing."""
    memory.done("profile", "--set", "name=李雷", "--set", "time zone = Asia/Shanghai")
    changed = memory.json("profile", "--set", "editor=vi -u NONE=x", "--remove", "time zone")
    home = '{"home": ["local"]}'
    shared = memory("profile", "--household", "home", "--set", "wifi=attic", GATEWAY_HOUSEHOLDS=home)

    assert changed == changed | {"version": 2, "fields": {"name": "李雷", "editor": "vi -u NONE=x"}}
    assert (shared.code, shared.out.split()[-2:]) == (0, ["wifi", "attic"])
    for arguments, told in (
        (("--set", "name"), "--set takes NAME=VALUE"),
        (("--set", "a=1", "--remove", "a"), "set or removed, not both"),
        (("--remove", "nothing"), "not in the profile"),
        (("--household", "other"), "There is no such profile of a household"),
        (("--set", "a=1", "--version", "1"), "at version 2"),
    ):
        refused = memory("profile", *arguments)
        assert refused.code != 0
        assert told in refused.err
    assert memory.json("profile") == changed


def test_a_profile_without_facts_says_how_to_give_it_some(memory: Memory) -> None:
    """It is no error."""
    memory.saved("Keeps bees")

    said = memory("profile")

    assert (said.code, said.out) == (0, "")
    assert "is empty: --set NAME=VALUE" in said.err
