"""What an import says in messages can be used, or is refused: the session must be able to go on."""

import asyncio
import io
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadImport
from gateway.history.copies.checked_file import check
from gateway.history.summaries.dialogue import write_out
from gateway.history.tokens import tokens_of
from gateway.history.transcript import fold, problems, tools_read_in, view
from gateway.messages import ARTIFACT, Role
from gateway.turn.context import user_messages_in
from tests.history.copying import exported
from tests.history.past import Past, sealed, settings_in, write_past
from tests.product import (
    Attached,
    History,
    Message,
    Recalled,
    StoredMessage,
    attached_block,
    open_storage,
    recalled_block,
    text_block,
)

FILE = Attached(
    ref="ART-0123456789", name="订单.csv", mime="text/csv", size=9, shown="compact", text="9 rows"
)
ATTACHED = attached_block(FILE)
TOLD = recalled_block([Recalled(id="m_1", digest="d", full=True, text="[m_1] likes tea")])


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The lines of an export of one question and its answer, without the last one."""

    async def export() -> bytes:
        async with open_storage(settings_in(tmp_path_factory.mktemp("blocks"))) as storage:
            await write_past(storage, "s", [Past("我喜欢什么？", ("tea",))])
            return await exported(storage)

    return [orjson.loads(line) for line in asyncio.run(export()).splitlines()[:-1]]


def checked(lines: list[dict[str, Any]], *contents: object) -> None:
    """The check of an export whose messages have these contents."""
    given = iter(contents)
    messages = [line | {"content": next(given)} if line["kind"] == "message" else line for line in lines]
    check(io.BytesIO(sealed([orjson.dumps(line) for line in messages])))


def is_usable(*contents: list[Any]) -> bool:
    """Whether a next turn can be asked, and what was said be weighed, cut and told to a summariser."""
    roles: tuple[Role, ...] = ("user", "assistant")
    stored = [
        StoredMessage(at, "t", Message(role, content), None)
        for at, (role, content) in enumerate(zip(roles, contents, strict=True), 1)
    ]
    history = History(stored)
    after = Message("user", [text_block("and?")])
    tokens_of([item.message for item in stored])
    user_messages_in(history)
    tools_read_in(history)
    write_out(stored)
    return problems(fold([*view(history), after])) == []


@pytest.mark.parametrize(
    ("maker", "is_taken"),
    [
        ({"model": "a", "answered": "b", "endpoint": "http://127.0.0.1:1"}, True),
        ({"model": "a", "of_later": 1}, True),
        ({"model": ["a"]}, False),
        ({"model": "a", "answered": {"x": 1}}, False),
        ({}, False),
        ("a", False),
    ],
)
def test_who_is_said_to_have_thought_has_a_name(
    lines: list[dict[str, Any]], maker: object, is_taken: bool
) -> None:
    """What a file says of it decides at most what is sent to which model."""
    said = {"type": "recalled", "memories": [], "made_by": maker}
    contents = [text_block("hi")], [{"type": "thinking", "thinking": "hm"}, text_block("yes"), said]
    if is_taken:
        checked(lines, *contents)
        assert is_usable(*contents)
    else:
        with pytest.raises(BadImport):
            checked(lines, *contents)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
ODD = st.one_of(st.none(), st.booleans(), st.integers(0, 9), WORDS, st.just([]), st.just({}))
MEMORIES = st.lists(
    st.one_of(
        ODD,
        st.dictionaries(st.sampled_from(["id", "digest", "full", "text", "more"]), ODD, max_size=5),
        st.fixed_dictionaries({"id": WORDS, "digest": WORDS, "full": st.booleans(), "text": WORDS}),
    ),
    max_size=3,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "memories": st.one_of(MEMORIES, ODD),
    "text": st.one_of(WORDS, ODD),
    "id": st.one_of(WORDS, ODD),
    "name": st.one_of(WORDS, ODD),
    "input": ODD,
    "tool_use_id": st.one_of(WORDS, ODD),
    "thinking": ODD,
    "ref": st.one_of(st.just(FILE.ref), ODD),
    "mime": st.one_of(st.sampled_from(["image/png", "application/pdf", "text/plain"]), ODD),
    "size": ODD,
    "shown": st.one_of(st.sampled_from(["text", "compact", "image", "document"]), ODD),
}
FILES = st.fixed_dictionaries(
    {
        "type": st.just("attached"),
        "ref": st.just(FILE.ref),
        "name": st.one_of(WORDS, st.just("a.png")),
        "mime": st.sampled_from(["image/png", "application/pdf", "text/plain"]),
        "size": st.integers(0, 9),
        "shown": st.sampled_from(["text", "compact", "image", "document"]),
        "text": WORDS,
    }
)
TYPES = st.sampled_from(
    ["recalled", "attached", "text", "tool_use", "tool_result", "thinking", "image", "document", "new"]
)
FLAT = st.fixed_dictionaries({"type": st.one_of(TYPES, ODD)}, optional=FIELDS)


def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Blocks that have blocks in them."""
    nested: dict[str, st.SearchStrategy[Any]] = {
        **FIELDS,
        "content": st.one_of(ODD, st.lists(inner, max_size=2)),
        "source": st.one_of(
            st.fixed_dictionaries({"type": st.just("content"), "content": st.lists(inner)}),
            st.fixed_dictionaries({"type": st.just(ARTIFACT), "ref": st.just(FILE.ref), "media_type": WORDS}),
        ),
    }
    return st.fixed_dictionaries({"type": TYPES}, optional=nested)


