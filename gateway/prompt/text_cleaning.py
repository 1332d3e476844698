"""Cleaning of text that goes into the prompt: nothing invisible, nothing that poses as one of our tags."""

from gateway.messages import clean_text
from gateway.tools.wrapping import defuse, visible

MAX_LINE = 20_000
"""Characters of one line; the rest of a longer one is cut off with a marker."""


def clean(text: str) -> str:
    """`text` with LF line ends, without control and invisible characters, with our wrapper tags escaped,
    over-long lines cut, and no blank space at either end. Cleaning twice changes nothing more."""
    text = visible(clean_text(text))
    lines = [_shortened(line) for line in defuse(text).split("\n")]
    return "\n".join(lines).strip()


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    marker = f" [... line of {len(line)} characters cut ...]"
    return line[: MAX_LINE - len(marker)] + marker
