"""What comes before the messages of a session."""

from pathlib import Path

import pytest

from gateway.storage.messages import PromptMemories
from gateway.turn.turn_prompt import Prompt
from tests.product import History, Message, StoredMessage, text_block
from tests.storage.saying import version
from tests.turn.working import turn_at_work

pytestmark = pytest.mark.anyio

ASKED = Message("user", [text_block("hello")])


async def test_what_was_compressed_can_be_looked_up_and_the_prompt_says_so(tmp_path: Path) -> None:
    """The tool is there with the version, and not before; the prefix is another one then."""
    plain = History([StoredMessage(7, "t", ASKED)])
    compressed = History(plain.messages, compression=version(1, 1, 6, session_id="s"))
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(plain)
        before = (len(turn.tools), turn.prefix.prefix_hash)
        as_if = turn.prompt.prefix(plain, compressed=True)
        turn.set_history(compressed)

    assert len(turn.tools) == before[0] + 1
    assert "read_archive" in turn.tools
    assert turn.prefix.prefix_hash == as_if.prefix_hash != before[1]


async def test_memories_and_former_sessions_stand_in_the_prompt_of_their_session(tmp_path: Path) -> None:
    """Two sessions with the same components have different prefixes because of them."""
    async with turn_at_work(tmp_path) as turn:
        bare = turn.prompt.prefix(History([]))
        prefix = turn.prompt.prefix(
            History([], carried="before", memories=PromptMemories("likes tea", {}, 0))
        )

    assert "likes tea" in prefix.system[-1]["text"]
    assert "before" in prefix.system[-1]["text"]
    assert bare.prefix_hash != prefix.prefix_hash


async def test_the_same_files_and_history_make_the_same_prefix(tmp_path: Path) -> None:
    """Else the provider would read all of it anew, and what it signed would count no more."""
    async with turn_at_work(tmp_path) as turn:
        first, second = Prompt.read(turn.deps), Prompt.read(turn.deps)

    assert first.prefix(History([])) == second.prefix(History([StoredMessage(7, "t", ASKED)]))
    assert first.digests() == second.digests()


async def test_a_component_that_is_edited_has_another_digest_and_a_prompt_that_was_read_stays(
    tmp_path: Path,
) -> None:
    """A turn keeps what it began with; the next one reads the file again."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "identity.md").write_text("You are Ada.")
    async with turn_at_work(tmp_path, prompts_dir=folder) as turn:
        before, prefix = turn.prompt.digests(), turn.prompt.prefix(History([]))
        (folder / "identity.md").write_text("You are Grace, and longer.")
        after = Prompt.read(turn.deps)

    changed = {name for name, digest in after.digests().items() if before.get(name) != digest}
    assert changed == {"identity"}
    assert turn.prompt.prefix(History([])) == prefix != after.prefix(History([]))
