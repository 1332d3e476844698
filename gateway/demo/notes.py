"""A notebook, so that the first run can show a call that waits for a person: `gateway dev` without a model
offers `write_note`, and the demo calls it for "note that …" and 记一下….
"""

import re
from pathlib import Path

from gateway.demo.asked import Asked
from gateway.demo.directives import Call, Wanted
from gateway.demo.statements import is_question
from gateway.demo.wire import text_block
from gateway.tools.base import FunctionTool
from gateway.tools.function import ToolError, tool

TOOL = "write_note"
FILE = "notes.md"
MAX_NOTE = 500
"""Characters of one note."""
MAX_NOTES = 65_536
"""Bytes of the file."""

_ASKS = re.compile(
    r"\s*(?:please\s+)?(?:note\s+(?:that|down)|write\s+down|(?:make|take)\s+a\s+note)\b(?:\s+(?:that|of)\b)?"
    r"[\s:：,]*(?P<english>\S.*)"
    r"|\s*(?:[请請]|[帮幫]我|麻[烦煩]你?)*[记記](?:一下|下[来來]?|[个個](?:笔记|筆記))(?!了)[\s:：,，]*(?P<chinese>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_WORDS = (
    "I write that down. It changes a file, so you may be asked first.",
    "我来记下。这会改动文件，所以可能先要你批准。",
)


def write_note(folder: Path) -> FunctionTool:
    """The tool `write_note`, which appends lines to notes.md in `folder`."""

    @tool(
        effect="effectful",
        timeout=10,
        name=TOOL,
        category="demo",
        examples=("Note that the door code is 4711.",),
    )
    def write(text: str) -> str:
        """Writes a note: one line at the end of notes.md, a file beside the server's data.

        Args:
            text: What to note, 500 characters at most.
        """
        line = f"- {' '.join(text.split())}\n".encode()
        if len(text) > MAX_NOTE:
            raise ToolError(
                f"A note has {MAX_NOTE} characters at most, this one has {len(text)}: shorten it."
            )
        try:
            with (folder / FILE).open("ab") as file:
                if file.tell() + len(line) > MAX_NOTES:
                    raise ToolError(f"{FILE} is full: {MAX_NOTES} bytes. Delete what nobody needs.")
                file.write(line)
        except OSError as error:
            raise ToolError(f"{FILE} cannot be written: {error.strerror}.") from None
        return f"Written to {FILE}."

    return write


def note(asked: Asked) -> list[Wanted]:
    """The call for a message that begins with "note that" or the like."""
    found = _ASKS.fullmatch(asked.text)
    if found is None or TOOL not in asked.tools or is_question(asked.text):
        return []
    text = found["english"] or found["chinese"]
    return [text_block(_WORDS[asked.chinese]), Call(TOOL, {"text": text.strip()[:MAX_NOTE]})]
