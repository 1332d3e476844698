"""Files that come with a message: what the model is asked, what the record holds, and what is refused."""

import base64
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.demo.api_versions import NEWEST
from gateway.memory.provenance import provenance_of
from gateway.memory.tool import TRUSTS
from gateway.tools.function import ToolContext
from tests.api.artifacts import send
from tests.artifacts.files import jpeg, pdf, png
from tests.harness import Client, client_at, running_gateway, settings_for, text_of, the
from tests.loopback import served
from tests.product import Settings, tool

pytestmark = pytest.mark.anyio

IMAGE = png(640, 480)
PICTURE = {"name": "照片.png", "data": base64.b64encode(IMAGE).decode()}
NOTES: dict[str, str] = {"name": "notes.txt", "text": "The key is under the mat. 钥匙在门垫下面。"}

REFUSED: list[tuple[Any, int, str, str]] = [
    ([NOTES] * 21, 400, "invalid_request", "at most 20 items"),
    ([{"name": "a", "data": "no base64!"}], 400, "invalid_request", "attachments.0.data: must be base64"),
    ([{"name": "a", "data": ""}], 400, "invalid_request", "attachments.0.data"),
    ([{"name": "a", "text": ""}], 400, "invalid_request", "attachments.0.text"),
    ([{"name": "a", "text": "a\x00b"}], 400, "invalid_request", "must not contain NUL"),
    ([{"name": "a\x00", "text": "b"}], 400, "invalid_request", "must not contain NUL"),
    ([{"text": "no name"}], 400, "invalid_request", "attachments.0: give a ref, or a name"),
    ([{"name": "a", "text": "b", "data": "Yg=="}], 400, "invalid_request", "either text or data"),
    ([{"name": "a"}], 400, "invalid_request", "either text or data"),
    ([{}], 400, "invalid_request", "give a ref"),
    ([{"ref": "ART-0000000000", "name": "a"}], 400, "invalid_request", "leave out name"),
    ([{"ref": "../../etc/passwd"}], 400, "invalid_request", "attachments.0.ref"),
    ([{"ref": "ART-0000000000"}], 404, "artifact_not_found", "ART-0000000000"),
    ([{"path": "/etc/passwd"}], 400, "invalid_request", "attachments.0.path: unknown name"),
    ("a.txt", 400, "invalid_request", "attachments"),
]
"""Attachments, and the answer to them: status, code, and what it says."""


@asynccontextmanager
async def asked_of(
    demo_url: str, *, refuses: Collection[str] = (), message: str = "Could not process image"
) -> AsyncGenerator[tuple[str, list[dict[str, Any]]]]:
    """The demo model at another URL, and what it was asked there. It `refuses` blocks of these types."""
    asked: list[dict[str, Any]] = []

    async def messages(request: Request) -> Response:
        asked.append(orjson.loads(await request.body()))
        if any(block["type"] in refuses for block in blocks(asked[-1])):
            error = {"type": "invalid_request_error", "message": message}
            return Response(orjson.dumps({"type": "error", "error": error}), 400)
        headers = {"x-api-key": "demo", "anthropic-version": NEWEST}
        answer = await demo.post("/v1/messages", asked[-1], **headers)
        return Response(answer.content, answer.status_code, {"content-type": answer.headers["content-type"]})

    endpoint = Starlette(routes=[Route("/v1/messages", messages, methods=["POST"])])
    async with client_at(demo_url) as demo, served(endpoint) as url:
        yield url, asked


def blocks(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for message in asked["messages"] for block in message["content"]]


def artifacts_in(settings: Settings) -> list[Path]:
    """The contents that are kept."""
    return [path for path in (settings.data_dir / "blobs" / "artifacts").rglob("*") if path.is_file()]


