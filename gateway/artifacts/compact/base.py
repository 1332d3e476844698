"""The parts of every compact form: lines of plain words, with quotations of the content that are short,
visible and on one line."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gateway.lexical import estimate_tokens
from gateway.messages import clean_text
from gateway.tools.wrapping import visible

MAX_TOKENS = 300
"""Of a compact form, estimated: with its frame it stays under 500."""


@dataclass(frozen=True, slots=True)
class Compact:
    """A description of a content by its kind. The first line of `text` is enough by itself. `examples` has
    for ways to read a part (lines, bytes, json_path, search) what can be asked of this very content."""

    text: str
    examples: Mapping[str, str] = field(default_factory=dict[str, str])


def flat(text: str, tokens: int) -> str:
    """What is visible of `text`, on one line, cut to about so many tokens; a cut shows as an ellipsis."""
    begins = text[: 8 * tokens]
    shown = " ".join(visible(clean_text(begins)).split())
    cut = len(begins) < len(text)
    while (taken := estimate_tokens(shown)) > tokens:
        shown, cut = shown[: min(len(shown) - 1, len(shown) * tokens // taken)], True
    return f"{shown}…" if cut else shown


def fitted(lines: Iterable[str], tokens: int) -> list[str]:
    """The first of `lines` that take no more than `tokens` together."""
    kept: list[str] = []
    for line in lines:
        tokens -= estimate_tokens(f"{line}\n")
        if tokens < 0:
            break
        kept.append(line)
    return kept


def listed(lines: Iterable[str], total: int, noun: str, tokens: int) -> list[str]:
    """Those of `lines` that fit, and how many of the `total` are left out: "… 3 more columns"."""
    kept = fitted(lines, tokens)
    left = total - len(kept)
    return [*kept, f"… {left:,} more {noun}"] if left else kept


def counted(number: int, noun: str) -> str:
    """ "1 line", "2,000 lines"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
