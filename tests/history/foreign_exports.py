"""Exports of other products, in the forms that they have had."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

CHAT_ID, CLAUDE_ID = "68a1f0c2-1111-4a2b-9c3d-0123456789ab", "0b9f3c1e-2222-4d5e-8f70-abcdef012345"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def node(
    name: str, parent: str | None, role: str, parts: Sequence[object], at: float | None = None, **more: Any
) -> dict[str, Any]:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {"id": name, "author": {"role": role}, "create_time": at, "content": content, **more}
    return {"id": name, "parent": parent, "children": [], "message": message}


def tree(*nodes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation of these nodes, in which the last one is the current one."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    mapping |= {each["id"]: dict(each) for each in nodes}
    for each in nodes:
        mapping[each["parent"]]["children"].append(each["id"])
    return {
        "title": f"Herons {SCRIPT}",
        "create_time": 1_700_000_000.25,
        "update_time": 1_700_000_900.5,
        "conversation_id": CHAT_ID,
        "current_node": nodes[-1]["id"],
        "mapping": mapping,
        **more,
    }


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 10}
SPOKEN = {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"}
CHATGPT = tree(
    node("s", "root", "system", [""], metadata={"is_visually_hidden_from_conversation": True}),
    node("u", "s", "user", ["Which birds wade?"], 1_700_000_001.0),
    node("dead", "u", "assistant", ["An answer that was made anew."], 1_700_000_002.0),
    node("a", "u", "assistant", ["Herons do. \ue200cite\ue202turn0search1\ue201"], 1_700_000_003.0),
    node(
        "u2",
        "a",
        "user",
        [],
        1_700_000_004.0,
        content={"content_type": "multimodal_text", "parts": [IMAGE, SPOKEN, "What is 鹭?"]},
        metadata={"attachments": [{"name": "heron.png", "id": "file-1"}]},
    ),
    node("t", "u2", "assistant", [], content={"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}),
    node(
        "c",
        "t",
        "assistant",
        [],
        recipient="python",
        content={"content_type": "code", "language": "python", "text": "print('```')"},
    ),
    node("x", "c", "tool", [], content={"content_type": "execution_output", "text": "```"}, recipient="all"),
    node(
        "b",
        "x",
        "assistant",
        [],
        recipient="browser",
        content={"content_type": "code", "language": "unknown", "text": 'search("x")'},
    ),
    node("w", "b", "tool", [], content={"content_type": "tether_browsing_display", "result": "L0: page"}),
    node(
        "d",
        "w",
        "assistant",
        [],
        recipient="canmore.create_textdoc",
        content={"content_type": "code", "text": '{"name": "notes", "content": "A document."}'},
    ),
    node("a2", "d", "assistant", ["鹭 is a heron.", {"content_type": "new_thing"}], 1_700_000_005.0),
)
CLAUDE: dict[str, Any] = {
    "uuid": CLAUDE_ID,
    "name": "Reeds",
    "created_at": "2024-03-01T10:00:00.123456Z",
    "updated_at": "2024-03-01T11:00:00.000000+00:00",
    "account": {"uuid": "x"},
    "chat_messages": [
        {
            "uuid": "m1",
            "text": "See the file",
            "content": [{"type": "text", "text": "See the file"}],
            "sender": "human",
            "created_at": "2024-03-01T10:00:01Z",
            "attachments": [
                {"file_name": "reeds.txt", "file_size": 5, "extracted_content": "Reeds are grasses."}
            ],
            "files": [{"file_name": "photo.jpg"}],
        },
        {
            "uuid": "m2",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "They are."},
                {
                    "type": "tool_use",
                    "name": "artifacts",
                    "input": {"title": "List", "language": "python", "content": "x = 1"},
                },
                {"type": "tool_use", "name": "web_search", "input": {"query": "reeds"}},
                {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "page"}]},
            ],
            "sender": "assistant",
            "created_at": "2024-03-01T10:00:09Z",
            "attachments": [],
            "files": [],
        },
        {"uuid": "m3", "text": "Thanks", "sender": "human", "attachments": [], "files": []},
    ],
}


LIBRECHAT: dict[str, Any] = {
    "conversationId": "0f2c6c9e-3333-4d5e-8f70-abcdef012345",
    "endpoint": "anthropic",
    "title": "Reeds",
    "exportAt": "10:00:00 GMT+0100",
    "branches": True,
    "recursive": True,
    "options": {"endpoint": "anthropic", "model": "claude-sonnet-4"},
    "messagesTree": [
        {
            "messageId": "m1",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "isCreatedByUser": True,
            "sender": "User",
            "text": "What are reeds?",
            "createdAt": "2025-03-01T10:00:00.123Z",
            "files": [{"filename": "reeds.pdf", "type": "application/pdf"}],
            "children": [
                {
                    "messageId": "m2",
                    "isCreatedByUser": False,
                    "sender": "Claude",
                    "text": "An answer that was made anew.",
                    "createdAt": "2025-03-01T10:00:05Z",
                    "children": [],
                },
                {
                    "messageId": "m3",
                    "isCreatedByUser": False,
                    "sender": "Claude",
                    "text": "",
                    "content": [
                        {"type": "think", "think": "Hm."},
                        {"type": "text", "text": {"value": "Tall grasses"}},
                        {"type": "tool_call", "tool_call": {"name": "search", "output": "page"}},
                        {"type": "image_file", "image_file": {"filepath": "/images/1.png"}},
                        {"type": "text", "text": "of wet places."},
                    ],
                    "createdAt": "2025-03-01T10:00:09Z",
                    "children": [],
                },
            ],
        }
    ],
}
OPEN_WEBUI: dict[str, Any] = {
    "id": "5d1a0c3e-4444-4d5e-8f70-abcdef012345",
    "user_id": "x",
    "title": "Reeds",
    "created_at": 1_740_000_000,
    "updated_at": 1_740_000_900,
    "archived": False,
    "pinned": True,
    "meta": {"tags": ["plants"]},
    "chat": {
        "title": "Reeds",
        "models": ["qwen3"],
        "history": {
            "currentId": "w4",
            "messages": {
                "w1": {
                    "id": "w1",
                    "parentId": None,
                    "childrenIds": ["w2", "w3"],
                    "role": "user",
                    "content": "See the file",
                    "timestamp": 1_740_000_001,
                    "files": [
                        {
                            "type": "file",
                            "name": "reeds.txt",
                            "file": {"data": {"content": "Reeds are grasses."}},
                        },
                        {"type": "image", "url": "data:image/png;base64,AAAA"},
                        {"type": "collection", "name": "Plants"},
                    ],
                },
                "w2": {"id": "w2", "parentId": "w1", "role": "assistant", "content": "An answer before."},
                "w3": {
                    "id": "w3",
                    "parentId": "w1",
                    "role": "assistant",
                    "model": "qwen3",
                    "content": '<details type="reasoning" done="true" duration="2">\n'
                    "<summary>Thought</summary>\n&gt; Hm.\n</details>\n"
                    "They are. <details>\n<summary>More</summary>\nTall.\n</details>",
                    "timestamp": 1_740_000_005,
                },
                "w4": {"id": "w4", "parentId": "w3", "role": "user", "content": "Thanks"},
            },
        },
        "messages": [],
    },
}


def zipped(*chats: object, name: str = "conversations.json", raw: bytes | None = None) -> bytes:
    """As it is sent to its owner: beside other files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(name, json.dumps(list(chats)).encode() if raw is None else raw)
    return made.getvalue()
