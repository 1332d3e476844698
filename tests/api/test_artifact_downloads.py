"""The content of an artifact as a download: whole, in ranges, never more than a file to keep."""

import re
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from structlog.testing import capture_logs

from gateway.http.downloads import attachment
from gateway.storage.artifacts import CHUNK
from tests.api.artifacts import blob_of, download, part, problem, send
from tests.harness import Client, running_gateway, stalled_reader
from tests.product import Settings

pytestmark = pytest.mark.anyio

CONTENT = bytes(range(256)) * 5000
"""More than one part."""
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x02\x08\x02\x00\x00\x00" + b"\x00" * 20
)


async def test_a_download_is_a_file_to_keep_and_nothing_else(client: Client) -> None:
    """Whatever a browser makes of it: it is saved, its type is not guessed, nothing in it runs, and no other
    site may embed it."""
    made = await send(client, b"<script>alert(1)</script>", "text/html", name="page.html")

    headers = (await download(client, made["ref"])).headers

    assert headers["content-disposition"] == 'attachment; filename="page.html"'
    assert headers["content-type"] in {"application/octet-stream", "text/plain; charset=utf-8"}
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "private, no-cache"
    assert headers["etag"] == f'"{made["sha256"]}"'
    assert headers["accept-ranges"] == "bytes"
    assert headers["content-length"] == "25"


async def test_only_types_that_run_nothing_are_told(client: Client) -> None:
    """By what the bytes are, whatever was declared; all others are bytes. A nameless one is called by its
    reference."""
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
    for content, mime, sent, suffix in (
        (b"plain words", "text/plain", "text/plain; charset=utf-8", "txt"),
        (b'{"a": 1}', "text/json", "application/json", "json"),
        (PNG, "text/html", "image/png", "png"),
        (svg, "image/svg+xml", "text/plain; charset=utf-8", "txt"),
        (b"\x00\x01\x02", "application/x-msdownload", "application/octet-stream", "bin"),
        (b"\x00\xff<html>", "text/html", "application/octet-stream", "bin"),
    ):
        ref = (await send(client, content, mime))["ref"]
        answer = await download(client, ref)
        assert (answer.content, answer.headers["content-type"]) == (content, sent)
        assert answer.headers["content-disposition"] == f'attachment; filename="{ref}.{suffix}"'


async def test_a_chinese_name_reaches_every_client(client: Client) -> None:
    """In UTF-8 for those that know RFC 6266, and legible in what it can be for others."""
    made = await send(client, b"x", "text/plain", name="季度 報告.txt")

    header = (await download(client, made["ref"])).headers["content-disposition"]

    assert header == (
        "attachment; filename=\"__ __.txt\"; filename*=UTF-8''%E5%AD%A3%E5%BA%A6%20%E5%A0%B1%E5%91%8A.txt"
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_no_name_can_add_to_a_header(name: str) -> None:
    """Whatever the name: one attachment, quotes closed, no line breaks; the UTF-8 form gives it back."""
    header = attachment(name)

    assert header.isascii()
    assert header.isprintable()
    found = re.fullmatch(r"""attachment; filename="([^"\\%]*)"(?:; filename\*=UTF-8''([\w.~%-]*))?""", header)
    assert found is not None
    plain, encoded = found.groups()
    assert (unquote(encoded) if encoded is not None else plain) == name


async def test_a_range_is_sent_as_206(client: Client) -> None:
    """Also across parts, up to the end, and counted from it."""
    ref = (await send(client, CONTENT))["ref"]
    for asked, start, end in (
        ("bytes=0-0", 0, 1),
        ("bytes=0-1023", 0, 1024),
        ("bytes=1048570-1048589", 1048570, 1048590),
        ("bytes=1279000-", 1279000, 1280000),
        ("bytes=1279000-9999999999", 1279000, 1280000),
        ("bytes=-500", 1279500, 1280000),
        ("bytes=-99999999", 0, 1280000),
        ("Bytes=5-9", 5, 10),
    ):
        answer = await download(client, ref, range=asked)
        assert (asked, answer.status_code, answer.content) == (asked, 206, CONTENT[start:end])
        assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"
        assert answer.headers["content-length"] == str(end - start)


async def test_a_range_beyond_the_end_is_416(client: Client) -> None:
    """With the size, so that the client can ask again."""
    ref = (await send(client, CONTENT))["ref"]
    for asked in ("bytes=1280000-", "bytes=9999999-99999999", "bytes=-0"):
        answer = await download(client, ref, range=asked)
        assert (asked, *problem(answer)) == (asked, 416, "range_not_satisfiable")
        assert answer.headers["content-range"] == f"bytes */{len(CONTENT)}"


async def test_what_is_no_single_range_gives_the_whole(client: Client) -> None:
    """As the RFC has it: a Range header that cannot be used counts as absent."""
    content = b"0123456789" * 3
    ref = (await send(client, content))["ref"]
    for asked in ("9-5", "0-1,4-5", "", "-", "a-b", "１-２", "9" * 40, "9" * 40 + "-", "0--5"):
        headers = httpx2.Headers({b"range": f"bytes={asked}".encode()})
        answer = await client.http.get(f"/api/artifacts/{ref}", headers=headers)
        assert (asked, answer.status_code, answer.content) == (asked, 200, content)
    for asked in ("lines=1-5", "5", "bytes"):
        assert (await download(client, ref, range=asked)).status_code == 200


async def test_the_bytes_of_the_query_are_a_part_and_not_the_range(client: Client) -> None:
    """`?bytes=` is read as text with what there is in all; a Range beside it says nothing."""
    ref = (await send(client, b"0123456789" * 3, "text/plain"))["ref"]

    response = await client.http.get(f"/api/artifacts/{ref}?bytes=0-4", headers={"range": "bytes=7-8"})

    assert (response.status_code, response.json()["content"], response.json()["total"]) == (200, "01234", 30)


async def test_a_client_that_has_it_is_told_so(client: Client) -> None:
    """304 for its ETag, weak or among others; a broken-off download goes on only if the content is the
    same."""
    made = await send(client, CONTENT)
    ref, etag = made["ref"], f'"{made["sha256"]}"'

    for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        answer = await download(client, ref, **{"if-none-match": known})
        assert (known, answer.status_code, answer.content) == (known, 304, b"")
        assert answer.headers["etag"] == etag
    other = await download(client, ref, **{"if-none-match": '"x"'})
    goes_on = await download(client, ref, **{"if-range": etag, "range": "bytes=9-"})
    anew = [
        await download(client, ref, **{"if-range": given, "range": "bytes=9-"})
        for given in ('"x"', f"W/{etag}", "Wed, 21 Oct 2026 07:28:00 GMT")
    ]
    assert other.status_code == 200
    assert goes_on.status_code == 206
    assert [each.status_code for each in anew] == [200, 200, 200]


async def test_a_head_tells_the_size_and_sends_nothing(client: Client) -> None:
    """The same headers as GET, and no content."""
    ref = (await send(client, CONTENT))["ref"]

    response = await client.http.head(f"/api/artifacts/{ref}")

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(CONTENT))


