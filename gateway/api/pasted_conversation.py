"""Conversations in bodies: as messages, or as one text with the speakers at the beginnings of lines."""

import re
from typing import Annotated, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field

from gateway.http.json_types import Body, no_nul
from gateway.messages import Message, text_block

MAX_MESSAGES = 1000

_USERS = "user|human|me|用户|用戶|使用者|我"
_OTHERS = "assistant|ai|bot|model|system|tool|助手|助理|系统|系統|工具"
_SPEAKER = re.compile(
    rf"^[ \t]*[*_\[【]{{0,2}}(?:(?P<user>{_USERS})|{_OTHERS})[*_\]】]{{0,2}}[ \t]*[:：][*_]{{0,2}}[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
"""`User:`, `**Assistant:**`, `[user]:`, 用户：, …"""


class MessageBody(Body):
    role: Literal["user", "assistant"]
    content: Annotated[str, AfterValidator(no_nul)]

    @property
    def message(self) -> Message:
        return Message(self.role, [text_block(self.content)])


def read_text(given: object) -> object:
    """The messages of a text; a list stays as it is. A line that begins with a speaker and a colon begins a
    message. What stands before the first one is the assistant's, so that a heading is not taken for the
    user's words. A text without any speaker is the user's. Raises ValueError for anything else."""
    if isinstance(given, list):
        return cast("list[object]", given)
    if not isinstance(given, str):
        raise ValueError("must be a list of messages, or a text")
    if not given.strip():
        raise ValueError("must not be empty")
    speakers = list(_SPEAKER.finditer(given))
    if not speakers:
        return [{"role": "user", "content": given.strip()}]
    ends = [*(each.start() for each in speakers[1:]), len(given)]
    parts = [
        ("user" if each["user"] else "assistant", given[each.end() : end])
        for each, end in zip(speakers, ends, strict=True)
    ]
    parts.insert(0, ("assistant", given[: speakers[0].start()]))
    return [{"role": role, "content": text.strip()} for role, text in parts if text.strip()]


Messages = Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES)]
Conversation = Annotated[Messages, BeforeValidator(read_text, json_schema_input_type=Messages | str)]
