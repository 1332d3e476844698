"""Exports of other products: what can be read is read, what cannot is said, whatever bytes they have."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadImport
from gateway.history.foreign_chats.chat_file import chats_in, parts_of
from gateway.history.foreign_chats.foreign_chat import ForeignChat, UnreadableChat
from tests.history.foreign_exports import CHATGPT, CLAUDE, IMAGE, LIBRECHAT, OPEN_WEBUI, node, tree, zipped


def read(file: bytes) -> list[ForeignChat | UnreadableChat]:
    return list(chats_in(io.BytesIO(file)))


def one(value: object) -> ForeignChat:
    (found,) = read(json.dumps([value]).encode())
    assert isinstance(found, ForeignChat), found
    return found


def said(chat: ForeignChat) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in chat.messages]


def test_of_chatgpt_the_branch_is_read_that_its_reader_saw_last() -> None:
    """With what was shown there: code and its output, documents, what was spoken; without thoughts, searches,
    marks of sources and an answer that was made anew."""
    chat = one(CHATGPT)

    assert (chat.source, chat.created_at, chat.updated_at) == (
        "chatgpt",
        1_700_000_000_250,
        1_700_000_900_500,
    )
    assert said(chat) == [
        ("user", "Which birds wade?"),
        ("assistant", "Herons do."),
        ("user", "[File: heron.png]\n[Image]\n\nspoken words\n\nWhat is 鹭?"),
        ("assistant", "````python\nprint('```')\n````"),
        ("assistant", "````text\n```\n````"),
        ("assistant", "**notes**\n\nA document."),
        ("assistant", "鹭 is a heron."),
    ]
    assert (chat.messages[0].at, chat.left_out) == (1_700_000_001_000, 3)


def test_of_claude_files_come_along_and_thoughts_do_not() -> None:
    chat = one(CLAUDE)

    assert (chat.source, chat.title, chat.created_at) == ("claude", "Reeds", 1_709_287_200_123)
    assert said(chat) == [
        ("user", "[File: photo.jpg]\nSee the file"),
        ("assistant", "They are.\n\n**List**\n\n```python\nx = 1\n```"),
        ("user", "Thanks"),
    ]
    assert [(each.name, each.text) for each in chat.messages[0].files] == [
        ("reeds.txt", "Reeds are grasses.")
    ]


def test_of_claude_messages_that_name_what_they_follow_the_last_branch_is_read() -> None:
    messages = [
        {"uuid": "a", "sender": "human", "text": "one", "parent_message_uuid": "0000"},
        {"uuid": "b", "sender": "assistant", "text": "left", "parent_message_uuid": "a"},
        {"uuid": "c", "sender": "assistant", "text": "kept", "parent_message_uuid": "a"},
    ]

    assert [text for _, text in said(one({**CLAUDE, "chat_messages": messages}))] == ["one", "kept"]
    chosen = {**CLAUDE, "chat_messages": messages, "current_leaf_message_uuid": "b"}
    assert [text for _, text in said(one(chosen))] == ["one", "left"]


def test_of_chatgpt_marks_of_sources_become_the_links_that_were_shown_there() -> None:
    """Those that name no link go, in the form of 2023 too; a message of no weight was not shown."""
    mark, other = "\ue200cite\ue202turn0search1\ue201", "\ue200cite\ue202turn0news2\ue201"
    sources = [
        {"matched_text": mark, "alt": "([Herons](https://example.com/))"},
        {"matched_text": " ", "alt": "x"},
    ]
    chat = one(
        tree(
            node("u", "root", "user", ["Which birds wade?"]),
            node("h", "u", "user", ["What the product adds."], weight=0.0),
            node(
                "a", "h", "assistant", [f"Herons.{mark}{other} Egrets.【11†source】"],
                weight=1.0, metadata={"content_references": sources},
            ),
        )
    )  # fmt: skip

    assert said(chat) == [
        ("user", "Which birds wade?"),
        ("assistant", "Herons.([Herons](https://example.com/)) Egrets."),
    ]


def test_of_chatgpt_a_document_is_read_as_it_was_written_anew_and_names_stay_names() -> None:
    """Of a change to a part of a document the chat has no words; a letter has no fences."""
    first = json.dumps({"name": "Poem", "type": "document", "content": "Roses"})
    anew = {"updates": [{"pattern": ".*", "multiple": False, "replacement": "Roses, red"}]}
    part = {"updates": [{"pattern": "red", "replacement": "blue"}]}
    named = '\ue200entity\ue202["people","Ada Lovelace","mathematician"]\ue201'
    letter = ':::writing{variant="email" id="1"}\nDear Bob\n:::'
    chat = one(
        tree(
            node("u", "root", "user", ["Write a poem"]),
            node("a", "u", "assistant", [first], recipient="canmore.create_textdoc"),
            node("b", "a", "assistant", [json.dumps(anew)], recipient="canmore.update_textdoc"),
            node("c", "b", "assistant", [json.dumps(part)], recipient="canmore.update_textdoc"),
            node("d", "c", "assistant", [f"Ask {named}.\n{letter}"]),
        )
    )

    assert said(chat)[1:] == [
        ("assistant", "**Poem**\n\nRoses"),
        ("assistant", "Roses, red"),
        ("assistant", "Ask Ada Lovelace.\nDear Bob"),
    ]


def test_of_claude_what_stands_for_calls_in_the_text_is_no_part_of_an_answer() -> None:
    """The text has thoughts, too, where the parts are named; in exports of 2024 it has documents in tags."""
    instead = "```\nThis block is not supported on your current device yet.\n```"
    made = (
        '<antArtifact identifier="x" type="application/vnd.ant.code" language="python" title="List">\nx = 1\n'
    )
    answers = [
        {"text": f"Let me see.\n{instead}", "content": [{"type": "tool_use", "name": "search", "input": {}}]},
        {"text": f"<antThinking>Hm.</antThinking>Here:\n{instead}\n{made}</antArtifact>\nEnd."},
        {"text": "", "content": [
            {"type": "tool_use", "name": "create_file", "input": {"path": "/home/a.md", "file_text": "# A"}},
        ]},
    ]  # fmt: skip
    asked = {
        "uuid": "q",
        "sender": "human",
        "text": "Make a list",
        "files": [],
        "files_v2": [{"file_name": "a.pdf"}],
    }
    rest = [{"uuid": f"a{at}", "sender": "assistant", **each} for at, each in enumerate(answers)]

    assert said(one({**CLAUDE, "chat_messages": [asked, *rest]})) == [
        ("user", "[File: a.pdf]\nMake a list"),
        ("assistant", "Here:\n\n**List**\n\n```python\nx = 1\n```\nEnd."),
        ("assistant", "**a.md**\n\n```\n# A\n```"),
    ]


def test_of_librechat_the_branch_is_read_that_was_written_last() -> None:
    """As a tree and as a list; without thoughts and calls, with files by their names."""
    tree_of = one(LIBRECHAT)
    (question,) = LIBRECHAT["messagesTree"]
    flat = [{**each, "children": None, "parentMessageId": "m1"} for each in question["children"]]
    as_list = one({**LIBRECHAT, "messagesTree": None, "messages": [{**question, "children": None}, *flat]})

    assert said(tree_of) == said(as_list)
    assert said(tree_of) == [
        ("user", "[File: reeds.pdf]\nWhat are reeds?"),
        ("assistant", "Tall grasses\n\n[Image]\n\nof wet places."),
    ]
    assert (tree_of.source, tree_of.title, tree_of.left_out) == ("librechat", "Reeds", 2)
    assert (tree_of.created_at, tree_of.updated_at) == (1_740_823_200_123, 1_740_823_209_000)


def test_of_open_webui_the_branch_is_read_that_was_seen_last() -> None:
    """With the texts of its files, without what the model thought. Without an id it gets one of its own."""
    chat = one(OPEN_WEBUI)
    unnamed = [one({"chat": OPEN_WEBUI["chat"]}) for _ in range(2)]

    assert said(chat) == [
        ("user", "[File: Plants]\n[Image]\nSee the file"),
        ("assistant", "They are. <details>\n<summary>More</summary>\nTall.\n</details>"),
        ("user", "Thanks"),
    ]
    assert [each.name for each in chat.messages[0].files] == ["reeds.txt"]
    assert (chat.source, chat.created_at, chat.left_out) == ("open-webui", 1_740_000_000_000, 2)
    assert unnamed[0].id == unnamed[1].id
    assert unnamed[0].messages == chat.messages


def test_a_tree_that_goes_in_circles_or_has_no_current_node_is_read_all_the_same() -> None:
    circle = tree(node("a", "root", "user", ["one"], 1.0), node("b", "a", "assistant", ["two"], 2.0))
    circle["mapping"]["a"]["parent"] = "b"
    lost = tree(node("a", "root", "user", ["one"], 1.0), node("b", "a", "assistant", ["two"], 2.0))

    assert [text for _, text in said(one(circle))] == ["one", "two"]
    assert [text for _, text in said(one({**lost, "current_node": None}))] == ["one", "two"]


def test_a_zip_file_a_list_and_one_chat_alone_are_read_alike() -> None:
    plain = json.dumps([CHATGPT, CLAUDE], indent=2, ensure_ascii=False).encode()
    expected = read(plain)

    assert [each.id for each in expected if isinstance(each, ForeignChat)] == [
        CHATGPT["conversation_id"],
        CLAUDE["uuid"],
    ]
    assert read(zipped(CHATGPT, CLAUDE)) == expected
    assert read(zipped(CHATGPT, CLAUDE, name="export/conversations-000.json")) == expected
    assert read(b"\xef\xbb\xbf" + plain) == expected
    assert read(json.dumps(CLAUDE).encode()) == expected[1:]


def test_a_damaged_chat_keeps_no_other_out() -> None:
    """Also one that breaks off, is nothing, has nothing in it, or half of a character."""
    half = json.dumps({**CLAUDE, "name": "half \ud83d"})
    empty = json.dumps({**CLAUDE, "chat_messages": []})
    nothing = json.dumps({"mapping": None})
    file = f'[{{"mapping": nope}}, {half}, {empty}, {nothing}, {json.dumps(CHATGPT)}, {{"mapp'
    found = read(file.encode())

    assert [str(each) if isinstance(each, UnreadableChat) else each.title for each in found] == [
        "It is damaged, and cannot be read.",
        "half \ufffd",
        "There are no messages in it.",
        "It is no chat of ChatGPT, Claude, LibreChat or Open WebUI.",
        CHATGPT["title"],
        "The file breaks off here.",
    ]


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", "neither a zip file nor JSON"),
        (b"hello", "neither a zip file nor JSON"),
        (b"PK\x03\x04 and nothing", "cut off"),
        (zipped(name="messages.json"), "no conversations.json"),
    ],
)
def test_what_is_no_export_is_refused_in_words(file: bytes, reason: str) -> None:
    with pytest.raises(BadImport, match=reason):
        read(file)


def test_a_zip_file_that_is_damaged_inside_gives_what_came_before() -> None:
    """Its last bytes are those of the list of files, so that it opens."""
    many = [{**CLAUDE, "uuid": f"chat-{number}", "name": str(number)} for number in range(5_000)]
    file = bytearray(zipped(*many))
    middle = len(file) // 2
    file[middle : middle + 200] = bytes(200)
    found = read(bytes(file))

    assert isinstance(found[0], ForeignChat)
    assert isinstance(found[-1], UnreadableChat)
    assert 1 < len(found) < 5_000


def test_a_small_file_that_unpacks_to_very_much_is_never_held_in_memory() -> None:
    """A chat of 200 MB, packed to 200 kB: it is told of, and the next is read."""
    big = b'[{"mapping": {"a": "' + b"x" * 200_000_000 + b'"}},' + json.dumps(CLAUDE).encode() + b"]"
    file = io.BytesIO(zipped(raw=big))
    del big
    tracemalloc.start()
    found = list(chats_in(file))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [type(each) for each in found] == [UnreadableChat, ForeignChat]
    assert "larger than 16 MiB" in str(found[0])
    assert peak < 60_000_000


def test_a_zip_file_with_a_list_of_files_that_fills_the_memory_is_refused() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(300):
            archive.writestr("x" * 60_000 + str(number), b"")

    with pytest.raises(BadImport, match="too many files"):
        read(made.getvalue())


def in_pieces(text: bytes, size: int) -> Iterator[bytes]:
    yield from (text[at : at + size] for at in range(0, len(text), size))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=5), st.integers(1, 40))
def test_the_objects_of_a_list_are_found_wherever_it_is_cut_into_pieces(
    values: list[dict[str, object]], size: int
) -> None:
    pieces = in_pieces(json.dumps(values).encode(), size)
    found = list(parts_of(lambda: next(pieces, b"")))

    assert [json.loads(each) for each in found if isinstance(each, bytes)] == values


@given(JSON | st.just(CHATGPT) | st.just(CLAUDE), st.integers(0, 5_000), st.binary(max_size=20))
def test_any_bytes_end_in_chats_and_reasons(value: object, at: int, noise: bytes) -> None:
    """Whatever is in the file: nothing but chats, reasons and a refusal comes of it, and every text of a chat
    can be stored."""
    others = [
        {"conversationId": "x", "messages": [value], "messagesTree": value},
        {"conversationId": "y", "messagesTree": [{"messageId": value, "text": "a", "children": [value]}]},
        {"chat": {"history": {"messages": {"a": value}, "currentId": "a"}, "messages": [value]}},
    ]
    text = json.dumps(
        [value, {"mapping": {"a": {"message": value}}, "id": "x"}, {"chat_messages": [value]}, *others]
    )
    file = bytearray(text.encode())
    file[at : at + len(noise)] = noise
    try:
        found = read(bytes(file))
    except BadImport:
        return
    for each in found:
        if isinstance(each, ForeignChat):
            "".join(message.text for message in each.messages).encode()


@given(JSON)
def test_any_message_of_a_tree_is_read(value: object) -> None:
    content = {"content_type": "multimodal_text", "parts": [IMAGE, value, "words"], "text": value}
    made = tree(node("a", "root", "user", [], content=content, metadata=value, recipient=value))

    assert said(one(made))[0][1].endswith("words")
