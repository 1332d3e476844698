"""What the command says before and instead of doing something."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main

from gateway import __version__
from gateway.cli.command_examples import EXAMPLES
from gateway.cli.command_tree import SECTIONS, command_tree
from gateway.client import GatewayClient
from tests.cli.calling import Command
from tests.running import Running, clean_environment, run
from tests.running import command as command_line

COMMANDS = (
    *("dev", "serve", "chat", "replay", "export", "import", "config", "migrate", "doctor", "mcp"),
    *("skills", "tools", "memory", "documents", "sessions", "approvals", "completion"),
)
GROUPS = (
    *("skills", "tools", "memory", "documents", "sessions", "approvals"),
    *("schedules", "webhooks", "keys", "projects", "users", "holds", "retention"),
    *("provider-keys", "secrets", "prompts"),
)
INNER_COMMANDS = (
    ("skills", "list"),
    ("skills", "check"),
    ("skills", "new"),
    ("tools", "run"),
    ("prompts", "restore"),
    ("memory", "list"),
    ("sessions", "list"),
    ("approvals", "approve"),
)
SERVER = {
    *("aiohttp", "alembic", "anthropic", "mcp", "opentelemetry.sdk", "starlette", "uvicorn"),
    *("gateway.api", "gateway.app", "gateway.service", "gateway.turn", "gateway.memory.recall"),
}
HEAVY = {"alembic", "anthropic", "httpx2", "pydantic", "rich", "sqlalchemy", "starlette", "uvicorn"}


ASKED_FOR_HELP = """
import sys
from gateway.cli import main
for arguments in {asked}:
    sys.argv = ["gateway", *arguments, "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
"""


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    """Help is quick since it imports neither an SDK nor the server, for the whole and for each command."""
    asked = [(), *((name,) for name in COMMANDS), *INNER_COMMANDS]
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", ASKED_FOR_HELP.format(asked=asked)],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in shown.stderr.splitlines()}
    told = re.findall(r"^Usage: (gateway(?: [a-z-]+)*)", shown.stdout, re.MULTILINE)
    assert told == [" ".join(("gateway", *arguments)) for arguments in asked]
    assert "typer" in loaded
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (("config",), {*SERVER, "sqlalchemy", "httpx2", "gateway.memory"}),
        (("memory", "list"), {*SERVER, "gateway.memory.editor", "gateway.memory.search.searcher"}),
        (
            ("skills", "list"),
            {*SERVER, "sqlalchemy", "gateway.memory.editor", "gateway.memory.extraction", "genai_prices"},
        ),
        (("sessions", "list"), {*SERVER, "sqlalchemy", "gateway.memory", "gateway.settings"}),
        (("chat", "hi"), {*SERVER, "sqlalchemy", "gateway.settings", "prompt_toolkit", "markdown_it"}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_command_loads_what_it_needs_alone(
    arguments: tuple[str, ...], unwanted: set[str], tmp_path: Path, running: Running, command: Command
) -> None:
    """What somebody looks up is there at once: nothing of the server is imported for it."""
    if arguments[0] == "memory":
        command("memory", "save", "I like tea.")
    python, *gateway = command_line(*arguments)
    shown = subprocess.run(
        [python, "-X", "importtime", *gateway],
        cwd=tmp_path,
        env=clean_environment(GATEWAY_URL=running.url),
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = {line.rpartition("|")[2].strip() for line in shown.stderr.splitlines()}
    assert loaded & unwanted == set()


def test_help_names_every_command(command: Command) -> None:
    """`gateway --help` lists the commands, and `--version` the version."""
    shown = command("--help")

    assert [name for name in COMMANDS if f"\n  {name} " not in shown.out] == []
    assert "..." not in shown.out.partition("Run:")[2].partition("Examples:")[0]
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(typer.main.get_group(command_tree()).commands)
    assert command("-h").out == shown.out
    assert (command().out, command().code) == (shown.out, 0)
    assert command("--version").out == f"gateway {__version__}\n"


def test_every_command_has_examples_that_it_takes() -> None:
    """Each begins with the command itself, and every option in it is one of the command's."""
    commands = dict(_commands(typer.main.get_group(command_tree())))

    assert commands.keys() - {*GROUPS} == EXAMPLES.keys() - {"gateway"}
    for path, each in commands.items():
        options = {name for parameter in each.params for name in parameter.opts}
        for example in EXAMPLES.get(path, ()):
            assert f"gateway {path}" in example
            given = re.findall(
                r" (--?[a-z][a-z-]*)", example.partition(f"gateway {path}")[2].partition("|")[0]
            )
            assert [name for name in given if name not in options] == [], example


def _commands(group: typer.core.TyperGroup, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in group.commands.items():
        inner = f"{path} {name}".strip()
        yield inner, each
        if isinstance(each, typer.core.TyperGroup):
            yield from _commands(each, inner)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["chta"], "'chat'"), (["sessions", "lst"], "'list'"), (["chat", "--ulr", "x"], "--url")],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_meant(
    command: Command, arguments: list[str], meant: str
) -> None:
    """Of commands and of options."""
    refused = command(*arguments)

    assert refused.code == 2
    assert meant in refused.err


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("gateway sess", ["sessions"]),
        ("gateway sessions re", ["rename"]),
        ("gateway chat --ur", ["--url"]),
        ("gateway export --format ", ["jsonl", "markdown", "html"]),
    ],
)
def test_bash_completes_commands_options_and_choices(tmp_path: Path, words: str, offered: list[str]) -> None:
    """What Tab offers, as bash asks for it with the script that `gateway completion bash` prints."""
    script = run(tmp_path, "completion", "bash").stdout
    last = len(words.split(" ")) - 1
    asked = run(tmp_path, _GATEWAY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(last))

    assert "_GATEWAY_COMPLETE=complete_bash" in script
    assert asked.stdout.split() == offered


