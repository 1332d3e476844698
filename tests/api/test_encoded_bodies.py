"""Bodies as programs send them: with a byte order mark, in another charset, compressed; at every door."""

import asyncio
import codecs
import encodings
import gzip
import json
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import UnsupportedBody
from gateway.http.body_encodings import MAX_MEMBERS, MAX_STEP, charset_named, in_utf_8, inflater, stepwise
from tests.adapters.plain_clients import ASKING, NATIVE, Request
from tests.api.route_samples import ROUTES, cases, nobodys
from tests.harness import Client, running_gateway, text_of
from tests.product import InvalidRequest, Settings

pytestmark = pytest.mark.anyio

JSON = "application/json"
SAID = "/say 你好 héllo"
CHARSETS = ("gbk", "GB2312", "gb18030", "big5", "utf-16", "utf-16-le", "utf-32", "shift_jis", "iso-2022-jp")


GZIPPED = {"content-encoding": "gzip"}


def bare_deflate(data: bytes) -> bytes:
    made = zlib.compressobj(wbits=-15)
    return made.compress(data) + made.flush()


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "in another case": ("GZip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "deflate, bare": ("deflate", bare_deflate),
    "identity": ("identity, gzip", gzip.compress),
    "in members": ("gzip", lambda data: b"".join(map(gzip.compress, (data[:9], data[9:12], b"", data[12:])))),
}


def doors() -> dict[str, Request]:
    """One request of each dialect, and of our own routes."""
    asked = {name: asking(f"s-{name}", SAID, "m") for name, asking in ASKING.items()}
    asked["responses"] = Request("/v1/responses", {"input": SAID, "stream": True}, {})
    call = {"name": "chat", "arguments": {"message": SAID}}
    mcp = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    asked["mcp"] = Request("/mcp", mcp, accept)
    asked["memory"] = Request("/api/memory", {"content": "你好 héllo"}, {})
    return asked


async def post(client: Client, path: str, content: bytes, content_type: str = JSON, **headers: str) -> Any:
    return await client.http.post(path, content=content, headers={"content-type": content_type, **headers})


@pytest.mark.parametrize("door", doors())
async def test_every_door_reads_marks_charsets_and_compressed_bodies(client: Client, door: str) -> None:
    """What was said arrives as it was meant."""
    path, body, headers = doors()[door]
    if door == NATIVE:
        await client.post("/api/sessions", {"id": f"s-{NATIVE}"})
    text = json.dumps(body, ensure_ascii=False)
    sent = [
        (codecs.BOM_UTF8 + text.encode(), JSON, {}),
        (text.encode("utf-16"), JSON, {}),  # its mark says it
        (text.encode("utf-16-le"), JSON, {}),  # its zeros say it
        (text.encode("gb18030"), f"{JSON}; charset=gbk", {}),
        (text.encode("utf-16"), f'{JSON};charset="UTF-16"', {}),
        (gzip.compress(text.encode()), JSON, {"content-encoding": "gzip"}),
        (zlib.compress(codecs.BOM_UTF8 + text.encode()), JSON, {"content-encoding": "deflate"}),
        (gzip.compress(text.encode("gb18030")), f"{JSON}; Charset=GB18030", {"content-encoding": "gzip"}),
    ]
    for content, content_type, more in sent:
        answer = await post(client, path, content, content_type, **headers, **more)

        assert answer.status_code in (200, 201, 202), (content_type, more, answer.text)

    logged = str(
        [event["data"] for session in await sessions(client) for event in await client.events(session)]
    )
    memories = (await client.get("/api/memory")).text
    assert "你好 héllo" in logged + memories
    assert "�" not in logged + memories


async def sessions(client: Client) -> list[str]:
    return [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]]


@pytest.mark.parametrize("charset", CHARSETS)
async def test_a_charset_that_python_knows_is_read(shared_client: Client, charset: str) -> None:
    """As the model gets it."""
    said = "Tokyo 東京" if "jp" in charset or "jis" in charset else "你好"
    body = json.dumps({"message": f"/say {said}", "session_id": charset}, ensure_ascii=False)

    answer = await post(shared_client, "/api/chat", body.encode(charset), f"{JSON}; charset={charset}")

    assert answer.status_code == 200, answer.text
    assert text_of(await shared_client.events(charset)) == said


async def test_latin_1_is_read(shared_client: Client) -> None:
    """The same for the one that is no encoding of Chinese."""
    body = '{"message": "/say héllo", "session_id": "latin"}'.encode("latin-1")

    answer = await post(shared_client, "/api/chat", body, f"{JSON}; charset=ISO-8859-1")

    assert answer.status_code == 200
    assert text_of(await shared_client.events("latin")) == "héllo"


@pytest.mark.parametrize(
    ("content_type", "headers", "words"),
    [
        (f"{JSON}; charset=klingon", {}, "klingon"),
        (f"{JSON}; charset=zlib", {}, "zlib"),
        (f"{JSON}; charset=base64", {}, "base64"),
        (f"{JSON}; charset=idna", {}, "idna"),
        (f"{JSON}; charset=utf-7", {}, "utf-7"),
        (f"{JSON}; charset=unicode_escape", {}, "unicode_escape"),
        (f"{JSON}; charset=../../os", {}, "os"),
        (f"{JSON}; charset=aliases", {}, "aliases"),
        (JSON, {"content-encoding": "br"}, "br"),
        (JSON, {"content-encoding": "zstd"}, "zstd"),
        (JSON, {"content-encoding": "compress"}, "compress"),
        (JSON, {"content-encoding": "gzip, gzip"}, "gzip, gzip"),
        (JSON, {"content-encoding": "gzip, deflate"}, "gzip, deflate"),
    ],
)
@pytest.mark.parametrize("door", doors())
async def test_another_one_is_refused_with_its_name(
    shared_client: Client, door: str, content_type: str, headers: dict[str, str], words: str
) -> None:
    """415 in the words of each dialect, with what is read instead."""
    path, body, more = doors()[door]

    answer = await post(shared_client, path, json.dumps(body).encode(), content_type, **more, **headers)

    assert answer.status_code == 415, answer.text
    assert words in answer.text
    assert answer.headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize(
    ("content", "content_type", "headers", "words"),
    [
        ("你好".encode("gbk"), JSON, {}, "not in UTF-8"),
        (b'{"message": "\xff"}', JSON, {}, "not in UTF-8"),
        (gzip.compress(b"{}", mtime=0), JSON, {}, "not in UTF-8"),
        (b'{"message": "\xff"}', f"{JSON}; charset=gbk", {}, "gb18030"),
        (b'{"message": "x"', f"{JSON}; charset=utf-16-le", {}, "utf_16_le"),
        (b"{}", JSON, {"content-encoding": "gzip"}, "not gzip"),
        (b"\xff\xff\xff", JSON, {"content-encoding": "deflate"}, "not deflate"),
        (gzip.compress(b"{}" * 900, mtime=0)[:-4], JSON, {"content-encoding": "gzip"}, "ends before its end"),
        (gzip.compress(b"{}", mtime=0) + b"xxxx", JSON, {"content-encoding": "gzip"}, "not gzip"),
        (zlib.compress(b"{}") * 2, JSON, {"content-encoding": "deflate"}, "there is more"),
        (gzip.compress(b"", mtime=0) * (MAX_MEMBERS + 1), JSON, GZIPPED, "there is more"),
    ],
)
async def test_what_it_is_not_is_told(
    shared_client: Client, content: bytes, content_type: str, headers: dict[str, str], words: str
) -> None:
    """A body that is not what its head says, or ends too early, is a 400 that says which."""
    answer = await post(shared_client, "/api/chat", content, content_type, **headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert words in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "path", ["/api/chat", "/v1/chat/completions", "/api/artifacts", "/api/sessions/import"]
)
async def test_a_bomb_is_refused_while_it_opens(settings: Settings, path: str) -> None:
    """A gigabyte in a megabyte is read up to the limit of its route, in bounded memory and steps."""
    bomb = zlib.compressobj(9, wbits=31)
    # After a full flush each megabyte is the same bytes: the second is repeated, as compressing takes long.
    first, again = (bomb.compress(b" " * 2**20) + bomb.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    sent = first + again * 1023 + bomb.flush()
    small = settings.model_copy(
        update={
            "max_body_size": 2_000_000,
            "adapter_body_size": 8_000_000,
            "artifact_max_size": 8_000_000,
            "max_import_size": 8_000_000,
        }
    )
    kind = "application/octet-stream" if path in ("/api/artifacts", "/api/sessions/import") else JSON
    async with running_gateway(small) as client:
        answer = await post(client, path, sent, kind, **{"content-encoding": "gzip"})
        parts = gzip.compress(b'{"x": [' + b"[]," * 900_000 + b"[]]}")
        many = await post(client, "/v1/chat/completions", parts, **{"content-encoding": "gzip"})

    assert answer.status_code == 413, answer.text
    assert (many.status_code, "objects" in many.text) == (413, True)


async def test_a_large_body_is_decoded_beside_the_others(settings: Settings) -> None:
    """Compressed and in another charset it holds nobody up (the loop is watched in every test)."""
    story = json.dumps(
        {"messages": [{"role": "user", "content": "好" * 3_000_000 + "\n/say read"}]}, ensure_ascii=False
    )
    async with running_gateway(settings) as client:
        answers = await asyncio.gather(
            *(
                post(client, "/v1/chat/completions", gzip.compress(story.encode(charset), 1),
                     f"{JSON}; charset={charset}", **{"content-encoding": "gzip"})
                for charset in ("utf-8", "gb18030", "utf-16")
            )
        )  # fmt: skip

    assert {each.status_code for each in answers} <= {200, 413}, [each.text[:200] for each in answers]


async def test_uploads_are_kept_decompressed(client: Client) -> None:
    """A file is what its content is, not how it travelled; its charset stays its own."""
    text = "name,price\n茶,3\n".encode("gbk")
    answer = await post(
        client,
        "/api/artifacts?name=a.csv",
        gzip.compress(text),
        "text/csv; charset=gbk",
        **{"content-encoding": "gzip"},
    )

    assert answer.status_code == 201, answer.text
    kept = await client.get(f"/api/artifacts/{answer.json()['ref']}")
    assert kept.content == text


async def test_an_import_may_have_a_mark_and_be_compressed(client: Client) -> None:
    """Memories as an editor of Windows saved them, and a session as gzip left it."""
    await client.chat("/say one", session_id="s")
    exported = (await client.get("/api/sessions/s/export")).content
    await client.http.delete("/api/sessions/s")

    lines = codecs.BOM_UTF8 + '{"content": "I like 茶."}\r\n'.encode()
    memories = await post(client, "/api/memory/import", lines, "application/x-ndjson")
    session = await post(
        client,
        "/api/sessions/import",
        gzip.compress(exported),
        "application/x-ndjson",
        **{"content-encoding": "gzip"},
    )

    assert (memories.status_code, session.status_code) == (200, 201), (memories.text, session.text)
    assert "茶" in (await client.get("/api/memory")).text


async def test_every_route_with_a_body_reads_them(client: Client) -> None:
    """Whatever a route answers to a body, it answers to the same with a mark, or compressed."""
    for route in ROUTES:
        if route.body is None:
            continue
        asked = next(cases(route)).request(nobodys())
        text = json.dumps(asked.pop("json")).encode()
        answers = [
            (
                await client.http.request(**asked, content=content, headers={"content-type": JSON, **headers})
            ).status_code
            for content, headers in [
                (b"\xff", {}),
                (codecs.BOM_UTF8 + b"\xff", {}),
                (gzip.compress(b"\xff", mtime=0), {"content-encoding": "gzip"}),
                (text, {"content-encoding": "br"}),
            ]
        ]
        if 404 not in answers:
            assert answers in ([400, 400, 400, 415], [403] * 4), (route.method, route.path, answers)


async def chunked(data: bytes, cuts: list[int]) -> AsyncGenerator[bytes]:
    for at, to in pairwise([0, *sorted(cuts), len(data)]):
        if at < to:
            yield data[at:to]


@given(
    text=st.text(),
    coding=st.sampled_from(sorted(CODINGS)),
    charset=st.sampled_from(CHARSETS[2:7]),
    data=st.data(),
)
def test_any_text_in_any_pieces_comes_out_as_it_was(
    text: str, coding: str, charset: str, data: st.DataObject
) -> None:
    """Compressed, in a charset, cut anywhere."""
    text = "".join(each for each in text if not "\ud800" <= each <= "\udfff") or "x"
    try:
        raw = f'"{text}"'.encode(charset)
    except UnicodeError:
        return
    name, compress = CODINGS[coding]
    sent = compress(raw)
    cuts = data.draw(st.lists(st.integers(0, len(sent)), max_size=6))

    async def read() -> bytes:
        step, codec = inflater([name]), charset_named(f"{JSON};charset={charset}")
        assert step is not None
        return b"".join([each async for each in in_utf_8(stepwise(chunked(sent, cuts), step), codec)])

    assert asyncio.run(read()).decode() == f'"{text}"'


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate"]), st.binary(max_size=4))
def test_no_bytes_do_more_than_be_refused(junk: bytes, coding: str, head: bytes) -> None:
    """Anything that claims to be compressed is read in bounded steps, or refused."""
    begin = {"gzip": b"\x1f\x8b\x08\x00", "deflate": b"\x78\x9c"}[coding]
    for sent in (junk, begin + junk, head + gzip.compress(junk) + junk):
        step = inflater([coding])
        assert step is not None
        with suppress(InvalidRequest):
            assert all(len(piece) <= MAX_STEP for part in (sent, b"") for piece in step(part))


@given(st.text(max_size=30))
def test_no_name_of_a_charset_does_more_than_be_refused(name: str) -> None:
    """Python imports and remembers nothing for it."""
    known = len(encodings._cache)  # pyright: ignore
    try:
        charset_named(f"{JSON}; charset={name}")
    except UnsupportedBody:
        assert len(encodings._cache) == known  # pyright: ignore
