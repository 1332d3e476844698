"""Servers that ask for a token: signing in, keeping it, and what goes wrong with authorization servers."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.errors import McpSignInFailed
from gateway.settings.value_types import McpServer
from gateway.storage.exclusive import LocalExclusive
from gateway.tools.mcp import oauth_requests, reconnecting_server
from gateway.tools.mcp.configured_servers import McpServers
from gateway.tools.mcp.oauth_grants import refresh
from gateway.tools.mcp.oauth_requests import GrantRefused
from gateway.tools.mcp.oauth_sign_in import Beginner, begin, finish, taken_up
from gateway.tools.mcp.reconnecting_server import Server
from tests.harness import TIMEOUT
from tests.mcp_servers.authorization_server import gone_through, guarded
from tests.mcp_servers.serving import Attached, body

pytestmark = pytest.mark.anyio

BACK = "http://127.0.0.1:1/callback"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to wait as long as a person would let it."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.05,))
    monkeypatch.setattr(oauth_requests, "TIMEOUT", 1.0)


class InMemory:
    """A `SignInStore` of one process."""

    can_store = True

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._exclusive = LocalExclusive()

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._exclusive.hold(key)

    async def put(self, key: str, secret: str, expires_at: int | None = None) -> None:
        self.texts[key] = secret

    async def get(self, key: str) -> str | None:
        return self.texts.get(key)

    async def take(self, key: str, now: int) -> str | None:
        return self.texts.pop(key, None)

    async def remove(self, key: str) -> bool:
        return self.texts.pop(key, None) is not None


@asynccontextmanager
async def gateway(store: InMemory, url: str, **given: Any) -> AsyncGenerator[Attached]:
    """A gateway with that one server, tried once."""
    settings = McpServer.model_validate({"url": f"{url}/mcp", **given})
    changes = asyncio.Event()
    servers = McpServers({"it": settings}, changed=changes.set, store=store)
    running = asyncio.create_task(servers.run())
    try:
        async with asyncio.timeout(TIMEOUT):
            await servers.tried()
        yield Attached(servers, changes)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def server_of(attached: Attached) -> Server:
    server = attached.servers.server("it")
    assert server is not None
    return server


async def begun(attached: Attached, store: InMemory, redirect_uri: str = BACK) -> str:
    server = server_of(attached)
    return await begin(
        "it", server.settings, server.tokens, store, redirect_uri=redirect_uri, by=Beginner("ada")
    )


async def signed_in(attached: Attached, store: InMemory) -> None:
    came = await gone_through(await begun(attached, store))
    taken = await taken_up(store, came["state"], "ada")
    server = server_of(attached)
    await finish(taken, server.tokens, came.get("code", ""), came.get("iss"), came.get("error"))
    server.wake()
    await attached.until(lambda: attached.state.status == "connected")


async def test_a_person_signs_in_and_the_tools_are_there() -> None:
    """With PKCE, a registration of our own, and the resource that the token is for."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        assert attached.state.status == "needs_sign_in"
        assert "gateway mcp login it" in (attached.state.error or "")
        await signed_in(attached, store)

        assert body(await attached.call("who")) == "let in"
        assert it.registered[0]["redirect_uris"] == [BACK]
        assert it.asked[0]["resource"] == f"{it.url}/mcp"
        assert it.asked[0]["client_id"] == "client-1"


async def test_a_sign_in_is_there_after_a_restart_and_for_other_processes() -> None:
    """No question again, and no token asked for."""
    store = InMemory()
    async with guarded() as it:
        async with gateway(store, it.url) as first:
            await signed_in(first, store)
        async with gateway(store, it.url) as second:
            assert second.state.status == "connected"
        assert len(it.asked) == 1


async def test_a_token_that_is_refused_is_renewed_and_the_call_sent_once_more() -> None:
    """The server refused before it did anything."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        await signed_in(attached, store)
        it.access = set()
        assert body(await attached.call("who")) == "let in"
        assert it.calls == 1
        assert it.asked[-1]["grant_type"] == "refresh_token"


async def test_a_token_is_renewed_before_it_expires() -> None:
    """Nobody waits for a refusal first."""
    store = InMemory()
    async with guarded() as it:
        it.expires_in = "30"
        async with gateway(store, it.url) as attached:
            await signed_in(attached, store)
            before = len(it.asked)
            await attached.call("who")
        assert len(it.asked) > before


async def test_refresh_tokens_that_change_are_used_by_one_at_a_time() -> None:
    """Used twice, a server would take the whole sign-in back (RFC 9700, 4.14)."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as one, gateway(store, it.url) as other:
        await signed_in(one, store)
        await other.until(lambda: other.state.status == "connected")
        it.access, it.fault = set(), "slow-refresh"
        outputs = await asyncio.gather(*(each.call("who") for each in (one, other, one)))

    assert [body(each) for each in outputs] == ["let in"] * 3
    assert len([form for form in it.asked if form["grant_type"] == "refresh_token"]) == 1