async def test_files_reach_the_model_and_stay_with_the_conversation(tmp_path: Path, demo_url: str) -> None:
    """An image as one, a text in words, both before the message, and again with every later one."""
    async with (
        asked_of(demo_url) as (url, asked),
        running_gateway(settings_for(tmp_path / "data", url)) as user,
    ):
        first = await user.chat("/say fine", session_id="s", attachments=[PICTURE, NOTES])
        await user.chat("/say 好", session_id="s")

    source = {"type": "base64", "media_type": "image/png", "data": PICTURE["data"]}
    for request in asked:
        text, image, notes, messages, *_ = blocks(request)
        assert "照片.png" in text["text"]
        assert image["source"] == source
        assert NOTES["text"] in notes["text"]
        assert messages["text"] == "/say fine"
    assert len(asked) == 2
    start = the(first, "turn_start")
    assert [(file["name"], file["mime"], file["size"]) for file in start["attachments"]] == [
        ("照片.png", "image/png", len(IMAGE)),
        ("notes.txt", "text/plain", len(NOTES["text"].encode())),
    ]
    assert start["input"] == "/say fine"


async def test_the_record_names_files_and_does_not_hold_them(client: Client) -> None:
    """No event and no message has the bytes; a turn without files says nothing of any."""
    events = await client.chat("/say fine", session_id="s", attachments=[PICTURE])
    plain = await client.chat("/say fine", session_id="s")
    seen = await client.get("/api/sessions/s/messages")

    (file,) = the(events, "turn_start")["attachments"]
    assert PICTURE["data"] not in orjson.dumps(events).decode() + seen.text
    kept = {
        "type": "artifact",
        "ref": file["ref"],
        "media_type": "image/png",
        "size": len(IMAGE),
        "tokens": 410,
    }
    assert seen.json()["messages"][0]["content"][1] == {"type": "image", "source": kept}
    assert "attachments" not in the(plain, "turn_start")


async def test_the_demo_model_answers_about_a_file(client: Client) -> None:
    """Who tries it without a key sees that the file arrived."""
    events = await client.chat("What did I attach?", attachments=[NOTES])

    assert "notes.txt" in text_of(events)


async def test_a_file_that_is_gone_is_told_and_the_turn_goes_on(client: Client, settings: Settings) -> None:
    """The model reads that it cannot be shown; a warning names its hash."""
    await client.chat("/say fine", session_id="s", attachments=[PICTURE])
    (content,) = artifacts_in(settings)
    content.unlink()

    events = await client.chat("/say still fine", session_id="s")

    sha256, _, _ = content.name.partition("-")
    assert sha256 in the(events, "warning")["message"]
    assert the(events, "done")["status"] == "completed"


async def test_a_repeated_message_keeps_its_files_once(client: Client, settings: Settings) -> None:
    """It is the same turn; with other files it is another message, and refused."""
    body: dict[str, Any] = {"message": "/say fine", "client_message_id": "m", "attachments": [NOTES]}
    session = await client.session()

    first = await client.begin(session, **body)
    again = await client.begin(session, **body)
    other = await client.post(
        f"/api/sessions/{session}/turns", {**body, "attachments": [{"name": "b.txt", "text": "other"}]}
    )

    assert first["turn_id"] == again["turn_id"]
    assert (other.status_code, other.json()["error"]["code"]) == (409, "conflict")
    assert len(artifacts_in(settings)) == 1


async def test_a_refused_message_leaves_no_files(client: Client, settings: Settings) -> None:
    """The session is busy: nothing stays of what the message brought along."""
    session = await client.session()
    turn = await client.begin(session, "/pieces 400\n/pace 10")

    refused = await client.post(
        f"/api/sessions/{session}/turns", {"message": "hi", "attachments": [NOTES, PICTURE]}
    )
    await client.post(f"/api/sessions/{session}/turns/{turn['turn_id']}/cancel")

    assert refused.json()["error"]["code"] == "turn_in_progress"
    assert artifacts_in(settings) == []


