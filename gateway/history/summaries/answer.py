"""The check of a summarising model's answer: whether it may stand for the conversation. Pure."""

from collections.abc import Sequence

from gateway.errors import CompressionFailed
from gateway.history.summaries.summary import SessionSummary, read_answer, to_markdown
from gateway.lexical import estimate_tokens
from gateway.model.side_calls import Completion

ACCEPTED = 0.9
"""The share of a summary's most tokens that an answer may have; the rest is for what `kept_facts` adds."""

_PROBLEMS = {
    "refused": "The model declined to summarise the conversation.",
    "truncated": "The summary broke off before its end; it has to be shorter.",
    "empty": "The model wrote no summary.",
}


def usable(answer: Completion, most_tokens: int) -> tuple[SessionSummary, Sequence[str]]:
    """The summary in `answer`, and the open questions that it reports as answered. `most_tokens` are of its
    text, with what is added to it later.

    Raises:
        CompressionFailed: it is none, or none that may stand for a conversation.
    """
    try:
        summary, answered = read_answer(answer.json())
    except ValueError as error:
        problem = answer.problem or "invalid"
        message = _PROBLEMS.get(problem, f"The summary is {error}.")
        raise _unusable(f"summary_{problem}", message) from None
    if not summary.has_content:
        raise _unusable("summary_invalid", "The summary has neither a goal nor facts nor progress.")
    size, most = estimate_tokens(to_markdown(summary)), int(ACCEPTED * most_tokens)
    if size > most:
        raise _unusable(
            "summary_too_long", f"The summary is about {size} tokens long, and at most {most} are allowed."
        )
    return summary, answered


def _unusable(code: str, message: str) -> CompressionFailed:
    return CompressionFailed(message, code=code)