@pytest.mark.parametrize("rotates", [True, False])
async def test_a_sign_in_that_has_ended_says_so_and_a_new_one_serves(rotates: bool) -> None:
    """The same registration serves on."""
    store = InMemory()
    async with guarded() as it:
        it.rotates = rotates
        async with gateway(store, it.url) as attached:
            await signed_in(attached, store)
            it.access, it.refresh = set(), set()
            with capture_logs() as lines:
                output = await attached.call("who")
                await attached.until(lambda: attached.state.status == "needs_sign_in")
            assert output.is_error
            assert "401" in body(output)
            await signed_in(attached, store)
            assert body(await attached.call("who")) == "let in"

    assert "mcp_sign_in_ended" in [line["event"] for line in lines]
    assert len(it.registered) == 1


async def test_a_registration_that_is_lost_is_made_anew() -> None:
    """An authorization server that was set up again knows nobody."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        await signed_in(attached, store)
        it.clients, it.access = set(), set()
        await attached.call("who")
        await attached.until(lambda: attached.state.status == "needs_sign_in")
        await signed_in(attached, store)

        assert body(await attached.call("who")) == "let in"
        assert len(it.registered) == 2


async def test_an_authorization_server_that_fails_does_not_end_the_sign_in() -> None:
    """It is away for a while; then all is as before, without anybody's doing."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        await signed_in(attached, store)
        it.access, it.fault = set(), "token-500"
        await attached.call("who")
        await attached.until(lambda: "no token could be got" in (attached.state.error or ""))
        assert attached.state.status == "failed"
        it.fault = ""
        await attached.until(lambda: attached.state.status == "connected")
        assert body(await attached.call("who")) == "let in"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("metadata", "does not say how to sign in: HTTP status 500"),
        ("resource", "another resource"),
        ("issuer", "names another issuer"),
        ("redirect", "does not say how to sign in: HTTP status"),
        ("huge", "more than 262144 bytes"),
        ("hang", "cannot be asked (TimeoutError)"),
        ("html", "metadata cannot be read"),
        ("elsewhere", "not a public one"),
        ("no-pkce", "PKCE"),
        ("no-registration", "oauth.client_id"),
    ],
)
async def test_what_is_wrong_with_an_authorization_server_is_said(fault: str, says: str) -> None:
    """The start waits for none of it, and nothing goes to a private address that the settings do not name."""
    store = InMemory()
    async with guarded() as it:
        it.fault = fault
        async with gateway(store, it.url) as attached:
            assert attached.state.status == "needs_sign_in"
            with pytest.raises(McpSignInFailed) as refused:
                await begun(attached, store)
    assert says in refused.value.message
    assert store.texts == {}


async def test_who_refuses_is_not_signed_in() -> None:
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        it.fault = "refuse"
        with pytest.raises(McpSignInFailed, match="access_denied"):
            await signed_in(attached, store)
        assert attached.state.status == "needs_sign_in"


