"""What a test tells the model to do: a script for messages in which some words stand.

    {"message": "dentist", "steps": [{"call": "calendar", "input": {"day": "Monday"}},
                                     {"save": "Their dentist sees them on Mondays.", "type": "event"},
                                     {"answer": "On Monday."}]}
    {"message": "dentist", "asked": "memories", "says": {"content": "Sees the dentist on Mondays."}}

Step k answers the k-th model call of a turn; a list in the place of a step is several calls at once. For what
is `asked` beside a turn, `says` is laid over what the model would say of itself, and a text is said as it is.
`wait` is in seconds, before the answer begins.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

MAX_SCRIPTS = 2000
"""The newest ones count."""

Asked = Literal["answer", "memories", "control", "summary", "artifact"]


class Step(BaseModel):
    """One thing the model does: a tool call, a memory that it saves, or what it says. `save` takes the memory
    tool's other arguments as further fields."""

    model_config = ConfigDict(frozen=True, extra="allow")

    call: str | None = None
    input: dict[str, Any] = Field(default_factory=dict[str, Any])
    save: str | None = None
    answer: str | None = None


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Steps = Annotated[list[Step], BeforeValidator(_several)]


class Script(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    message: Annotated[str, Field(min_length=1)]
    asked: Asked = "answer"
    steps: list[Steps] = Field(default_factory=list[Steps])
    says: dict[str, Any] | str | None = None
    wait: Annotated[float, Field(ge=0)] = 0


class Scripts:
    def __init__(self) -> None:
        self._all = deque[Script](maxlen=MAX_SCRIPTS)

    def add(self, script: Script) -> None:
        self._all.appendleft(script)

    def clear(self) -> None:
        self._all.clear()

    def matching(self, asked: Asked, text: str) -> Sequence[Script]:
        """Those for a text, the newest first."""
        return [script for script in self._all if script.asked == asked and script.message in text]

    def wait(self, asked: Asked, text: str) -> float:
        """Seconds before the answer to a text."""
        return max((script.wait for script in self.matching(asked, text)), default=0.0)


def laid_over(own: Mapping[str, Any], script: Script) -> dict[str, Any] | str:
    """What the model says of itself, changed by the script."""
    return script.says if isinstance(script.says, str) else {**own, **(script.says or {})}
