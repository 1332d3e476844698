"""What says who asks counts as it stands in the head of a request, once, behind a proxy too."""

import asyncio
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from gateway.auth.identity_fields import (
    FORWARDED_FOR,
    KEY_FIELDS,
    PAGE_FIELDS,
    USER_FIELDS,
    IdentityFields,
    caller_fields,
    proxy_fields,
)
from gateway.auth.signed_in import SignedIn
from gateway.auth.stored_keys import StoredKeys
from gateway.cli.http_connections import HttpConnection
from gateway.errors import NotAuthenticated
from gateway.http import middleware
from gateway.request_heads import RequestHeads
from gateway.wiring.authentication import open_authentication
from tests.harness import TIMEOUT, Client, running_gateway
from tests.loopback import free_port
from tests.product import Settings
from tests.running import ROOT

pytestmark = pytest.mark.anyio

BOSS = "boss-secret-0123456789"
GIVEN: dict[str, Any] = {
    "api_keys": SecretStr(f"boss:{BOSS}"),
    "admins": ("boss",),
    "trusted_proxies": ("127.0.0.1",),
    "proxy_tenant_header": "X-Forwarded-Tenant",
    "proxy_roles_header": "X-Forwarded-Groups",
    "proxy_roles": ("staff=member", "gateway-admins=admin"),
}
ADA = {"x-forwarded-user": "ada", "x-forwarded-tenant": "team", "x-forwarded-groups": "staff"}
WORTH = {
    "authorization": f"Bearer {BOSS}",
    "x-api-key": BOSS,
    "cookie": f"gateway_sign_in={'A' * 43}",
    "x-forwarded-groups": "gateway-admins",
    "x-forwarded-tenant": "default",
    "host": "127.0.0.1",
    "origin": "http://127.0.0.1",
    "sec-fetch-site": "same-origin",
    FORWARDED_FOR: "127.0.0.1",
}
"""What an attacker would write into each field; a user's name in all others."""
BASIC = {"authorization": "Basic YWRhOmNvcnJlY3QtaG9yc2U="}
PATH = "/usr/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"


def all_fields() -> list[str]:
    """Of every way to ask, as the gateway has them."""
    settings = Settings(_env_file=None, **GIVEN)  # pyright: ignore[reportCallIssue] - of pydantic-settings
    return [*caller_fields(settings), *PAGE_FIELDS, FORWARDED_FOR]


def spellings(name: str) -> Iterator[str]:
    """As proxies and programs write it that take other signs for a `-`."""
    for sign in "_.~":
        yield name.replace("-", sign)
        yield name.replace("-", sign).title()


@pytest.fixture
async def gateway(settings: Settings, anyio_backend: str) -> AsyncGenerator[Client]:
    """It believes a proxy on this machine, whose user Ada is no admin."""
    async with running_gateway(settings.model_copy(update=GIVEN)) as client:
        yield client


async def asked(
    url: str, head: Mapping[str, str], *more: str, trailer: str | None = None, split: bool = False
) -> str:
    """Who the gateway says has asked, or the status of the refusal: `more` are lines behind the head's."""
    address = urlsplit(url)
    lines = [f"{name}: {value}" for name, value in head.items()]
    if not any(line.lower().startswith("host:") for line in (*lines, *more)):
        lines.insert(0, "host: 127.0.0.1")
    body = ["", ""]
    if trailer is not None:
        lines += ["transfer-encoding: chunked"]
        body = ["", "2", "{}", "0", trailer, "", ""]
    text = "\r\n".join(["GET /api/me HTTP/1.1", "connection: close", *lines, *more, *body])
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        cut = text.index("\r\n0\r\n") + 5 if split else len(text)
        for part in (text[:cut], text[cut:]):
            writer.write(part.encode())
            await writer.drain()
            await asyncio.sleep(0.01 if split else 0)
        async with asyncio.timeout(TIMEOUT):
            answer = await reader.read()
    finally:
        writer.close()
    status, _, rest = answer.partition(b"\r\n")
    if b" 200 " not in status:
        return status.decode().split(" ")[1]
    found = orjson.loads(rest[rest.index(b"{") : rest.rindex(b"}") + 1])
    return f"{found['user_id']} {' '.join(found['roles'])}"