async def test_a_sign_in_serves_once_and_only_who_began_it() -> None:
    """Nobody brings somebody else's code, and none is used twice."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        came = await gone_through(await begun(attached, store))
        for state, who in ((came["state"], "bob"), (came["state"], "ada"), ("made up", "ada"), ("", "ada")):
            with pytest.raises(McpSignInFailed, match="not begun here"):
                await taken_up(store, state, who)


@pytest.mark.parametrize("issuer", ["https://evil.example", None])
async def test_a_code_of_another_authorization_server_is_not_sent(issuer: str | None) -> None:
    """RFC 9207: the server says that it tells who it is, so that silence is no answer either."""
    store = InMemory()
    async with guarded() as it, gateway(store, it.url) as attached:
        came = await gone_through(await begun(attached, store))
        taken = await taken_up(store, came["state"], "ada")
        with pytest.raises(McpSignInFailed, match="Another authorization server"):
            await finish(taken, server_of(attached).tokens, came["code"], issuer, None)
        assert it.asked == []


async def test_the_gateway_signs_in_for_itself() -> None:
    """With a client of the settings: nobody is asked, and nothing is stored."""
    async with guarded() as it:
        oauth = {
            "grant": "client_credentials",
            "client_id": "configured",
            "client_secret": "secret-0123456789",
            "issuer": it.url,
        }
        store = InMemory()
        async with gateway(store, it.url, oauth=oauth) as attached:
            assert attached.state.status == "connected"
            it.access = set()
            assert body(await attached.call("who")) == "let in"
        assert store.texts == {}
        assert {form["grant_type"] for form in it.asked} == {"client_credentials"}
        assert it.authorizations[0].startswith("Basic ")


async def test_a_client_of_the_settings_goes_to_its_own_issuer_only() -> None:
    """A server that leads elsewhere is given no secret."""
    async with guarded() as it:
        oauth = {
            "grant": "client_credentials",
            "client_id": "configured",
            "client_secret": "secret-0123456789",
            "issuer": "http://127.0.0.1:9/other",
        }
        with capture_logs() as lines:
            async with gateway(InMemory(), it.url, oauth=oauth) as attached:
                assert attached.state.status == "failed"
                assert "no token could be got" in (attached.state.error or "")
        assert it.asked == []
    assert "secret-0123456789" not in repr(lines)


async def test_a_key_of_the_settings_is_no_sign_in() -> None:
    """Who sets a header with a key is told its status."""
    headers = {"Authorization": "Bearer wrong-0123456789"}
    async with guarded() as it, gateway(InMemory(), it.url, headers=headers) as attached:
        assert (attached.state.status, attached.state.error) == ("failed", "it answers with HTTP status 401")


async def test_no_secret_is_in_a_log_or_an_answer(caplog: pytest.LogCaptureFixture) -> None:
    """Neither of ours nor of the SDK's."""
    store = InMemory()
    caplog.set_level("DEBUG", "mcp")
    with capture_logs() as lines:
        async with guarded() as it, gateway(store, it.url) as attached:
            await signed_in(attached, store)
            it.access = set()
            await attached.call("who")
            it.access, it.clients = set(), set()
            output = await attached.call("who")
            state = attached.state
    written = repr(lines) + caplog.text + repr(output) + repr(state) + repr(server_of(attached).tokens)
    assert not [word for word in ("access-", "refresh-", "code_verifier") if word in written]


async def test_a_server_that_repeats_what_it_was_sent_tells_nobody() -> None:
    """The code, the verifier and the tokens stand neither in a log, nor in what the operator or a member
    reads."""
    store = InMemory()
    with capture_logs() as lines:
        async with guarded() as it, gateway(store, it.url) as attached:
            came = await gone_through(await begun(attached, store))
            taken, it.fault = await taken_up(store, came["state"], "ada"), "repeat"
            with pytest.raises(GrantRefused) as refused:
                await finish(taken, server_of(attached).tokens, came["code"], came["iss"], None)
            it.fault = ""
            await signed_in(attached, store)
            it.fault = "repeat"
            output = await attached.call("who")
            it.fault, known = "", await server_of(attached).tokens.stored()
            assert known is not None
            it.access, it.fault = set(), "repeat-token"
            with pytest.raises(McpSignInFailed) as not_renewed:
                await refresh(known, server_of(attached).tokens.requests)
    told = [refused.value.message, refused.value.error, not_renewed.value.message, repr(output), repr(lines)]
    assert "[redacted]" in told[0]
    assert "[redacted]" in told[2]
    assert "may not do that" in told[3]
    secrets = [came["code"], taken.verifier, known.access_token, known.refresh_token]
    assert not [secret for secret in secrets if secret is None or secret in "".join(told)]


def test_settings_that_do_not_go_together_are_refused() -> None:
    for oauth in (
        {"client_secret": "s"},
        {"client_id": "a", "client_secret": "s"},
        {"grant": "client_credentials", "client_id": "a"},
        {"issuer": "ftp://a"},
        {"unknown": 1},
    ):
        with pytest.raises(ValueError, match="McpServer"):
            McpServer.model_validate({"url": "https://a.example/mcp", "oauth": oauth})
