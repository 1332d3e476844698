"""The form of a log: the count of each level, its ends, and its first errors."""

import re

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, fitted, flat
from gateway.artifacts.compact.line_stretches import scope, stretches
from gateway.artifacts.compact.text import ends
from gateway.artifacts.content import ArtifactContent, Measured

_LEVELS = {
    "FATAL": "fatal",
    "CRITICAL": "critical",
    "SEVERE": "severe",
    "ERROR": "error",
    "WARNING": "warning",
    "WARN": "warning",
    "NOTICE": "notice",
    "INFO": "info",
    "DEBUG": "debug",
    "TRACE": "trace",
}
# In capitals anywhere; in small letters where a sign marks it as a value: "level":"info", [warn].
_NAMES = "|".join(_LEVELS)
_LEVEL = re.compile(rf"\b(?:{_NAMES})\b|(?<=[\"\[=(<])(?:{_NAMES.lower()})\b".encode())
_ERRORS = ("fatal", "critical", "severe", "error")
_WITHIN = 160  # bytes from a line's beginning in which its level stands
_MAX_ERRORS, _TOKENS = 3, 120  # errors, and what all of them take
_AROUND = 5  # lines of the example around the first error


def log_form(content: ArtifactContent, measured: Measured) -> Compact:
    counts, errors = _levels(content)
    total = measured.lines or 0
    levels = ", ".join(
        f"{counts[level]:,} {level}" for level in dict.fromkeys(_LEVELS.values()) if level in counts
    )
    lines = [f"Log, {counted(total, 'line')}{': ' + levels + scope(measured) if levels else ''}"]
    budget, examples = MAX_TOKENS - 40, dict[str, str]()
    if errors:
        first, _, word = errors[0]
        fitting_form = fitted((f"{number}: {flat(line, 40)}" for number, line, _ in errors), _TOKENS)
        lines += ["First errors:", *fitting_form]
        budget -= _TOKENS + 10
        examples["search"] = word
        if total > 1:
            examples["lines"] = f"{max(1, first - _AROUND)}-{min(total, first + 4 * _AROUND)}"
    lines += ["First and last lines:", *ends(measured, budget)]
    return Compact("\n".join(lines), examples)


def _levels(content: ArtifactContent) -> tuple[dict[str, int], list[tuple[int, str, str]]]:
    """How many lines have which level, the first in each that has any; the first lines with an error, by
    number, text, and how the level is written there."""
    counts: dict[str, int] = {}
    errors: list[tuple[int, str, str]] = []
    for number, data, start, end in stretches(content):
        at = start
        while match := _LEVEL.search(data, at, end):
            begin = data.rfind(b"\n", start, match.start()) + 1 or start
            at = data.find(b"\n", match.end(), end) + 1 or end
            if match.start() - begin > _WITHIN:
                continue
            level = _LEVELS[match[0].decode().upper()]
            counts[level] = counts.get(level, 0) + 1
            if level in _ERRORS and len(errors) < _MAX_ERRORS:
                line = data[begin : min(at, begin + 400)].decode("utf-8", "ignore").strip()
                errors.append((number + data.count(b"\n", start, begin), line, match[0].decode()))
    return counts, errors