BLOCKS = st.recursive(st.one_of(FLAT, ODD), around, max_leaves=4)
CONTENTS = st.lists(st.one_of(BLOCKS, FILES), max_size=3)


@given(CONTENTS, CONTENTS)
def test_whatever_is_accepted_can_be_used(
    lines: list[dict[str, Any]], question: list[Any], answer: list[Any]
) -> None:
    """Blocks of any form: a session that is not refused can be read, weighed, compressed and continued."""
    try:
        checked(lines, question, answer)
    except BadImport:
        return
    assert is_usable(question, answer)


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ({"type": "recalled"}, "Block 2 of the type recalled: memories: must be given"),
        ({"type": "recalled", "memories": "all"}, "memories: must be a list"),
        (
            {"type": "recalled", "memories": [{"id": "m_1", "text": 1}]},
            r"memories\.0\.digest: must be given",
        ),
        ({**TOLD, "more": 1}, "more: unknown name"),
        ({"type": "tool_result", "tool_use_id": "c", "content": [TOLD]}, "recalled is within another"),
        ({**ATTACHED, "more": 1}, "more: unknown name"),
        ({**ATTACHED, "ref": "ART-1"}, "ref: must match"),
        ({**ATTACHED, "name": "../x"}, "name: must match"),
        ({**ATTACHED, "name": "a\u202ecod.exe"}, "name: must be one line that can be printed"),
        ({**ATTACHED, "mime": "text/csv\r\nx: y"}, "mime: must match"),
        ({**ATTACHED, "shown": "image"}, "text/csv is no type that is shown as image"),
        ({**ATTACHED, "size": -1}, "size: must be"),
        ({"type": "tool_result", "tool_use_id": "c", "content": [ATTACHED]}, "attached is within another"),
        (
            {"type": "image", "source": {"type": ARTIFACT, "ref": FILE.ref}},
            "source of the type artifact",
        ),
        (
            {
                "type": "tool_result",
                "tool_use_id": "c",
                "content": [{"type": "x", "source": {"type": ARTIFACT}}],
            },
            "source of the type artifact",
        ),
        ({"type": "text"}, "Block 2 of the type text: text: must be given"),
        ({"type": "tool_use", "id": "c"}, "name: must be given"),
        ({"type": "tool_result"}, "tool_use_id: must be given"),
        ({"type": "tool_result", "tool_use_id": "c", "content": ["x"]}, "no list of blocks"),
    ],
)
def test_a_block_that_nothing_could_be_done_with_is_refused(
    lines: list[dict[str, Any]], block: dict[str, Any], reason: str
) -> None:
    """The refusal tells the line, the block and what is wrong with it."""
    with pytest.raises(BadImport, match=rf"^Line 3: .*{reason}"):
        checked(lines, [text_block("x"), block], [text_block("y")])


def test_what_was_recalled_or_attached_comes_in_as_it_went_out(lines: list[dict[str, Any]]) -> None:
    """The blocks that the gateway itself writes are sound."""
    checked(lines, [ATTACHED, text_block("x"), TOLD], [text_block("y")])


def test_only_the_user_attaches_files(lines: list[dict[str, Any]]) -> None:
    """The model would be shown an image in its own message, which its endpoint refuses."""
    with pytest.raises(BadImport, match="not said by the user"):
        checked(lines, [text_block("x")], [ATTACHED, text_block("y")])
