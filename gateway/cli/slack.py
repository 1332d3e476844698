"""`gateway slack`: the gateway's conversations in Slack, as a program beside it."""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import typer

from gateway.cli.options import LOCAL_URL, Key, Url


def slack(
    *,
    bot_token: Annotated[
        str,
        typer.Option(envvar="SLACK_BOT_TOKEN", help="Token of the app's bot, xoxb-….", show_default=False),
    ] = "",
    app_token: Annotated[
        str | None, typer.Option(envvar="SLACK_APP_TOKEN", help="Token of Socket Mode, xapp-….")
    ] = None,
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Take events there at /slack/events, not over Socket Mode."),
    ] = None,
    signing_secret: Annotated[
        str | None, typer.Option(envvar="SLACK_SIGNING_SECRET", help="With --http: the app's signing secret.")
    ] = None,
    journal: Annotated[
        Path, typer.Option(envvar="GATEWAY_SLACK_JOURNAL", help="File of what is under way.")
    ] = Path("data/slack.db"),
    rate: Annotated[
        float,
        typer.Option(
            envvar="GATEWAY_SLACK_RATE", min=0.01, help="How many times its published limits Slack allows."
        ),
    ] = 1.0,
    user: Annotated[
        list[str] | None,
        typer.Option(
            envvar="GATEWAY_SLACK_USERS",
            metavar="WHO=USER",
            help="The gateway's user of a Slack id or e-mail address; several.",
        ),
    ] = None,
    identity: Annotated[
        Literal["one", "email", "slack"] | None,
        typer.Option(
            envvar="GATEWAY_SLACK_IDENTITY",
            help="Who everybody else is: the key's owner, or users by e-mail address or Slack id. "
            "[default: email; one without a key]",
        ),
    ] = None,
    api: Annotated[str, typer.Option(envvar="GATEWAY_SLACK_API", hidden=True)] = "https://slack.com/api/",
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Answer in Slack through a running gateway.

    One thread is one session. The tokens are best given in the environment.
    """
    from importlib.util import find_spec

    from gateway.errors import GatewayError, SettingsError
    from gateway.telemetry.lines.logs import configure_logging

    if find_spec("slack_bolt") is None:
        raise GatewayError("slack-bolt is not installed: pip install 'slack-bolt>=1.30,<2'")
    if not bot_token:
        raise SettingsError("SLACK_BOT_TOKEN is not set: the token of the app's bot, xoxb-….")
    if (http is None) == (app_token is None):
        raise SettingsError("Give SLACK_APP_TOKEN (Socket Mode), or --http with SLACK_SIGNING_SECRET.")
    if http is not None and not signing_secret:
        raise SettingsError("With --http SLACK_SIGNING_SECRET is needed: it says what comes from Slack.")
    users: dict[str, str] = {}
    for each in user or ():
        who, _, name = each.partition("=")
        users[who] = name
    if not all(users.values()):
        raise SettingsError(
            "GATEWAY_SLACK_USERS is U024BE7LH=anna ben@example.org=ben: WHO=USER with spaces."
        )
    configure_logging("info", "auto")
    from gateway.adapters.slack.slack_program import SlackProgram, run

    program = SlackProgram(
        bot_token=bot_token,
        app_token=app_token,
        http=http,
        signing_secret=signing_secret,
        journal=journal,
        rate=rate,
        api=api,
        url=url,
        key=key,
        users=users,
        identity=identity or ("email" if key else "one"),
    )
    asyncio.run(run(program))