async def test_a_head_knows_no_ranges(client: Client) -> None:
    """RFC 9110, section 14.2: a range is one of GET alone."""
    ref = (await send(client, CONTENT))["ref"]

    for asked in ("bytes=0-9", "bytes=99999999-"):
        response = await client.http.head(f"/api/artifacts/{ref}", headers={"range": asked})

        assert (response.status_code, response.headers["content-length"]) == (200, str(len(CONTENT)))
        assert "content-range" not in response.headers


@examples(max_examples=25)
@given(start=st.integers(0, len(CONTENT) - 1), length=st.integers(1, 2 * CHUNK))
async def test_any_range_is_that_range(client: Client, start: int, length: int) -> None:
    """Wherever it begins and ends."""
    ref = (await send(client, CONTENT))["ref"]

    answer = await download(client, ref, range=f"bytes={start}-{start + length - 1}")

    assert (answer.status_code, answer.content == CONTENT[start : start + length]) == (206, True)


async def test_content_that_was_changed_is_told_with_its_hash(client: Client, settings: Settings) -> None:
    """500 with a name and the SHA-256, on every way of reading it; nothing that was changed is sent."""
    made = await send(client, CONTENT[: CHUNK // 2], "text/plain")
    blob = blob_of(settings, made["sha256"])
    blob.write_bytes(b"X" + blob.read_bytes()[1:])

    answers = [await download(client, made["ref"]), await part(client, made["ref"], bytes="0-9")]
    blob.unlink()
    answers += [await download(client, made["ref"]), await part(client, made["ref"], bytes="0-9")]

    for answer in answers:
        assert problem(answer) == (500, "artifact_damaged")
        assert made["sha256"] in answer.json()["error"]["message"]
        assert str(settings.data_dir) not in answer.text


async def test_a_download_that_meets_damage_breaks_off(client: Client, settings: Settings) -> None:
    """Nobody takes the beginning for the whole, and the log says why."""
    made = await send(client, CONTENT)
    blob = blob_of(settings, made["sha256"])
    blob.write_bytes(CONTENT[:-1] + b"X")

    with capture_logs() as logged, pytest.raises(httpx2.RemoteProtocolError):
        await download(client, made["ref"])

    (line,) = [each for each in logged if each["event"] == "download_broken_off"]
    assert line["code"] == "artifact_damaged"
    assert made["sha256"] in line["reason"]


async def test_a_reader_that_takes_nothing_is_dropped(settings: Settings) -> None:
    """After `send_timeout` seconds, so that it holds nothing for ever."""
    async with running_gateway(settings.model_copy(update={"send_timeout": 0.2})) as client:
        ref = (await send(client, CONTENT * 8))["ref"]
        with capture_logs() as logged, stalled_reader(client.url, f"/api/artifacts/{ref}"):
            while not any(each["event"] == "slow_reader_dropped" for each in logged):
                await client.get("/healthz")
