"""`gateway mcp` on the command line; what it serves is shown in tests/adapters."""

import asyncio
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.test_mcp_memory_server import over_http
from tests.cli.calling import Command
from tests.running import TIMEOUT, Running, clean_environment


def test_it_serves_the_memory_of_a_gateway_that_runs(
    running: Running, command: Command, program: str
) -> None:
    """Over HTTP, on a free port that it names; the command line sees at once what a client saved. It ends
    when it is asked to."""
    data = str(running.output.parent / "data")
    with subprocess.Popen(
        [program, "mcp", "--http", "127.0.0.1:0", "--user", "mia"],
        env=clean_environment(GATEWAY_DATA_DIR=data),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            output = process.stderr.readline()
            found = re.fullmatch(r"The memory is served over MCP at (http://127\.0\.0\.1:\d+)/mcp\n", output)
            assert found, output

            async def save() -> str:
                async with over_http(found[1]) as memory:
                    return await memory.saved("每周三开会")

            memory_id = asyncio.run(save())
            listed = command("memory", "list", "--user", "mia", GATEWAY_DATA_DIR=data)
            assert memory_id in listed.out
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT) == 0
        finally:
            process.kill()


def test_a_port_in_use_is_told_with_the_option_of_this_command(command: Command) -> None:
    """Which takes the host with it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = command("mcp", "--http", f"127.0.0.1:{port}")

    assert (refused.code, refused.out) == (1, "")
    assert f"Port {port} is in use. Choose another with --http 127.0.0.1:" in refused.err


def test_nothing_is_passed_on_where_no_gateway_is(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    refused = command("mcp", "--url", f"http://127.0.0.1:{port}")

    assert (refused.code, refused.out) == (1, "")
    assert f"Nothing answers at http://127.0.0.1:{port}/mcp." in refused.err


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("--http", "0.0.0.0:0"), {}, "Listening on 0.0.0.0 lets others in, and no API key is set."),
        (
            ("--http", "0.0.0.0:0"),
            {"GATEWAY_TRUSTED_PROXIES": "10.1.0.7"},
            "Listening on 0.0.0.0 lets others in, and no API key is set.",
        ),
        (("--http", "localhost"), {}, "--http takes HOST:PORT, such as 127.0.0.1:8765"),
        (("--http", "127.0.0.1:99999"), {}, "--http takes HOST:PORT"),
        (
            ("--http", "127.0.0.1:0", "--user", "ada"),
            {"GATEWAY_API_KEYS": "ada:0123456789abcdef"},
            "Leave --user out",
        ),
        (("--url", "http://127.0.0.1:8000", "--user", "ada"), {}, "With --url the key says who asks"),
        (("--user", "阿达"), {}, "--user takes an id"),
        (("--role", "a b"), {}, "--role takes an id"),
        ((), {"GATEWAY_MEMORY": "false"}, "GATEWAY_MEMORY is false: there is no memory to serve."),
    ],
)
def test_what_cannot_be_served_is_refused(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], settings: dict[str, Any], message: str
) -> None:
    """Before anything is opened, with what to do."""
    refused = command("mcp", *arguments, **settings)

    assert (refused.code, refused.out) == (2, "")
    assert message in " ".join(refused.err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []
