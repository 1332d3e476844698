"""What a model may offer to remember: the form of its answer. Pure."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import LearningFailed
from gateway.model.calls import Completion

MAX_CANDIDATES = 20
"""Candidates of one answer that are looked at: a conversation that fits one call has no more that lasts."""
MAX_CONTENT, MAX_QUOTE = 1000, 1000


class Candidate(BaseModel):
    """One thing to remember. `message` is the number of the user's message that says it, `quote` the words in
    which it does, `confidence` how plainly (0 to 1)."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    type: Literal[
        "preference",
        "user_preference",
        "fact",
        "event",
        "project_decision",
        "discussion_conclusion",
        "action_item",
        "constraint",
        "risk",
        "feedback",
    ]
    content: Annotated[str, Field(min_length=1, max_length=MAX_CONTENT)]
    quote: Annotated[str, Field(min_length=1, max_length=MAX_QUOTE)]
    message: Annotated[int, Field(ge=1)]
    importance: Annotated[int, Field(ge=1, le=5)] = 3
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.7
    tags: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=5)] = []


def read_answer(answer: Completion) -> tuple[Sequence[Candidate], int]:
    """The candidates of the right form among the first MAX_CANDIDATES that a model offers, and how many
    were not.

    Raises:
        LearningFailed: the answer is not an object with a list `memories`, or it was broken off or declined.
    """
    try:
        offered = answer.json().get("memories")
    except ValueError as error:
        raise LearningFailed(f"The answer is {error}.") from None
    if not isinstance(offered, list):
        raise LearningFailed("The answer has no list named memories.")
    found: list[Candidate] = []
    for each in offered[:MAX_CANDIDATES]:
        try:
            found.append(Candidate.model_validate(each))
        except ValidationError:
            continue
    return found, len(offered) - len(found)
