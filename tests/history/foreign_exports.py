"""Exports of ChatGPT and Claude, in the forms that they have had."""

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


def zipped(*chats: object, name: str = "conversations.json", raw: bytes | None = None) -> bytes:
    """As it is sent to its owner: beside other files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(name, json.dumps(list(chats)).encode() if raw is None else raw)
    return made.getvalue()
