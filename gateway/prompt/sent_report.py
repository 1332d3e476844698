"""What the model was sent in a turn, as far as that is known afterwards: shapes of the answer."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from gateway.messages import Role
from gateway.prompt.prompt_report import PartReport
from gateway.prompt.system_prompt import AnyLayer, Section


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SentPart(PartReport):
    """A part of the system prompt as it is now, beside what was sent."""

    layer: AnyLayer
    same: bool | None = Field(
        None, description="Whether it is the one that was sent; absent: nobody can tell."
    )
    text: str | None = Field(None, description="As it was sent; absent where `same` is not true.")

    @classmethod
    def beside(cls, section: Section, same: bool | None) -> Self:
        own = PartReport.of(section).model_dump()
        return cls(**own, layer=section.layer, same=same, text=section.text if same else None)


class SentTool(_Shape):
    name: str
    tokens: int = Field(description="Estimated size of its description and schema.")


class SentBlock(_Shape):
    """A block of a message: its type, its size, and the beginning of its text."""

    type: str
    tokens: int
    name: str | None = Field(None, description="Of the tool that is called.")
    text: str = ""


class SentMessage(_Shape):
    role: Role
    tokens: int
    blocks: list[SentBlock]


class SentPrompt(_Shape):
    """Sizes are estimated tokens; what the endpoint counted is in the turn's `iteration_end` events."""

    session_id: str
    turn_id: str
    model: str
    window: int = Field(description="Tokens that the model can read at once.")
    compress_at: int | None = Field(
        None, description="From so many on the history is compressed; absent: never."
    )
    prefix_hash: str | None = Field(
        None, description="Of its last model call; absent: the model was not asked."
    )
    exact: bool = Field(description="All before the messages is the same now, byte for byte.")
    parts: list[SentPart]
    gone: dict[str, str] = Field(description="Components that are not there any more, with their digests.")
    tools: list[SentTool] = Field(description="Those that would be offered now; as sent where `exact`.")
    summary_tokens: int = Field(description="Of the summary in the place of compressed messages.")
    earlier_messages: int
    earlier_tokens: int
    messages: list[SentMessage] | None = Field(
        None, description="Of the turn itself, as far as they were sent; absent once they are compressed."
    )
