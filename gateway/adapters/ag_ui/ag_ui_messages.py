"""The messages of a thread as a client of AG-UI has them. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gateway.adapters.foreign_ids import turn_of
from gateway.adapters.turn_parts import TurnBegan

Event = dict[str, Any]
Message = Mapping[str, Any]

RESULT = "-result"
"""Behind the name of a call: the message with its result, where the gateway gave it."""
USER = "-user"
"""Behind the id of a turn: the message that began it, where it came without an id."""
_MEDIA = {"image", "audio", "video"}


class ClientMessages:
    """The messages that the client sent, changed as the events it is sent change them."""

    def __init__(self, sent: Sequence[Message]) -> None:
        self._sent = sent
        self._all: dict[str, Message] = {message["id"]: message for message in sent}
        self._added = set[str]()
        self._dropped: str | None = None

    def all(self) -> Sequence[Message]:
        """For a MESSAGES_SNAPSHOT. Clients keep reasoning that is not among these, unless other reasoning is:
        so a message that was dropped stays, without its text, where there is no other."""
        messages = [*self._all.values()]
        if self._dropped and not any(message["role"] == "reasoning" for message in messages):
            messages.append({"id": self._dropped, "role": "reasoning", "content": ""})
        return messages

    def add(self, message: Message) -> None:
        self._added.add(message["id"])
        self._all[message["id"]] = message

    def add_call(self, name: str, call: Event) -> None:
        """To the assistant's message of that name."""
        new: Message = {"id": name, "role": "assistant"}
        message = self._all[name] if name in self._added else new
        calls: Sequence[Event] = message.get("toolCalls", ())
        others = [each for each in calls if each["id"] != call["id"]]
        self.add({**message, "toolCalls": [*others, call]})

    def drop(self, names: Collection[str]) -> None:
        for name in names:
            message = self._all.pop(name, None)
            if message is not None and message["role"] == "reasoning":
                self._dropped = self._dropped or name

    def drop_stale(self, turn_id: str | None) -> bool:
        """Takes out what the client sent of a turn and was not sent itself by now, or (None) all that it
        sent; whether there was any."""
        stale = [
            message["id"]
            for message in self._sent
            if turn_id is None
            or (
                turn_of(message["id"]) == turn_id
                and message["role"] != "user"
                and message["id"] not in self._added
            )
        ]
        self.drop(stale)
        return bool(stale)


def user_message(began: TurnBegan) -> Message:
    """The message that began a turn. Its files are artifacts, which the page may load."""
    text, files = began.data["input"], began.data.get("attachments", ())
    words = [{"type": "text", "text": text}] if text else []
    content = [*map(_file, files), *words] if files else text
    return {
        "id": began.data.get("client_message_id", began.turn_id + USER),
        "role": "user",
        "content": content,
    }


def _file(attached: Mapping[str, Any]) -> Event:
    kind: str = attached["mime"].partition("/")[0]
    source = {"type": "url", "value": f"/api/artifacts/{attached['ref']}", "mimeType": attached["mime"]}
    named = {"filename": attached["name"]}
    return {"type": kind if kind in _MEDIA else "document", "source": source, "metadata": named}