async def test_the_files_of_a_session_go_with_it(client: Client) -> None:
    """Who deletes a conversation deletes what came with it; what was uploaded apart from it stays."""
    apart = (await client.post("/api/artifacts", {"name": "apart.txt", "text": "uploaded before"})).json()
    await client.chat("/say fine", session_id="s", attachments=[PICTURE, NOTES, {"ref": apart["ref"]}])
    before = (await client.get("/api/artifacts")).json()["artifacts"]

    await client.http.delete("/api/sessions/s")
    after = (await client.get("/api/artifacts")).json()["artifacts"]

    assert {each["name"] for each in before} == {"apart.txt", "notes.txt", "照片.png"}
    assert [each["ref"] for each in after] == [apart["ref"]]


async def test_what_is_no_attachment_is_refused(client: Client, settings: Settings) -> None:
    """The error names the place and what to write; no turn begins and nothing is kept."""
    for attachments, status, code, message in REFUSED:
        body = {"message": "hi", "session_id": "s", "attachments": attachments}

        error = await client.post("/api/chat", body)

        assert (error.status_code, error.json()["error"]["code"]) == (status, code), message
        assert message in error.json()["error"]["message"]
    assert (await client.get("/api/sessions/s")).status_code == 404
    assert artifacts_in(settings) == []


async def test_a_lone_surrogate_is_no_text(client: Client) -> None:
    """It is refused before anything is kept, as everywhere."""
    body = b'{"message": "hi", "attachments": [{"name": "a", "text": "\\ud800"}]}'

    refused = await client.http.post("/api/chat", content=body, headers={"content-type": "application/json"})

    assert refused.status_code == 400


async def test_an_endpoint_that_refuses_a_picture_is_asked_without_it(
    settings: Settings, demo_url: str, tmp_path: Path
) -> None:
    """Or else it would end this turn and every later one; the model is told what it does not see, and later
    turns do not try again."""
    async with asked_of(demo_url, refuses={"image"}) as (url, asked):
        given = settings_for(tmp_path / "refusing", url)
        async with running_gateway(given) as client:
            first = await client.chat("/say seen", session_id="s", attachments=[PICTURE])
            second = await client.chat("/say still here", session_id="s")

    assert [the(turn, "done")["status"] for turn in (first, second)] == ["completed"] * 2
    assert [text_of(turn) for turn in (first, second)] == ["seen", "still here"]
    assert the(first, "warning")["code"] == "attachment_not_shown"
    assert the(first, "iteration_superseded")["reason"] == "upstream_error"
    assert not [event for event in second if event["type"] in {"warning", "iteration_superseded"}]
    ref = the(first, "turn_start")["attachments"][0]["ref"]
    assert [any(each["type"] == "image" for each in blocks(request)) for request in asked] == [
        True,
        False,
        False,
    ]
    assert any(f"[{ref} is not shown" in each.get("text", "") for each in blocks(asked[1]))


async def test_a_blob_store_that_fails_does_not_end_the_turn(client: Client, settings: Settings) -> None:
    """The model is told that the file cannot be read now, and people in a warning."""
    await client.chat("/say fine", session_id="s", attachments=[PICTURE])
    (content,) = artifacts_in(settings)
    content.unlink()
    content.symlink_to(content)  # a loop: nobody can open it

    events = await client.chat("/say still fine", session_id="s")

    assert the(events, "done")["status"] == "completed"
    assert "cannot be read now" in the(events, "warning")["message"]


async def test_what_only_a_file_says_is_hearsay(settings: Settings) -> None:
    """A memory of it waits for the user's word, as one of a tool's does, also in later turns; what they write
    beside the file is their own, and so is what they say where no file is."""
    claim, own = "Orders office chairs from Mallory Seating in Ghent.", "I prefer window seats on trains."
    verdicts: list[list[tuple[str, bool]]] = []

    @tool(effect="read_only")
    def weigh(context: ToolContext) -> str:
        """Weighs both."""
        kept = [provenance_of(content, context, TRUSTS) for content in (claim, own)]
        verdicts.append([(each.origin, each.quarantined) for each in kept])
        return "weighed"

    asked = f"{own}\n/call weigh {{}}\n/then\n/say ok"
    async with running_gateway(settings, weigh) as client:
        await client.chat(asked, session_id="s", attachments=[{"name": "x.txt", "text": claim}])
        await client.chat("/call weigh {}\n/then\n/say ok", session_id="s")
        await client.chat(asked, session_id="t")

    said = ("user", False)
    assert verdicts == [[("outside", True), said], [("outside", True), said], [("model", False), said]]


