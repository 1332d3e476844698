"""A call that waits is shown at the terminal, and a person says what becomes of it."""

import json
import sys
from typing import Any, Literal

from prompt_toolkit import PromptSession

from gateway.cli.chat.message_prompt import on_terminal
from gateway.cli.terminal import to_stderr

ANSWERS: dict[str, dict[str, Any]] = {
    "y": {"decision": "approve"},
    "s": {"decision": "approve", "scope": "session"},
    "a": {"decision": "approve", "scope": "always"},
    "n": {"decision": "deny"},
}
CHOICES = "y yes, s in this session, a always, e edit first, n no, n WHY tells the model why"


async def ask_approval(call: dict[str, Any]) -> dict[str, Any] | Literal["stop", "leave"]:
    """The person's decision about `call`, the data of its approval_request, as fields of the decision; `stop`
    after Ctrl-C, `leave` after Ctrl-D."""
    to_stderr(f"\n  {call['name']} wants to run" + (f": {call['reason']}" if call.get("reason") else ""))
    for line in json.dumps(call["arguments"], ensure_ascii=False, indent=2).splitlines():
        to_stderr(f"  {line}")
    _forget_what_was_typed()
    try:
        with on_terminal():
            return await _answer(call)
    except KeyboardInterrupt:
        return "stop"
    except EOFError:
        return "leave"


async def _answer(call: dict[str, Any]) -> dict[str, Any]:
    prompt: PromptSession[str] = PromptSession()
    while True:
        said = (await prompt.prompt_async(f"  {CHOICES}\n  Run {call['name']}? [y/s/a/e/n] ")).strip()
        letter, _, reason = said.partition(" ")
        letter = {"yes": "y", "no": "n"}.get(letter.lower(), letter.lower())
        if letter == "e":
            edited = await prompt.prompt_async(
                "  ", default=json.dumps(call["arguments"], ensure_ascii=False)
            )
            if (arguments := _object(edited)) is not None:
                return {"decision": "approve", "arguments": arguments}
        elif letter == "n" and reason.strip():
            return {"decision": "deny", "reason": reason.strip()}
        elif letter in ANSWERS and not reason:
            return ANSWERS[letter]


def _object(text: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(text)
    except ValueError as error:
        to_stderr(f"  That is no JSON: {error}.")
        return None
    return parsed if isinstance(parsed, dict) else None


def _forget_what_was_typed() -> None:
    """Input that was typed before a question is no answer to it."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
