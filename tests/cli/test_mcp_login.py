"""`gateway mcp list`, `login` and `logout`, at a gateway that runs."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from anyio.from_thread import start_blocking_portal

from tests.cli.conftest import Command
from tests.loopback import TIMEOUT
from tests.mcp_servers.authorization_server import AuthorizationServer, guarded
from tests.product import new_key
from tests.running import Running, clean_environment, gateway_process
from tests.running import command as command_line


@contextmanager
def gateway_with_server(folder: Path) -> Generator[tuple[Running, AuthorizationServer]]:
    """A gateway with the server `it`, which asks for a sign-in."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(guarded()) as it:
        settings = {
            "GATEWAY_ENCRYPTION_KEYS": new_key(),
            "GATEWAY_MCP_SERVERS__it__url": f"{it.url}/mcp",
        }
        with gateway_process(folder, **settings) as gateway:
            yield gateway, it


def test_an_operator_signs_in_with_a_browser_on_their_machine(command: Command, tmp_path: Path) -> None:
    with gateway_with_server(tmp_path) as (gateway, _):
        at = ("--url", gateway.url)
        before = command("mcp", "list", *at)
        assert before.out == "it  needs sign-in: gateway mcp login it\n"
        assert "MCP server: it  needs sign-in: gateway mcp login it" in command("doctor", gateway.url).out
        login = subprocess.Popen(
            command_line("mcp", "login", "it", *at),
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=clean_environment(),
        )
        assert login.stdout is not None
        with login, httpx2.Client(trust_env=False, follow_redirects=True) as browser:
            closed = browser.get(login.stdout.readline().strip())
            assert closed.text == "Chat Gateway: you can close this window."
            assert login.stdout.readline() == "The gateway is signed in to it.\n"
            assert login.wait(TIMEOUT) == 0
        assert ", signed in" in command("mcp", "list", *at).out
        assert command("mcp", "logout", "it", *at).out == "The gateway is signed out of it.\n"
        assert ", signed in" not in command("mcp", "list", *at).out


def test_a_server_that_is_not_there_cannot_be_signed_in_to(command: Command, tmp_path: Path) -> None:
    with gateway_with_server(tmp_path) as (gateway, _):
        refused = command("mcp", "login", "other", "--url", gateway.url)
    assert refused.code == 1
    assert "no MCP server of that name" in refused.err


def test_a_catalog_says_that_sign_ins_are_the_running_gateways(command: Command, tmp_path: Path) -> None:
    """Two processes that renew one token void each other's."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(guarded()) as it:
        listed = command("skills", "list", "--mcp", GATEWAY_MCP_SERVERS__it__url=f"{it.url}/mcp")
    assert listed.code == 0
    assert "it asks for a sign-in, which the running gateway alone has: `gateway mcp list`" in listed.err
