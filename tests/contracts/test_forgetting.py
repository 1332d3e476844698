"""What storage owes when somebody erases a memory that sessions were told."""

import pytest

from gateway.storage.messages import PromptMemories
from tests.product import Message, Recalled, Storage, recalled_block, text_block
from tests.storage.writing import OWNER, accepted, running, writer_of

pytestmark = pytest.mark.anyio

GONE, KEPT = "m_00000000000000aa", "m_00000000000000bb"
SAID = text_block(f"what is [{GONE}]? 口令 in my words")


def recalled(memory_id: str, text: str) -> Recalled:
    return Recalled(id=memory_id, digest="d", full=True, text=f"[{memory_id}] fact: {text}")


def prompted(*ids: str, text: str) -> PromptMemories:
    return PromptMemories(text, dict.fromkeys(ids, "d"), 3, named=frozenset({KEPT}), forgotten={GONE: 2})


async def test_nothing_of_what_it_said_is_left_in_the_owners_sessions(storage: Storage) -> None:
    """Its id is, by which a session sees that what it was told is no longer so; what others said stays."""
    writer = await running(storage)
    both = recalled_block([recalled(GONE, "口令是斑马"), recalled(KEPT, "likes tea")])
    only = recalled_block([recalled(GONE, "口令是斑马")])
    await writer.append("text", message=Message("user", [SAID, both]))
    await writer.append("text", message=Message("user", [only]))
    await storage.sessions.set_prompt_memories("s", prompted(GONE, KEPT, text="口令是斑马"))

    await storage.sessions.forget_memory(OWNER, GONE)

    history = await storage.sessions.history("s")
    assert history.memories == PromptMemories("", {GONE: "", KEPT: "d"}, 3, frozenset({KEPT}), {GONE: 2})
    empty = Recalled(id=GONE, digest="d", full=True, text="")
    assert [item.message.content for item in history.messages][-2:] == [
        [SAID, recalled_block([empty, recalled(KEPT, "likes tea")])],
        [recalled_block([empty])],
    ]
    await storage.sessions.forget_memory(OWNER, GONE)
    assert await storage.sessions.history("s") == history


async def test_other_sessions_stay_as_they_are(storage: Storage) -> None:
    """Those of other owners, and those that were told something else."""
    theirs = writer_of(storage, await accepted(storage, "bobs", "t_2", owner="bob"))
    await theirs.append("text", message=Message("user", [recalled_block([recalled(GONE, "斑马")])]))
    await storage.sessions.set_prompt_memories("bobs", prompted(GONE, text="斑马"))
    mine = await running(storage)
    await mine.append("text", message=Message("user", [SAID]))
    await storage.sessions.set_prompt_memories("s", prompted(KEPT, text="likes tea"))
    before = [await storage.sessions.history(session) for session in ("s", "bobs")]

    await storage.sessions.forget_memory(OWNER, GONE)

    assert [await storage.sessions.history(session) for session in ("s", "bobs")] == before
