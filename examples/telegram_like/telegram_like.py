"""An interface like Telegram's bots, over the gateway's contract for messengers: long polling, messages that
are edited, buttons. `GATEWAY_URL=… BOT_API=https://api.telegram.org/bot<token> python telegram_like.py`."""

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx2

from gateway.adapters.messengers.base import (
    Account,
    AnswerText,
    Draw,
    Drawn,
    Keep,
    MessageGone,
    MessageRejected,
    Messenger,
    MessengerBusy,
    Note,
    Place,
    Question,
    Received,
    Thread,
)
from gateway.adapters.messengers.bridge import Bridge
from gateway.adapters.messengers.journal import Journal


class TelegramLike(Messenger):
    """Each chat is one thread. What is not here, as files, the contract has a default for."""

    name = "telegram"
    message_size = 3500

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def receive(self, keep: Keep) -> None:
        offset = 0
        while True:
            try:
                updates = await self._call("getUpdates", offset=offset, timeout=50)
            except MessengerBusy:
                await asyncio.sleep(1)
                continue
            for update in updates:  # the next offset is what tells that these were kept
                if (received := _received(update)) is not None:
                    keep(received)
                offset = update["update_id"] + 1

    async def post(self, thread: Thread, key: str, draw: Draw) -> str:
        return str((await self._call("sendMessage", **_shown(thread, draw())))["message_id"])

    async def edit(self, thread: Thread, message: str, key: str, draw: Draw) -> None:
        await asyncio.sleep(0 if draw().is_final else 1)  # one chat takes about a message a second
        await self._call("editMessageText", message_id=int(message), **_shown(thread, draw()))

    async def delete(self, thread: Thread, message: str) -> None:
        await self._call("deleteMessage", chat_id=thread.place.channel, message_id=int(message))

    async def notify(self, place: Place, person: str, text: str) -> None:
        await self._call("sendMessage", chat_id=place.channel, text=text)

    async def _call(self, method: str, **given: Any) -> Any:
        try:
            told = (await self._http.post(method, json=given)).json()
        except (httpx2.TransportError, ValueError) as error:
            raise MessengerBusy(f"{method}: {error}") from None
        if told["ok"] or "not modified" in told["description"]:
            return told.get("result")
        if told["error_code"] in {429, 500, 502}:
            raise MessengerBusy(told["description"])
        is_gone = told["error_code"] == 403 or "not found" in told["description"]
        raise (MessageGone if is_gone else MessageRejected)(told["description"])


def _received(update: dict[str, Any]) -> Received | None:
    query = update.get("callback_query") or {}
    said = query.get("message") or update.get("message") or {}
    text, person = said.get("text"), query.get("from") or said.get("from") or {}
    if not text or person.get("is_bot"):
        return None
    by = (f"telegram-{update['update_id']}", str(said["chat"]["id"]), "", str(person["id"]))
    if not query:
        return Received(*by, text=text)
    act, _, end = query["data"].partition(" ")
    about = text.rpartition("\n")[2]
    return Received(*by, act, about=about) if about.endswith(end) else None  # else it asks something else now


def _shown(thread: Thread, drawn: Drawn) -> dict[str, Any]:
    lines: list[str] = []
    question: Question | None = None
    for item in drawn.items:
        match item:
            case AnswerText(text):
                lines.append(text)
            case Note(text):
                lines.append(f"· {text}")
            case Question(_, tool, arguments, reason):
                lines.append(f"May {tool} run? {reason}\n{arguments}")
                question = item
    shown = {"chat_id": thread.place.channel, "text": "\n\n".join(lines) or "…"}
    if question is None:
        return shown
    # 64 bytes fit in a button: the last line says what it decides, and the button how that ends.
    data = {act: f"{act} {question.name[-14:]}" for act in ("approve", "deny")}
    buttons = [{"text": act, "callback_data": each} for act, each in data.items()]
    shown["text"] += f"\n\n{question.name}"
    return {**shown, "reply_markup": {"inline_keyboard": [buttons]}}


async def main() -> None:
    async def identify(person: str) -> Account:  # with a delegate key: each is a user of their own
        key = os.environ.get("GATEWAY_KEY")
        return Account(key, f"telegram-{person}" if key else None)

    journal = Journal(Path(os.environ.get("JOURNAL", "telegram.db")))
    async with httpx2.AsyncClient(base_url=f"{os.environ['BOT_API']}/", timeout=60) as http:
        await Bridge(TelegramLike(http), journal, identify, os.environ["GATEWAY_URL"]).run()


if __name__ == "__main__":
    asyncio.run(main())