@pytest.mark.parametrize("name", all_fields())
async def test_a_trailer_says_nothing(gateway: Client, name: str) -> None:
    """Whether it comes with the head or later, whichever field it is, with and without anybody known."""
    line = f"{name}: {WORTH.get(name, 'boss')}"
    for split in (False, True):
        assert await asked(gateway.url, ADA, trailer=line, split=split) == "team/ada member"
        assert await asked(gateway.url, {}, trailer=line, split=split) == "401"
        assert await asked(gateway.url, {}, trailer=f"{line}\r\nx-forwarded-user: boss", split=split) == "401"


@pytest.mark.parametrize("name", [each for each in all_fields() if each != FORWARDED_FOR])
async def test_a_field_that_is_there_twice_is_refused(gateway: Client, name: str) -> None:
    """In whatever letters."""
    worth = WORTH.get(name, "boss")
    for second in (name, name.upper(), name.title()):
        assert await asked(gateway.url, {name: worth}, f"{second}: {worth}") == "400", second


@pytest.mark.parametrize("name", [each for each in all_fields() if "-" in each])
async def test_a_field_in_another_spelling_is_refused(gateway: Client, name: str) -> None:
    """One proxy may remove x-forwarded-user and hand on x_forwarded_user, and the next write the one for the
    other."""
    for spelled in spellings(name):
        assert await asked(gateway.url, ADA, f"{spelled}: {WORTH.get(name, 'boss')}") == "400", spelled


@pytest.mark.parametrize(
    "folded", ["x-forwarded-user: ada\r\n boss", "x-forwarded-user: ada\r\n\tboss", " x-a: b"]
)
async def test_a_folded_line_is_refused(gateway: Client, folded: str) -> None:
    assert (
        await asked(gateway.url, {"x-forwarded-groups": "staff", "x-forwarded-tenant": "team"}, folded)
        == "400"
    )


@pytest.mark.parametrize("path", ["/healthz", "/api/me", "/v1/models", "/"])
async def test_a_request_without_a_host_is_refused(gateway: Client, path: str) -> None:
    """HTTP/1.0 knows none."""
    address = urlsplit(gateway.url)
    for version in ("1.1", "1.0"):
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"GET {path} HTTP/{version}\r\nconnection: close\r\n\r\n".encode())
        async with asyncio.timeout(TIMEOUT):
            answer = await reader.read()
        assert (b" 400 " in answer.partition(b"\r\n")[0]) == (version == "1.1")
        writer.close()


class Noting(dict[str, str]):
    """Header fields that note which of them are asked for."""

    read: set[str]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.read = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)


class _Nothing:
    """Keys and sign-ins, of which there are none."""

    async def find(self, _id: str) -> None:
        return None


async def test_no_way_to_ask_reads_a_field_that_is_not_in_the_table(settings: Settings) -> None:
    """What a way reads is looked at in every request: a new one cannot be forgotten."""
    given = settings.model_copy(update=GIVEN | {"oidc_issuer": "https://id.example", "oidc_audience": ("a",)})
    authentication, provider = open_authentication(given)
    assert provider is not None
    nothing = cast("Any", _Nothing())
    authentication.add(StoredKeys(nothing))
    authentication.add(SignedIn(nothing, given))
    ways = authentication._ways  # pyright: ignore[reportPrivateUsage] - to ask each of them
    assert len(ways) == 5
    fields = {*caller_fields(given), *PAGE_FIELDS}
    read = set[str]()
    for values in ({}, ADA, {"authorization": "Bearer cgk_x"}, {"authorization": "Bearer ey.a.b"}, WORTH):
        headers = Noting(values)
        for way in ways:
            with suppress(NotAuthenticated):
                await way.identify(headers, "127.0.0.1")
        read |= headers.read
    assert {*KEY_FIELDS, "cookie", *proxy_fields(given)} <= read
    assert read <= fields