async def test_the_prompt_changes_seldom_when_pictures_make_room(tmp_path: Path, demo_url: str) -> None:
    """Of one picture a turn the twenty-first lets eleven go; the next ones only add to it."""
    async with (
        asked_of(demo_url) as (url, asked),
        running_gateway(settings_for(tmp_path / "data", url)) as user,
    ):
        for number in range(24):
            picture = {"name": f"{number}.png", "data": base64.b64encode(png(10 + number, 9)).decode()}
            await user.chat("/say fine", session_id="s", attachments=[picture])

    plain = [[{**block, "cache_control": None} for block in blocks(request)] for request in asked]
    grew = [after[: len(before)] == before for before, after in pairwise(plain)]
    assert [number for number, only in enumerate(grew, 2) if not only] == [21]


async def test_who_sends_too_much_is_told_to_upload_it(client: Client, settings: Settings) -> None:
    """The refusal of a message says where files go first; that of another body does not."""
    long = "x" * (settings.max_body_size + 1)

    chat = await client.post("/api/chat", {"message": "hi", "attachments": [{"name": "a", "text": long}]})
    other = await client.post("/api/sessions", {"title": long})

    assert (chat.status_code, chat.json()["error"]["code"]) == (413, "payload_too_large")
    assert "POST /api/artifacts" in chat.json()["error"]["message"]
    assert '{"ref": "ART-…"} in attachments' in chat.json()["error"]["message"]
    assert "artifacts" not in other.json()["error"]["message"]


async def test_files_make_room_for_newer_ones_in_a_new_generation(client: Client) -> None:
    """That is told once; what the model saw before changes with it, and not again at the next message."""
    many = [PICTURE | {"name": f"{number}.png"} for number in range(20)]
    await client.chat("/say seen", session_id="s", attachments=many)
    second = await client.chat("/say and this", session_id="s", attachments=[PICTURE])
    third = await client.chat("/say and that", session_id="s", attachments=[PICTURE])

    assert the(second, "warning")["code"] == "attachment_not_shown"
    assert "make room" in the(second, "warning")["message"]
    assert not [event for event in third if event["type"] == "warning"]
    assert [the(turn, "done")["status"] for turn in (second, third)] == ["completed"] * 2


async def test_what_is_refused_for_another_reason_is_shown_again(demo_url: str, tmp_path: Path) -> None:
    """A file counts as refused only where the same request without it is answered."""
    refuses = {"text"}
    async with (
        asked_of(demo_url, refuses=refuses, message="Your credit balance is too low") as (url, asked),
        running_gateway(settings_for(tmp_path / "poor", url)) as client,
    ):
        first = await client.chat("/say seen", session_id="s", attachments=[PICTURE])
        refuses.clear()
        second = await client.chat("/say seen now", session_id="s")

    assert the(first, "done")["status"] == "failed"
    assert text_of(second) == "seen now"
    assert any(each["type"] == "image" for each in blocks(asked[-1]))


async def test_a_file_that_is_too_long_for_the_model_ends_no_turn(demo_url: str, tmp_path: Path) -> None:
    """Where compressing cannot help, the question is answered without it."""
    async with (
        asked_of(demo_url, refuses={"image"}, message="prompt is too long") as (url, _),
        running_gateway(settings_for(tmp_path / "small", url)) as client,
    ):
        events = await client.chat("/say answered", session_id="s", attachments=[PICTURE])

    assert text_of(events) == "answered"
    assert "longer than the model can read" in the(events, "warning")["message"]
    assert the(events, "done")["status"] == "completed"


