"""The workspace as a page in a browser, in which people write, and press what the bot shows them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiohttp import web
from slack_workspace import BOT, Message, Workspace, buttons, quiet_lines, shown

PAGE = Path(__file__).with_name("slack.html")
NAME = "@gateway"
"""What people write for the bot."""


def page_routes(workspace: Workspace) -> Sequence[web.RouteDef]:
    """`/`, and below `/channels` what it asks for."""

    async def page(_: web.Request) -> web.FileResponse:
        return web.FileResponse(PAGE)

    async def read(request: web.Request) -> web.Response:
        channel = request.match_info["channel"]
        told = [each for each in workspace.ephemeral if each["channel"] == channel]
        found = [*map(_seen, workspace.channels[channel])]
        return web.json_response({"messages": found, "told": told})

    async def say(request: web.Request) -> web.Response:
        given = await request.json()
        text = str(given["text"]).replace(NAME, f"<@{BOT}>")
        ts = await workspace.say(given["person"], request.match_info["channel"], text, given.get("thread"))
        return web.json_response({"ts": ts})

    async def press(request: web.Request) -> web.Response:
        given, channel = await request.json(), request.match_info["channel"]
        for message in workspace.answers(channel):
            for button in buttons(message):
                if (message["ts"], button["action_id"]) == (given["ts"], given["action_id"]):
                    await workspace.press(given["person"], channel, message, button)
                    return web.json_response({})
        raise web.HTTPNotFound

    return [
        web.get("/", page),
        web.get("/channels/{channel}", read),
        web.post("/channels/{channel}", say),
        web.post("/channels/{channel}/press", press),
    ]


def _seen(message: Message) -> dict[str, Any]:
    """A message as people see it."""
    is_bots = message["user"] == BOT
    text = shown(message) if is_bots else message["text"].replace(f"<@{BOT}>", NAME)
    return {
        "ts": message["ts"],
        "thread": message.get("thread_ts"),
        "user": message["user"],
        "text": text,
        "notes": quiet_lines(message) if is_bots else [],
        "buttons": [
            {"action_id": each["action_id"], "text": each["text"]["text"]} for each in buttons(message)
        ],
        "streaming": bool(message.get("streaming")),
    }
