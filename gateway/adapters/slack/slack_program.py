"""The program of `gateway slack`: its parts, from the first question to Slack until it is stopped."""

import asyncio
import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from gateway.adapters.messengers.base import Keep, MessengerBusy
from gateway.adapters.messengers.bridge import Bridge
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.slack.slack_accounts import Identity, SlackAccounts, read_users
from gateway.adapters.slack.slack_call_rates import SlackLimits
from gateway.adapters.slack.slack_events import Bot
from gateway.adapters.slack.slack_messenger import SlackMessenger
from gateway.adapters.slack.slack_receivers import bolt_app, over_socket, serve
from gateway.adapters.slack.slack_web_api import SlackWebApi, failure
from gateway.adapters.slack.slash_commands import SlackCommands

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackProgram:
    """What the command is given: see its options."""

    bot_token: str
    app_token: str | None
    http: str | None
    signing_secret: str | None
    journal: Path
    rate: float
    api: str
    url: str
    key: str | None
    users: Mapping[str, str]
    identity: Identity


async def run(program: SlackProgram) -> None:
    """Until SIGTERM or Ctrl-C. Raises GatewayError: Slack or the gateway refuses."""
    running = asyncio.create_task(connect(program))
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, running.cancel)
    with suppress(asyncio.CancelledError):
        await running


async def connect(program: SlackProgram) -> None:
    """Until it is cancelled. Raises as `run`."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30), trust_env=True)
        )
        # Without its own repetitions: nobody would know whether a message was posted twice.
        client = AsyncWebClient(
            token=program.bot_token, base_url=program.api, session=session, retry_handlers=[]
        )
        bot = await _who(client)
        journal = Journal(program.journal)
        stack.callback(journal.close)

        async def receive(keep: Keep) -> None:
            app = bolt_app(
                client,
                bot,
                keep,
                is_ours=journal.is_of,
                answer=commands.answer,
                signing_secret=program.signing_secret,
            )
            if program.http is not None:
                await serve(app, program.http, program.signing_secret or "")
            else:
                assert program.app_token is not None
                await over_socket(app, program.app_token)

        api = SlackWebApi(client, SlackLimits(program.rate))
        messenger = SlackMessenger(api, bot, receive)
        accounts = SlackAccounts(
            journal,
            program.key,
            read_users(program.users),
            program.identity,
            lambda person: api.email_of(person, bot.team),
        )
        bridge = Bridge(messenger, journal, accounts.identify, program.url)
        commands = SlackCommands(bridge, journal, session, api.open_view)
        await bridge.run()


async def _who(client: AsyncWebClient) -> Bot:
    """Asks Slack who the token is. Raises MessengerRefused, MessengerBusy."""
    try:
        known = await client.auth_test()
    except SlackApiError as error:
        raise failure("auth.test", error) from None
    except (aiohttp.ClientError, OSError) as error:
        raise MessengerBusy(f"Slack cannot be reached: {error}.") from None
    bot = Bot(str(known["user_id"]), str(known["team_id"]))
    log.info("slack_connected", team=str(known.get("team")), bot=bot.user)
    return bot
