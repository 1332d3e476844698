"""Slack's Web API, as often as it may be called, and what its errors mean."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from gateway.adapters.messengers.base import (
    MessageGone,
    MessageRejected,
    MessengerBusy,
    MessengerRefused,
    Place,
    RemoteFile,
)
from gateway.adapters.slack.slack_call_rates import ALWAYS, SlackLimits, Urgent
from gateway.errors import GatewayError, RequestRefused

MAX_FILE = 20_971_520
"""Bytes of a file that a person sends."""
MAX_SEARCHED = 11
"""Pages of a thread, of 200 messages each, that are looked through."""
CALL_TIMEOUT = 30.0
_REVOKED = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "not_authed",
        "token_expired",
        "token_revoked",
        "team_access_not_granted",
    }
)
_MISSING = frozenset({"missing_scope", "not_allowed_token_type", "no_permission"})
_PASSING = frozenset(
    {
        "fatal_error",
        "internal_error",
        "ratelimited",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
    }
)
_GONE = frozenset(
    {
        "cant_delete_message",
        "cant_update_message",
        "channel_not_found",
        "is_archived",
        "message_not_found",
        "not_in_channel",
        "thread_not_found",
    }
)
_NO_STREAMS = frozenset({"feature_not_enabled", "method_deprecated", "unknown_method"})

READING = frozenset({"conversations.history", "conversations.replies", "users.info"})

log = structlog.get_logger(__name__)


class SlackWebApi:
    """One bot's. All calls may raise MessengerBusy, MessageGone, MessageRejected and MessengerRefused."""

    def __init__(self, client: AsyncWebClient, limits: SlackLimits) -> None:
        self.limits = limits
        self._client = client

    async def call(
        self, method: str, place: Place, arguments: Callable[[], dict[str, Any]], *, urgent: Urgent = ALWAYS
    ) -> Mapping[str, Any]:
        """One call, when the limits have room for it; once more when Slack says that it came too soon."""
        while True:
            await self.limits.take(method, place.channel, urgent)
            given = arguments()
            try:
                async with asyncio.timeout(CALL_TIMEOUT):
                    if method in READING:  # these take no JSON
                        response = await self._client.api_call(method, http_verb="GET", params=given)
                    else:
                        response = await self._client.api_call(method, json=given)
            except SlackApiError as error:
                if (wait := too_soon(error)) is None:
                    raise failure(method, error) from None
                log.warning("slack_rate_limited", method=method, again_in=wait)
                self.limits.rest(method, wait)
            except (aiohttp.ClientError, OSError) as error:
                raise MessengerBusy(f"{method}: {error or type(error).__name__}.") from None
            else:
                return response.data if isinstance(response.data, dict) else {}

    async def messages(
        self, place: Place, oldest: float, *, latest: str = ""
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """The messages of a place, in their order; of a very long one not all."""
        method = "conversations.replies" if place.thread else "conversations.history"
        arguments: dict[str, Any] = {
            "channel": place.channel,
            "oldest": f"{oldest:.6f}",
            "limit": 200,
            "include_all_metadata": True,
        }
        if place.thread:
            arguments["ts"] = place.thread
        if latest:
            arguments["latest"] = latest
        for _ in range(MAX_SEARCHED):
            page = await self.call(method, place, lambda: arguments)
            for message in page.get("messages") or ():
                yield message
            cursor = (page.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
            arguments["cursor"] = cursor

    async def email_of(self, person: str, team: str) -> str:
        """The person's e-mail address; "" where Slack does not tell it. Raises errors.RequestRefused: they
        are of another workspace than `team`, which says of them what it likes
        (https://docs.slack.dev/reference/objects/user-object)."""
        known = await self.call("users.info", Place(""), lambda: {"user": person})
        user = known.get("user") or {}
        teams = {user.get("team_id"), *((user.get("enterprise_user") or {}).get("teams") or ())}
        if user.get("is_stranger") or team not in teams:
            raise RequestRefused(
                "You are of another workspace: link an account of this gateway with /gateway link."
            )
        return str((user.get("profile") or {}).get("email") or "")

    async def fetch(self, file: RemoteFile) -> bytes:
        """With the bot's token, which no other host is to see."""
        if not self._is_slacks(file.source):
            raise MessageGone(f"{file.name} is not at Slack.")
        headers = {"authorization": f"Bearer {self._client.token}"}
        try:
            assert self._client.session is not None
            async with self._client.session.get(
                file.source, headers=headers, allow_redirects=False
            ) as response:
                content = bytearray()
                async for piece in response.content.iter_any():
                    content += piece
                    if len(content) > MAX_FILE:
                        raise MessageGone(f"{file.name} is too large: a file may have {MAX_FILE} bytes.")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise MessengerBusy(f"{file.name}: {error or type(error).__name__}.") from None
        if response.status >= 500 or response.status == 429:
            raise MessengerBusy(f"Slack answers {response.status} for {file.name}.")
        is_page = response.content_type == "text/html" and file.mime != "text/html"
        if response.status != 200 or is_page or not content:
            raise MessageGone(
                f"Slack does not give the file {file.name}. The app needs the scope files:read."
            )
        if file.size and len(content) != file.size:
            raise MessageGone(
                f"{file.name} came with {len(content)} of its {file.size} bytes. Send it once more."
            )
        return bytes(content)

    async def upload(self, place: Place, name: str, title: str, content: bytes) -> str:
        """Posts a file under a title; returns its id."""
        about = {"filename": name, "length": len(content)}
        given = await self.call("files.getUploadURLExternal", place, lambda: about)
        if not self._is_slacks(str(given["upload_url"])):
            raise MessageGone("Slack names another host for the file.")
        try:
            assert self._client.session is not None
            async with self._client.session.post(str(given["upload_url"]), data=content) as response:
                if response.status != 200:
                    raise MessengerBusy(f"Slack answers {response.status} to a file.")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise MessengerBusy(f"{name}: {error or type(error).__name__}.") from None
        complete = {
            "files": [{"id": given["file_id"], "title": title}],
            "channel_id": place.channel,
            **({"thread_ts": place.thread} if place.thread else {}),
        }
        await self.call("files.completeUploadExternal", place, lambda: complete)
        return str(given["file_id"])

    async def open_view(self, trigger: str, view: Mapping[str, Any]) -> None:
        """Shows a window to who pressed something a moment ago."""
        await self.call("views.open", Place(""), lambda: {"trigger_id": trigger, "view": view})

    def _is_slacks(self, url: str) -> bool:
        """Whether the token may go there: to Slack's hosts, and to that of the API itself."""
        parts, api = urlsplit(url), urlsplit(self._client.base_url)
        if parts.netloc == api.netloc:
            return parts.scheme == api.scheme
        return parts.scheme == "https" and f".{parts.hostname}".endswith(".slack.com")


def too_soon(error: SlackApiError) -> float | None:
    """Seconds after which a call may be repeated that came too soon; None: it did not."""
    response: Any = error.response
    if getattr(response, "status_code", 0) != 429 and response.get("error") != "ratelimited":
        return None
    try:
        return float(response.headers.get("Retry-After") or 1)
    except (TypeError, ValueError):
        return 1.0


def failure(method: str, error: SlackApiError) -> GatewayError:
    """What a call that failed means."""
    response: Any = error.response
    code = str(response.get("error") or "") if hasattr(response, "get") else ""
    refusal = f"{method}: {code or error}"
    if code in _REVOKED:
        return MessengerRefused(
            f"Slack refuses the bot's token ({refusal}). Install the app again, or renew it."
        )
    if code in _MISSING:
        return MessengerRefused(
            f"Slack refuses {refusal}: the app lacks a scope. docs/slack.md has its manifest."
        )
    if code in _PASSING or not code or getattr(response, "status_code", 0) >= 500:
        return MessengerBusy(f"Slack fails: {refusal}.")
    if code == "streaming_state_conflict":
        return StillStreams(refusal)
    if method in {"chat.startStream", "chat.appendStream"} or code == "message_not_in_streaming_state":
        return (StreamsUnavailable if code in _NO_STREAMS else Unsupported)(refusal)
    return (MessageGone if code in _GONE else MessageRejected)(f"Slack refuses the message: {refusal}.")


class Unsupported(GatewayError):
    """There is no stream there."""


class StreamsUnavailable(Unsupported):
    """The workspace has no streams."""


class StillStreams(GatewayError):
    """The message is a stream, and cannot be edited before that ends."""
