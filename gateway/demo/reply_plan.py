"""From a valid request to its reply: the scripted step or the demo's own answer, with ids and signatures.

The same request always gives the same reply, ids included: they are cut from a hash of what was asked.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import orjson

from gateway.demo import side_requests, tour
from gateway.demo.directives import (
    ARTIFACT,
    UNSET,
    FaultCall,
    ScriptedCall,
    ScriptedStep,
    Think,
    Wanted,
    parse,
)
from gateway.demo.question import DemoPrompt, read
from gateway.demo.signatures import redacted_block, thinking_block
from gateway.demo.strictness import THOUGHT_FIRST
from gateway.demo.wire import DemoReply, InputUsage, Part, text_block

DEFAULT_PACE = 0.02
"""Seconds between pieces: about the speed of a fast model."""
FILLER = "The quick brown fox jumps over the lazy dog. 敏捷的棕色狐狸跳过了懒狗。"
_HEADER_LINES = ";;"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a request is answered: the right reply, the fault that spoils it, the tools that may be called, and
    the most tokens the request may have, if it says so itself."""

    reply: DemoReply
    fault: FaultCall | None
    tools: tuple[str, ...]
    seed: str
    window: int | None = None


def plan(body: Mapping[str, Any], script: str | None, usage: InputUsage, pace: float) -> Plan:
    """The plan for a valid request body; `script` is the x-demo header: directives separated by `;;`.

    Raises:
        directives.BadDirective: the script cannot be read.
    """
    question = read(body)
    if not script and (answer := side_requests.answer(body)) is not None:
        step = ScriptedStep([text_block(answer)], burst=True)
    else:
        lines = script.split(_HEADER_LINES) if script else question.text.split("\n")
        steps, plain = parse(map(_with_reference(question), lines))
        step = _step(replace(question, text=question.text if script else plain), steps)
    seed = _seed(body, script)
    parts = _finished(step.parts, seed, body["model"])
    calls = any(isinstance(part, dict) and part["type"] == "tool_use" for part in parts)
    natural = "tool_use" if calls else "end_turn"
    reply = DemoReply(
        id=f"msg_{seed[:24]}",
        model=body["model"],
        parts=parts,
        stop_reason=natural if step.stop_reason == UNSET else step.stop_reason,
        usage=usage,
        pace=pace if step.pace is None else step.pace,
        burst=step.burst,
    )
    return Plan(reply, step.fault, tuple(sorted(question.tools)), seed, step.window)


def _with_reference(question: DemoPrompt) -> Callable[[str], str]:
    """Puts the newest reference to an artifact into calls, where there is one."""
    ref = question.artifact or ARTIFACT
    return lambda line: line.replace(ARTIFACT, ref) if line.startswith("/call ") else line


def _step(question: DemoPrompt, steps: list[ScriptedStep]) -> ScriptedStep:
    if not steps:
        return ScriptedStep(tour.answer(question))
    if len(steps) == 1 and not steps[0].parts and question.text:
        step = steps[0] if question.step == 1 else steps[0].following()
        return replace(step, parts=tour.answer(question))
    if question.step > len(steps):
        return replace(steps[-1].following(), parts=[text_block("Done.")])
    step = steps[question.step - 1]
    return replace(step, parts=step.parts or [text_block("Done." if step.fault is None else FILLER)])


def _seed(body: Mapping[str, Any], script: str | None) -> str:
    same = {name: value for name, value in body.items() if name not in ("stream", "metadata")}
    return sha256(orjson.dumps([same, script], option=orjson.OPT_SORT_KEYS)).hexdigest()


def _finished(parts: Iterable[Wanted], seed: str, model: str) -> list[Part]:
    """The parts with thoughts signed and calls numbered."""
    finished: list[Part] = []
    prefix = "toolu_"
    for index, part in enumerate(parts):
        match part:
            case Think(text, redacted):
                finished.append(redacted_block(text, model) if redacted else thinking_block(text, model))
                prefix = THOUGHT_FIRST
            case ScriptedCall(name, arguments):
                call_id = f"{prefix}{seed[:20]}{index:02d}"
                finished.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
            case _:
                finished.append(part)
    return finished
