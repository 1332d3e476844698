"""What Slack sends, as what a messenger receives. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gateway.adapters.messengers.base import Act, Place, Received, RemoteFile
from gateway.adapters.slack.slack_blocks import APPROVE, DENY, STOP
from gateway.adapters.slack.slack_mrkdwn import plain

Body = Mapping[str, Any]
SAID = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes of messages in which a person says something."""
STOPS = frozenset({"stop", "停止", "停", "取消"})
"""A message that is no more than that stops the answer."""
_REACTIONS: Mapping[str, Act] = {
    "+1": "up",
    "thumbsup": "up",
    "-1": "down",
    "thumbsdown": "down",
    "octagonal_sign": "stop",
    "black_square_for_stop": "stop",
}
_ACTIONS: Mapping[str, Act] = {APPROVE: "approve", DENY: "deny", STOP: "stop"}


IsOurs = Callable[[Place, str], bool]
"""Whether there is a thread that this person began, or a question of theirs that will begin it."""


class Bot(NamedTuple):
    """Who the program is in its workspace."""

    user: str
    team: str


def message_id(channel: str, ts: str) -> str:
    """The id of the message there, which is the turn's client_message_id."""
    return f"slack-{channel}-{ts.replace('.', '_')}"


def received(body: Body, bot: Bot, is_ours: IsOurs) -> Iterator[Received]:
    """What a request of Slack's asks for. Messages in channels count where they mention the bot, or are the
    words of who began that thread with it and mention nobody else; those of bots, also its own, never do."""
    if body.get("type") == "block_actions":
        yield from _pressed(body)
        return
    event: Body = body.get("event") or {}
    match event.get("type"):
        case "app_mention" | "message" if event.get("subtype") in SAID:
            if (message := _message(event, bot, is_ours)) is not None:
                yield message
        case "message" if event.get("subtype") == "message_deleted":
            yield from _deleted(event, is_ours)
        case "reaction_added" | "reaction_removed" as kind:
            yield from _reacted(event, kind, str(body.get("event_id", "")), bot)
        case _:
            pass


def _message(event: Body, bot: Bot, is_ours: IsOurs) -> Received | None:
    person, channel, ts = event.get("user"), event.get("channel"), event.get("ts")
    if not person or not channel or not ts or person == bot.user or event.get("bot_id"):
        return None
    place = place_of(event)
    text = str(event.get("text") or "")
    is_mentioned = event["type"] == "app_mention" or f"<@{bot.user}>" in text
    is_direct = event.get("channel_type") == "im"
    if not (is_mentioned or is_direct or (is_ours(place, person) and "<@" not in text)):
        return None
    question = plain(text, bot.user)
    files = [
        RemoteFile(
            str(each.get("url_private_download") or each.get("url_private") or ""),
            str(each.get("name") or "file"),
            str(each.get("mimetype") or ""),
            int(each.get("size") or 0),
        )
        for each in event.get("files") or ()
    ]
    if not question and not files:
        return None
    act: Act = "stop" if question.casefold().rstrip("!.。！") in STOPS and is_ours(place, person) else "say"
    return Received(message_id(channel, ts), *place, person, act, question, files=files)


def place_of(event: Body) -> Place:
    """The thread of a message. In a direct message what stands in no thread is one conversation; in a channel
    it begins a thread."""
    thread = event.get("thread_ts") or ("" if event.get("channel_type") == "im" else event["ts"])
    return Place(str(event["channel"]), str(thread))


def _deleted(event: Body, is_ours: IsOurs) -> Iterator[Received]:
    """Who deletes a question does not want its answer."""
    former: Body = event.get("previous_message") or {}
    channel, ts = event.get("channel"), event.get("deleted_ts")
    if not channel or not ts or not former.get("user") or former.get("bot_id"):
        return
    place = place_of({**former, "channel": channel, "ts": ts, "channel_type": event.get("channel_type")})
    if is_ours(place, str(former["user"])):
        about = message_id(channel, ts)
        yield Received(f"deleted-{about}", *place, str(former["user"]), "stop", about=about)


def _reacted(event: Body, kind: str, event_id: str, bot: Bot) -> Iterator[Received]:
    item: Body = event.get("item") or {}
    act = _REACTIONS.get(str(event.get("reaction")).partition("::")[0])
    if act is None or item.get("type") != "message" or event.get("user") in {None, bot.user}:
        return
    if kind == "reaction_removed":
        if act == "stop":
            return
        act = "unrate"
    # The place is that of the message, which the journal knows.
    yield Received(event_id, str(item["channel"]), "", str(event["user"]), act, about=str(item["ts"]))


def _pressed(body: Body) -> Iterator[Received]:
    channel = str((body.get("channel") or {}).get("id", ""))
    message: Body = body.get("message") or {}
    thread = str(message.get("thread_ts") or (body.get("container") or {}).get("thread_ts") or "")
    for action in body.get("actions") or ():
        if (act := _ACTIONS.get(str(action.get("action_id")))) is not None and channel:
            pressed = f"pressed-{channel}-{action.get('action_ts')}-{body['user']['id']}"
            about = str(action.get("value")) if act != "stop" else str(message.get("ts", ""))
            yield Received(pressed, channel, thread, str(body["user"]["id"]), act, about=about)
