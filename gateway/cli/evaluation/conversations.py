"""Conversations that are held with a model, and what is expected of its answers: a YAML file.

    conversations:
      - name: allergy
        memories: [Allergic to peanuts.]             # known before the first session
        sessions:
          - [Hello!, {message: "What must I not eat?", recalled: [peanut], answered: [[peanut, 花生]]}]

A session is a list of messages, or has them under `messages`, beside its `role` and `project`. A message is a
text, or has it under `message`, beside the expectations.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gateway.errors import SettingsError, plain_words
from gateway.ids import ID_PATTERN
from gateway.storage.memories import MemoryType

BUNDLED = Path(__file__).with_name("conversations.yaml")
MAX_SIZE = 1_048_576
"""Bytes of a file of conversations."""
MAX_MESSAGES = 1000
"""Messages of all conversations together: what is asked of an endpoint has an end."""

Language = Literal["english", "simplified", "traditional"]


def _under(name: str) -> BeforeValidator:
    """A value that is written without its only necessary field."""

    def with_name(value: Any) -> Any:
        return {name: value} if isinstance(value, str | list) else value

    return BeforeValidator(with_name)


def _several(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Text = Annotated[str, Field(min_length=1, max_length=20_000)]
Id = Annotated[str, Field(pattern=ID_PATTERN)]
Alternatives = Annotated[tuple[Text, ...], BeforeValidator(_several), Field(min_length=1)]
"""Words of which one is enough."""


class ScriptedMessage(_Part):
    """`recalled` are words of memories that the model must have been given in the session up to its answer,
    `answered` words of the answer, `not_said` words that must not be in it. `language` is the answer's."""

    message: Text
    recalled: Annotated[tuple[Alternatives, ...], BeforeValidator(_several)] = ()
    answered: Annotated[tuple[Alternatives, ...], BeforeValidator(_several)] = ()
    not_said: Annotated[tuple[Text, ...], BeforeValidator(_several)] = ()
    language: Language | None = None

    @property
    def checks(self) -> bool:
        return bool(self.recalled or self.answered or self.not_said or self.language)


class ScriptedSession(_Part):
    messages: tuple[Annotated[ScriptedMessage, _under("message")], ...] = Field(min_length=1)
    role: Id | None = None
    project: Id | None = None


class ScriptedMemory(_Part):
    content: Text
    type: MemoryType = "fact"


class ScriptedConversation(_Part):
    """Sessions of one user, who has no other, one after the other."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    sessions: tuple[Annotated[ScriptedSession, _under("messages")], ...] = Field(min_length=1)
    memories: tuple[Annotated[ScriptedMemory, _under("content")], ...] = ()

    @property
    def messages(self) -> list[ScriptedMessage]:
        return [message for session in self.sessions for message in session.messages]


class _File(_Part):
    conversations: tuple[ScriptedConversation, ...] = Field(min_length=1)


def load_conversations(path: Path) -> tuple[ScriptedConversation, ...]:
    """Every scalar is the text that was written: 08:30 is no number.

    Raises:
        SettingsError: the file cannot be read, is not such YAML or too large; the message says where.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SIZE + 1)
        if len(content) > MAX_SIZE:
            raise SettingsError(f"{path} is larger than {MAX_SIZE} bytes.")
        written = yaml.load(content.decode(), yaml.BaseLoader)  # noqa: S506 - it makes texts of everything
        found = _File.model_validate(written).conversations
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise SettingsError(
            f"{path}: {where}: {plain_words(first['type'], first['msg'], unknown='unknown name')}"
        ) from None
    if (count := sum(len(each.messages) for each in found)) > MAX_MESSAGES:
        raise SettingsError(f"{path} has {count} messages; {MAX_MESSAGES} are the most.")
    if len({each.name for each in found}) < len(found):
        raise SettingsError(f"{path} has two conversations of one name.")
    for each in found:
        if not any(message.checks for message in each.messages):
            raise SettingsError(
                f"{path}: the conversation {each.name} checks nothing: give one of its messages recalled, "
                "answered, not_said or language."
            )
    return found