def test_session_ids_are_completed(tmp_path: Path, running: Running) -> None:
    """From the gateway that GATEWAY_URL names; nothing is said where none answers."""
    with GatewayClient(running.url) as client:
        session = client.create_session()["id"]
    asked = {"_GATEWAY_COMPLETE": "complete_bash", "COMP_WORDS": f"gateway replay {session[:20]}"}
    found = run(tmp_path, COMP_CWORD="2", GATEWAY_URL=running.url, **asked)
    nothing = run(tmp_path, COMP_CWORD="2", GATEWAY_URL="http://127.0.0.1:1", **asked)

    assert found.stdout.split() == [session]
    assert (nothing.stdout.strip(), nothing.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script_too(command: Command, shell: str) -> None:
    """It asks the command itself."""
    assert f"_GATEWAY_COMPLETE=complete_{shell}" in command("completion", shell).out


def test_a_reader_who_leaves_ends_the_command_quietly(tmp_path: Path, program: str) -> None:
    """No traceback, and the exit code of SIGPIPE, as other programs have it."""
    with subprocess.Popen(
        [program, "config"],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, b"")


def test_a_busy_port_gets_one_clear_line(command: Command) -> None:
    """A port that is in use is told in one line with a way out, and exit code 1; under `make run` the way is
    its ARGS."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = command("dev", "--port", str(port))
        made = command("dev", "--port", str(port), MAKE_TARGET="run")

    assert (refused.code, made.code) == (1, 1)
    assert f'Choose another with ARGS="--port {port + 1}", or stop' in made.err
    assert refused.err == (
        f"gateway: Port {port} is in use. Choose another with --port {port + 1}, "
        "or stop what listens there.\n"
    )


def test_an_address_of_another_machine_gets_one_clear_line(command: Command) -> None:
    """A host that cannot be listened on is told in one line."""
    refused = command("dev", "--host", "192.0.2.1", GATEWAY_API_KEYS="ada:0123456789abcdef")

    assert refused.code == 1
    assert (
        refused.err == "gateway: 192.0.2.1 is not an address of this machine. Choose another with --host.\n"
    )


def test_serve_refuses_to_start_without_a_model(command: Command) -> None:
    """Production needs a model, and the message says what to set."""
    refused = command("serve", "--port", "0")

    assert refused.code == 2
    assert refused.err.startswith("gateway: No model is configured. Set ANTHROPIC_API_KEY")
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("name", ["dev", "serve"])
def test_an_open_address_needs_keys(command: Command, name: str) -> None:
    """Neither server listens where others can reach it without API keys."""
    refused = command(name, "--host", "0.0.0.0", "--port", "0", ANTHROPIC_API_KEY="sk-test")

    assert refused.code == 2
    assert "Listening on 0.0.0.0 lets others in" in refused.err
    assert "GATEWAY_API_KEYS" in refused.err


def test_a_wrong_setting_is_named(command: Command) -> None:
    """A value of the wrong type is told with the variable that holds it, without a stack trace."""
    refused = command("dev", GATEWAY_MAX_TOKENS="many")

    assert refused.code == 2
    assert "GATEWAY_MAX_TOKENS" in refused.err
    assert "Traceback" not in refused.err


def test_chat_without_a_gateway_says_so(command: Command) -> None:
    """When nothing answers at the address, one line says so and how to start it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    refused = command("chat", "hello", "--url", url)

    assert refused.code == 1
    hint = "Start `gateway dev`, or set GATEWAY_URL."
    assert refused.err == f"gateway: Nothing answers at {url}. {hint}\n"
