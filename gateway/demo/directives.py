"""A small line language for the demo's answers: tests, stories and the bench script turns with
it. A directive is a line that starts with `/` and a word; `/then` separates the model calls of one turn.
docs/demo.md has the table.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from gateway.demo.wire import GeneratedText, Part, Raw, text_block

_NAME = re.compile(r"/([a-z_]+)(?:[ \t]+|$)")
_NEXT = re.compile(r"(?<!\s)\s+(?=/[a-z_]+(?:\s|$))")
_TAKES_THE_LINE = frozenset({"say", "think", "call", "raw"})
MAX_DIRECTIVES = 1000
MAX_DELTAS = 1_000_000
MAX_WINDOW = 10_000_000
STAMPED_DELTAS = 100
"""Pieces of a `/stamp` without `/pieces`."""
ARTIFACT = "{{artifact}}"
"""In the arguments of a call: the newest reference to an artifact, in the results so far or attached."""
UNSET = "\0unset"
"""The stop reason that follows from the content."""


class BadDirective(ValueError):
    """A directive that is not known or cannot be read; the message names it."""


@dataclass(frozen=True, slots=True)
class FaultCall:
    name: str
    argument: str | None
    once: bool


@dataclass(frozen=True, slots=True)
class Think:
    """A thinking block that is still to be signed."""

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call that still needs its id."""

    name: str
    arguments: dict[str, Any]


Wanted = Part | Think | ScriptedCall


@dataclass(frozen=True, slots=True)
class ScriptedStep:
    """What one model call is to answer. `pace` is in seconds; None leaves the server's. `window` is the most
    tokens that its request may have."""

    parts: Sequence[Wanted] = field(default_factory=tuple[Wanted, ...])
    pace: float | None = None
    burst: bool = False
    stop_reason: str | None = UNSET
    fault: FaultCall | None = None
    window: int | None = None

    def following(self) -> "ScriptedStep":
        """The step of the next model call: empty, under the same conditions."""
        return ScriptedStep(pace=self.pace, burst=self.burst, window=self.window)


def parse(lines: Iterable[str]) -> tuple[list[ScriptedStep], str]:
    """The steps, and what is left of the text without its directives. No directive: no steps.

    Raises:
        BadDirective: an unknown word after a `/`, an argument that does not fit, or more than
            MAX_DIRECTIVES.
    """
    steps: list[ScriptedStep] = []
    plain: list[str] = []
    read = 0
    for line in lines:
        directives = list(_directives(line.rstrip("\r")))
        if not directives:
            plain.append(line)
            continue
        read += len(directives)
        if read > MAX_DIRECTIVES:
            raise BadDirective(f"There are more than {MAX_DIRECTIVES} directives.")
        for name, argument in directives:
            if not steps:
                steps.append(ScriptedStep())
            if name == "then":
                steps.append(steps[-1].following())
            else:
                steps[-1] = _apply(steps[-1], name, argument)
    return steps, "\n".join(plain).strip()


def _directives(line: str) -> Iterator[tuple[str, str]]:
    """Name and argument of each directive on a line: one that takes free text is the last."""
    at = 0
    while match := _NAME.match(line, at):
        if match[1] in _TAKES_THE_LINE:
            yield match[1], line[match.end() :]
            return
        following = _NEXT.search(line, match.end(1))
        end, at = following.span() if following else (len(line), len(line))
        yield match[1], line[match.end(1) : end].strip()


def _apply(step: ScriptedStep, name: str, argument: str) -> ScriptedStep:
    match name:
        case "pace" | "burst" | "window":
            return _under(step, name, argument)
        case "stop":
            return replace(step, stop_reason=None if argument == "null" else argument)
        case "fault":
            return replace(step, fault=_fault(argument))
        case "stamp":
            return _stamped(step)
        case _:
            return replace(step, parts=_joined([*step.parts, _part(name, argument)]))


def _under(step: ScriptedStep, name: str, argument: str) -> ScriptedStep:
    """The step under a condition that holds for the following ones, too."""
    if name == "burst":
        return replace(step, burst=True)
    if name == "window":
        return replace(step, window=_whole_number(name, argument, MAX_WINDOW))
    return replace(step, pace=_whole_number(name, argument, 60_000) / 1000)


def _part(name: str, argument: str) -> Wanted:
    match name:
        case "say" if argument:
            return text_block(argument)
        case "say" | "think" if not argument:
            raise BadDirective(f"/{name} needs a text.")
        case "think":
            return Think(argument)
        case "redacted":
            return Think("redacted", redacted=True)
        case "call":
            tool, _, written = argument.partition(" ")
            return ScriptedCall(tool, _object(name, written or "{}"))
        case _:
            return _wire_part(name, argument)


def _wire_part(name: str, argument: str) -> Wanted:
    if name == "raw":
        return Raw(_object(name, argument))
    if name == "pieces":
        return GeneratedText(_whole_number(name, argument, MAX_DELTAS))
    raise BadDirective(f"Unknown directive /{name}.")


def _joined(parts: list[Wanted]) -> list[Wanted]:
    """Two texts in a row are two lines of one text."""
    match parts:
        case [*others, {"type": "text", "text": str(first)}, {"type": "text", "text": str(second)}]:
            return [*others, text_block(f"{first}\n{second}")]
        case _:
            return parts


def _stamped(step: ScriptedStep) -> ScriptedStep:
    if not any(isinstance(part, GeneratedText) for part in step.parts):
        return replace(step, parts=[*step.parts, GeneratedText(STAMPED_DELTAS, stamped=True)])
    parts = [replace(part, stamped=True) if isinstance(part, GeneratedText) else part for part in step.parts]
    return replace(step, parts=parts)


def _fault(argument: str) -> FaultCall:
    name, *others = argument.split() or [""]
    arguments = [word for word in others if word != "once"]
    if not name or len(arguments) > 1:
        raise BadDirective("/fault takes a name, an argument if the fault has one, and `once`.")
    return FaultCall(name, arguments[0] if arguments else None, "once" in others)


def _object(name: str, written: str) -> dict[str, Any]:
    if (value := json_object(written)) is None:
        raise BadDirective(f"/{name} needs a JSON object, not {written!r}.")
    return value


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is; None when it is none."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _whole_number(name: str, argument: str, most: int) -> int:
    if not argument.isdecimal() or len(argument) > len(str(most)) or int(argument) > most:
        raise BadDirective(f"/{name} needs a whole number up to {most}, not {argument!r}.")
    return int(argument)