async def test_the_gateway_reads_no_other_field_before_it_knows_who_asks(
    gateway: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = set[str]()

    class NotingHeaders(Headers):
        def get(self, key: str, default: Any = None) -> Any:
            read.add(key)
            return super().get(key, default)

        def __getitem__(self, key: str) -> str:
            read.add(key)
            return super().__getitem__(key)

        def __contains__(self, key: object) -> bool:
            read.add(str(key))
            return super().__contains__(key)

        def getlist(self, key: str) -> list[str]:
            read.add(key)
            return super().getlist(key)

    monkeypatch.setattr(middleware, "Headers", NotingHeaders)
    for headers in (ADA, {"x-api-key": BOSS}, {"cookie": WORTH["cookie"]}, {"origin": gateway.url}):
        await gateway.get("/api/me", **headers)
        await gateway.post("/api/sessions", {}, **headers)
    table = {*all_fields(), *USER_FIELDS}
    assert {"authorization", "x-forwarded-user", "host", "origin"} <= read
    assert read - table <= {"x-request-id", "traceparent"}


def test_a_name_with_other_signs_is_the_operators_own_field(settings: Settings) -> None:
    """`Remote_User` counts where the setting says so, and nothing that looks like it."""
    fields = IdentityFields(settings.model_copy(update=GIVEN | {"proxy_user_header": "Remote_User"}))
    head = [(b"host", b"a"), (b"remote_user", b"ada")]
    fields.check({"headers": head, "http_version": "1.1"})
    with pytest.raises(Exception, match="spelled"):
        fields.check({"headers": [*head, (b"remote-user", b"ada")], "http_version": "1.1"})


def documented(language: str) -> str:
    """The proxy's settings in the documentation."""
    page = (ROOT / "docs/users.md").read_text()
    text = page[page.index("\n## A proxy that signs people in\n") :]
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


@contextmanager
def proxy(name: str, folder: Path, gateway: str) -> Generator[str]:
    """A proxy with the settings of the documentation, in front of that gateway."""
    there, port = urlsplit(gateway).netloc, free_port()
    text = documented({"nginx": "nginx", "haproxy": "haproxy"}[name])
    text = text.replace("127.0.0.1:8000", there)
    if name == "nginx":
        text = text.replace("listen 8080", f"listen 127.0.0.1:{port}")
        own = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        own_folders = "".join(f"{each}_temp_path {folder};\n" for each in own)
        process = f"daemon off;\nuser root;\npid {folder}/pid;\nerror_log {folder}/log;\nevents {{}}\n"
        text = f"{process}http {{\naccess_log off;\n{own_folders}{text}}}"
        (folder / "users").write_text("ada:{PLAIN}correct-horse\n")
    else:
        text = text.replace("bind :8080", f"bind 127.0.0.1:{port}")
    (folder / "conf").write_text(text)
    program = shutil.which(name, path=PATH)
    assert program is not None
    options = ["-p", str(folder), "-c", "conf"] if name == "nginx" else ["-db", "-f", str(folder / "conf")]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([program, *options], stdout=said, stderr=said)
    try:
        while True:
            assert process.poll() is None, (folder / "said").read_text()
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(TIMEOUT)


@pytest.fixture(params=["nginx", "haproxy"])
async def before(request: pytest.FixtureRequest, tmp_path: Path, gateway: Client) -> AsyncGenerator[str]:
    """The address of a proxy that signs Ada in, before the gateway."""
    if shutil.which(request.param, path=PATH) is None:
        pytest.skip(f"{request.param} is not installed")
    folder = tmp_path / "proxy"
    folder.mkdir()
    with proxy(request.param, folder, gateway.url) as url:
        yield url


async def test_behind_the_documented_proxies_nobody_is_somebody_else(before: str) -> None:
    """Every field of every way to ask, in the head, twice, in other spellings and as a trailer: who signed in
    at the proxy is who asks, with the roles that it gives, or the request is refused."""
    assert await asked(before, BASIC) == "team/ada member"
    assert await asked(before, {}) == "401"
    for name in all_fields():
        worth = WORTH.get(name, "boss")
        for split in (False, True):
            assert await asked(before, BASIC, trailer=f"{name}: {worth}", split=split) in {
                "team/ada member",
                "400",
            }, name
        if name in KEY_FIELDS:  # the boss's own key makes who has it the boss
            continue
        for spelled in {name, name.upper(), *spellings(name)}:
            lines = [f"{spelled}: {worth}"]
            for more in (lines, lines * 2):
                assert await asked(before, BASIC, *more) in {"team/ada member", "400", "403"}, more
    everything = "\r\n".join(f"{name}: {WORTH.get(name, 'boss')}" for name in all_fields())
    assert await asked(before, BASIC, trailer=everything) in {"team/ada member", "400"}


def test_every_server_of_the_gateway_drops_trailers() -> None:
    """Also that of Slack's events, and of the memory over MCP."""
    files = {path: path.read_text() for path in (ROOT / "gateway").rglob("*.py")}
    servers = {path: text for path, text in files.items() if "uvicorn.Config(" in text}
    assert len(servers) >= 3
    for path, text in servers.items():
        assert re.search(r"http=([Cc]onnections(\(settings\))?\.protocol|RequestHeads),", text), path
    assert issubclass(HttpConnection, RequestHeads)
