"""Facts that every summary keeps, also where its model leaves them out: names that only help to the
letter, tools that failed, questions that are open, artifacts."""

import re
from collections.abc import Callable, Iterator, Sequence

from gateway.history.summaries.dialogue import call_name
from gateway.history.summaries.listed_artifacts import others
from gateway.history.summaries.summary import Reference, SessionSummary, to_markdown
from gateway.lexical import estimate_tokens, tokens
from gateway.messages import Block, texts_of
from gateway.storage.messages import StoredMessage

MAX_IDENTIFIERS = 60
MAX_FAILURES = 20
MAX_QUESTIONS = 20
_SCANNED = 100_000  # characters of one text
_MAX_LENGTH = 200  # characters of an identifier or a question

# Each begins only where nothing of its own kind stands before, so that no run is looked at twice.
_IDENTIFIER = re.compile(
    r"""https?://[^\s<>"'`\u3000-\u303f\uff00-\uffef]+
    | (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}
    | (?<![\w-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w-])
    | (?<![\w-])[A-Z]{2,10}-[0-9A-Za-z]{1,16}(?![\w-])
    | (?<![\w/.:~-])~?/[\w.+-]+(?:/[\w.+-]+)+/?
    | (?<!\w)[A-Za-z]:\\[^\s<>"'|?*]+
    | (?<![\w-])(?=[A-Za-z_-]{0,40}[0-9])(?=[0-9_-]{0,40}[A-Za-z])[A-Za-z0-9_-]{12,64}(?![\w-])""",
    re.VERBOSE | re.ASCII,
)
_CONSTRAINT = re.compile(
    r"\b(?:must|at (?:most|least)|no (?:more|less|later) than|limit|budget|deadline|maximum|minimum|within|"
    r"under|below|above)\b|必须|必須|不得|不能|最多|最少|至少|不超过|不超過|预算|預算|截止|上限|下限|以内|以內",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[$€£¥]\s?\d(?:[\d.,]{0,20}\d)?|\d(?:[\d.,]{0,20}\d)?\s?(?:%|°C|(?:[A-Za-z]{1,8}\b)|[元万萬亿億天年月日号號时時点點分秒人次个個件米克斤])"
)
_FAILURE = re.compile(r"Unresolved: the tool (\S+) failed\b")


def complete(
    summary: SessionSummary,
    messages: Sequence[StoredMessage],
    *,
    previous: SessionSummary | None,
    questions: Sequence[str],
    answered: Sequence[str],
    artifacts: Sequence[Reference] = (),
    most_tokens: int,
) -> SessionSummary:
    """`summary` of `messages` with what it must not lose, in at most `most_tokens` (of its text, estimated)
    provided it has no more itself.

    Tools whose last call failed join the risks. `questions` that were open before and are not among those
    `answered` join the open ones. `artifacts`, the most important first, take the place of what it lists of
    that kind. The oldest steps of the progress are dropped first, then the last artifacts.
    Identifiers that it does not contain fill the rest of the budget, the user's first.
    """
    known = " ".join([*summary.risks, *summary.open_questions, *summary.next_actions])
    failed = [name for name in _failures(messages, previous) if name not in known]
    risks = [*summary.risks, *(f"Unresolved: the tool {name} failed." for name in failed[:MAX_FAILURES])]
    open_now = [*summary.open_questions]
    for question in questions[:MAX_QUESTIONS]:
        if not any(_same(question, other) for other in [*open_now, *answered]):
            open_now.append(question[:_MAX_LENGTH])
    kept = [*others(summary.artifacts), *artifacts]
    whole = summary.model_copy(
        update={"risks": risks, "open_questions": open_now, "artifacts": kept, "identifiers": []}
    )
    while len(whole.progress) > 1 and estimate_tokens(to_markdown(whole)) > most_tokens:
        whole = whole.model_copy(update={"progress": whole.progress[1:]})
    for _ in artifacts:
        if estimate_tokens(to_markdown(whole)) > most_tokens:
            whole = whole.model_copy(update={"artifacts": whole.artifacts[:-1]})
    return _with_identifiers(whole, [*summary.identifiers, *_identifiers(messages, previous)], most_tokens)


def _with_identifiers(summary: SessionSummary, found: Sequence[str], most_tokens: int) -> SessionSummary:
    text = to_markdown(summary)
    budget = most_tokens - estimate_tokens(text) - estimate_tokens("\n\n## Identifiers") - 1
    taken: list[str] = []
    for identifier in dict.fromkeys(found):
        cost = estimate_tokens(f"\n- {identifier}")
        if identifier not in text and cost <= budget and len(taken) < MAX_IDENTIFIERS:
            taken.append(identifier)
            budget -= cost
    return summary.model_copy(update={"identifiers": taken})


def _identifiers(messages: Sequence[StoredMessage], previous: SessionSummary | None) -> Iterator[str]:
    yield from previous.identifiers if previous else ()
    texts = [(item, text) for item in messages for text in texts_of(item.message)]
    for by_user in (True, False):
        for item, text in texts:
            if (item.message.role == "user") == by_user:
                yield from _named_in(text)
                if by_user:
                    yield from _limits_in(text)


def _named_in(text: str) -> Iterator[str]:
    for match in _IDENTIFIER.finditer(text[:_SCANNED]):
        name = match[0].rstrip(".,;:!?)]}'\"*_-")
        if 3 < len(name) <= _MAX_LENGTH:
            yield name


def _limits_in(text: str) -> Iterator[str]:
    """The sentences' amounts where the user sets a limit."""
    for sentence in re.split(r"[\n。！？!?;；]|\.\s", text[:_SCANNED]):
        if _CONSTRAINT.search(sentence):
            yield from (match[0].strip() for match in _AMOUNT.finditer(sentence))


def _failures(messages: Sequence[StoredMessage], previous: SessionSummary | None) -> list[str]:
    """Tools that failed and did not succeed later, in the order of their failures."""
    failed = dict.fromkeys(
        match[1] for risk in (previous.risks if previous else ()) if (match := _FAILURE.match(risk))
    )
    names: dict[str, str] = {}
    for item in messages:
        for block in item.message.content:
            _follow(block, names, failed)
    return list(failed)


def _follow(block: Block, names: dict[str, str], failed: dict[str, None]) -> None:
    if block["type"] == "tool_use":
        names[block["id"]] = call_name(block)
    elif block["type"] == "tool_result" and (name := names.get(block["tool_use_id"])) is not None:
        change: Callable[..., object] = failed.setdefault if block.get("is_error") else failed.pop
        change(name, None)


def _same(question: str, other: str) -> bool:
    """Whether most words of `question` are in `other`."""
    words = set(tokens(question))
    shared = len(words & set(tokens(other)))
    return question == other or shared >= max(1, 0.6 * len(words))
