"""`gateway slack` in tests: what it is given, and the program as a process of its own."""

from collections.abc import Generator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from examples.home.slack_workspace import APP_TOKEN, SECRET, TOKEN, Workspace
from gateway.adapters.slack.slack_program import SlackProgram
from tests.forked import forked
from tests.loopback import TIMEOUT
from tests.running import clean_environment, run_command


def program(workspace: Workspace, url: str, folder: Path, **given: Any) -> SlackProgram:
    """What the command would be given."""
    defaults: dict[str, Any] = {
        "bot_token": TOKEN,
        "app_token": APP_TOKEN,
        "http": None,
        "signing_secret": SECRET,
        "journal": folder / "slack.db",
        "rate": 1000.0,
        "api": f"{workspace.url}/api/",
        "url": url,
        "key": None,
        "users": {},
        "identity": "one",
    }
    return SlackProgram(**(defaults | given))


@contextmanager
def slack_command(given: SlackProgram, folder: Path) -> Generator[ForkServerProcess]:
    """`gateway slack` in a process of its own."""
    environment = clean_environment(
        SLACK_BOT_TOKEN=given.bot_token,
        SLACK_APP_TOKEN=given.app_token or "",
        GATEWAY_SLACK_API=given.api,
        GATEWAY_SLACK_RATE=str(given.rate),
        GATEWAY_SLACK_JOURNAL=str(given.journal),
        GATEWAY_URL=given.url,
        GATEWAY_SLACK_USERS=" ".join(f"{who}={user}" for who, user in given.users.items()),
        GATEWAY_SLACK_IDENTITY=given.identity,
        **({"GATEWAY_KEY": given.key} if given.key else {}),
    )
    output = folder / "slack.txt"
    output.touch()
    process = forked(run_command, folder, ["slack"], environment, output)
    try:
        yield process
    finally:
        process.kill()
        process.join(TIMEOUT)
