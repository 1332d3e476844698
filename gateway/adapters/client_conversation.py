"""A conversation as clients send it that keep it themselves, each time all of it. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import orjson

from gateway.adapters.answer_remarks import comparable, respaced, without_remarks
from gateway.adapters.session_lookup import AnsweredQuestion
from gateway.artifacts.attached_files import Upload
from gateway.artifacts.attachment_budget import MAX_FILES
from gateway.errors import InvalidRequest
from gateway.service.seeding import SeedMessage
from gateway.tools.base import File

_CHANGING = re.compile(
    r"\A\s*x-anthropic-billing-header:[^\n]*\b(?:cc_version|cch)=[^\n]*(?:\n\s*|\Z)", re.IGNORECASE
)

MAX_RESULTS = 1024
"""Results of the client's tools in one request: as many calls as one message of the model may ever have
(the setting max_tool_calls)."""


class ConversationDialect(NamedTuple):
    """`prefix` begins the ids of sessions that are derived from a client's, `field` of a body has the
    conversation, and `read_file` reads a part of a message that is a file (raises errors.InvalidRequest)."""

    prefix: str
    field: str
    read_file: Callable[[Mapping[str, Any]], str | Upload]


class ClientQuestion(NamedTuple):
    """A message of the user. `parts` are its files, as the client sent them."""

    text: str
    parts: Sequence[Mapping[str, Any]]
    dialect: ConversationDialect

    def files(self) -> list[str | Upload]:
        """Raises errors.InvalidRequest."""
        if len(self.parts) > MAX_FILES:
            raise InvalidRequest(
                f"A message may have {MAX_FILES} files.", details={"param": self.dialect.field}
            )
        try:
            return [*map(self.dialect.read_file, self.parts)]
        except InvalidRequest as error:
            refuse(self.dialect.field, error.message)

    def digest(self) -> str:
        """The same for what means the same."""
        texts = [respaced(self.text, " "), *(orjson.dumps(part).decode() for part in self.parts)]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()


class ClientExchange(NamedTuple):
    """A message of the user, and the answer that the client has; "": none."""

    question: ClientQuestion
    answer: str


class ClientToolResult(NamedTuple):
    """The result of a client's tool. `call_id` is the name of the call in full."""

    call_id: str
    text: str
    is_error: bool = False
    files: Sequence[File] = ()


class NewQuestion(NamedTuple):
    """A new question with its files, its digest, and the conversation before it."""

    text: str
    files: Sequence[str | Upload]
    digest: str
    before: Sequence[AnsweredQuestion]


class ClientConversation(NamedTuple):
    """All that a client sends: the conversation so far, and a new question, or results of its tools, or
    both."""

    dialect: ConversationDialect
    instructions: str
    before: Sequence[ClientExchange]
    question: ClientQuestion | None
    results: Sequence[ClientToolResult]

    def asked(self) -> NewQuestion | None:
        """None where there are results of tools alone. Raises errors.InvalidRequest."""
        if self.question is None:
            return None
        question, files = self.question, self.question.files()
        before = [AnsweredQuestion(each.question.digest(), comparable(each.answer)) for each in self.before]
        return NewQuestion(question.text, files, question.digest(), before)

    def seeds(self) -> Iterator[SeedMessage]:
        """The conversation so far, as the beginning of a session. Raises errors.InvalidRequest."""
        for question, answer in self.before:
            yield SeedMessage("user", question.text, question.files())
            if answer := without_remarks(answer).strip():
                yield SeedMessage("assistant", answer)


def lasting(instructions: Iterable[str]) -> list[str]:
    """The texts of a client's instructions without the line that Claude Code, and what is built on its SDK,
    puts before them (`x-anthropic-billing-header: cc_version=…; cch=…`): it is another one in each request,
    and each would begin a new prompt generation."""
    return [_CHANGING.sub("", text, count=1) for text in instructions]


def refuse(param: str, message: str) -> NoReturn:
    """Raises errors.InvalidRequest for what `param` of the body asks for."""
    raise InvalidRequest(message, code="unsupported_value", details={"param": param})