async def test_a_file_may_come_without_words(tmp_path: Path, demo_url: str) -> None:
    """The message is recorded as empty, the model gets the file alone, and the chat has its name."""
    file = {"name": "採購單.md", "text": "# 茶\n"}
    async with (
        asked_of(demo_url) as (url, asked),
        running_gateway(settings_for(tmp_path / "data", url)) as user,
    ):
        events = await user.chat("", session_id="s", attachments=[file])
        session = (await user.get("/api/sessions/s")).json()
        queued = await user.post("/api/sessions/s/turns", {"message": "", "attachments": [file]})
        seeded = await user.post(
            "/api/sessions", {"messages": [{"role": "user", "content": "", "attachments": [file]}]}
        )

    (told,) = [block for block in blocks(asked[0]) if block["type"] == "text"][:1]
    assert the(events, "turn_start")["input"] == ""
    assert the(events, "done")["status"] == "completed"
    assert "採購單.md" in text_of(events)
    assert (session["title"], seeded.json()["title"]) == ("採購單.md", "採購單.md")
    assert asked[0]["messages"][0]["content"] == [told]
    assert told["text"].startswith("<attachment>")
    assert (queued.status_code, seeded.status_code) == (202, 201)


@pytest.mark.parametrize(
    ("name", "data", "reading"),
    [
        ("notes.txt", b"one\ntwo\n", {"how": "text", "lines": 2}),
        ("old-mac.txt", b"a\rb\rc\r", {"how": "text", "lines": 1}),
        ("簡報.txt", "第一行\n第二行\n".encode("utf-16"), {"how": "text", "lines": 2}),
        ("cut.log", ("字" * 200).encode()[:-1], {"how": "text", "lines": 1, "damaged": 2}),
        ("nul.log", b"a good line of a log\n" * 20 + b"\0", {"how": "text", "lines": 21, "damaged": 1}),
        ("long.txt", b"a line of many\n" * 5000, {"how": "part", "lines": 5000}),
        ("small.png", png(20, 20), {"how": "image"}),
        ("photo.jpg", jpeg(4000, 3000), {"how": "image", "scaled": True}),
        ("large.png", png(padding=6_000_000), {"how": "none", "why": "too_large"}),
        ("wide.png", png(9000, 100), {"how": "none", "why": "too_many_pixels"}),
        ("report.pdf", pdf(3), {"how": "pages", "pages": 3}),
        ("book.pdf", pdf(300), {"how": "none", "why": "too_many_pages", "pages": 300}),
        ("secret.pdf", pdf(locked=True), {"how": "none", "why": "encrypted"}),
        ("IMG_1.heic", b"\0\0\0\x18ftypheic" + bytes(50), {"how": "none", "why": "format"}),
        ("song.mp3", b"ID3\x04" + bytes(50), {"how": "none", "why": "format"}),
        ("简体.txt", "这是一段简体中文的文字。\n".encode("gb18030") * 9, {"how": "none", "why": "encoding"}),
        ("繁體.txt", "這是一段繁體中文的文字。\n".encode("big5") * 9, {"how": "none", "why": "encoding"}),
        (
            "日本.txt",
            "これは日本語の文章です。\n".encode("shift-jis") * 9,
            {"how": "none", "why": "encoding"},
        ),
    ],
)
async def test_what_the_model_gets_of_a_file_is_said_before_it_is_sent_and_in_the_turn(
    shared_client: Client, name: str, data: bytes, reading: dict[str, object]
) -> None:
    item = await send(shared_client, data, name=name)
    events = await shared_client.chat("/say fine", attachments=[{"ref": item["ref"]}])

    (file,) = the(events, "turn_start")["attachments"]
    compact = await shared_client.get(f"/api/artifacts/{item['ref']}/compact")
    assert (item["reading"], compact.json()["reading"], file["reading"]) == (reading, reading, reading)
