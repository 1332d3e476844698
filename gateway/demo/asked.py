"""What one request asks: the newest question with its files, how far its turn has come, what the tools have
said, and which written skills and memories it tells of."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.demo.attached import AttachedFile, files_in, is_attachment
from gateway.demo.remembered import Remembered, is_wrapped, wrapped_in
from gateway.ids import ARTIFACT_PATTERN

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_SKILLS = re.compile(r"^<skills>\n(.*?)\n</skills>$", re.DOTALL | re.MULTILINE)
_SKILL = re.compile(r"^- (\S+?)(?:: (.*))?$", re.MULTILINE)
_TAG = re.compile(r"<(\w+)>")
_REFERENCE = re.compile(ARTIFACT_PATTERN)


@dataclass(frozen=True, slots=True)
class ToolSaid:
    """The result of one tool call of the turn."""

    name: str
    arguments: Mapping[str, Any]
    content: str
    is_error: bool

    @property
    def own_words(self) -> str:
        """The content without the tags and the note that the gateway puts around text from elsewhere, and
        without what it says after it."""
        first, _, rest = self.content.strip().partition("\n")
        tag = _TAG.fullmatch(first)
        wrapped, closing, _ = rest.rpartition(f"\n</{tag[1]}>") if tag is not None else ("", "", "")
        return wrapped.partition("\n\n")[2].strip() if closing else self.content.strip()

    @property
    def artifact(self) -> str | None:
        """The first reference to an artifact in it."""
        found = _REFERENCE.search(self.content)
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Asked:
    """`step` counts the model calls of the turn from 1; `results` are those of all its tool calls, in their
    order; `earlier` is what came before the question under the user's name: summaries of former sessions in
    the system prompt, a summary of older messages, and messages; `skills` are the written skills that the
    system prompt lists, with their descriptions; `memories` are those that the gateway told the
    model; `files` are those that the user attached to the question."""

    text: str
    step: int
    results: Sequence[ToolSaid]
    tools: frozenset[str]
    thinking: bool
    earlier: Sequence[str] = ()
    skills: Mapping[str, str] = field(default_factory=dict[str, str])
    memories: Sequence[Remembered] = ()
    files: Sequence[AttachedFile] = ()

    @property
    def chinese(self) -> bool:
        return bool(_CHINESE.search(self.text))

    @property
    def artifact(self) -> str | None:
        """The newest reference to an artifact: of the last result that has one, else of the last file."""
        results = [said.artifact for said in self.results if said.artifact is not None]
        return (results or [file.ref for file in self.files] or [None])[-1]


def read(body: Mapping[str, Any]) -> Asked:
    """Reads a valid request body. The question is the last text block of the newest user message that has
    one: what the gateway puts beside the user's own words (retrieved context, files) is not taken for
    them."""
    messages: list[dict[str, Any]] = body["messages"]
    system = _system(body)
    said: list[str] = []
    beside: list[str] = []
    at = 0
    for index, message in enumerate(messages):
        texts = [b["text"] for b in blocks(message) if b["type"] == "text"]
        if message["role"] == "user" and texts:
            # A message that is nothing but such a block was written by the user after all.
            own = [text for text in texts if not is_wrapped(text) and not is_attachment(text)] or texts[-1:]
            said += own
            at = index
            beside += [text for text in texts if text not in own]
        elif message["role"] == "system":
            beside += texts
    *earlier, text = said or [""]
    answers = [message for message in messages[at + 1 :] if message["role"] == "assistant"]
    thinking = body.get("thinking", {}).get("type", "disabled") != "disabled"
    tools = frozenset(str(tool.get("name")) for tool in body.get("tools") or ())
    carried = [told for told in system if told.startswith("<conversation_summary>")]
    return Asked(
        text=text,
        step=len(answers) + 1,
        results=_results(messages[at + 1 :]),
        tools=tools,
        thinking=thinking,
        earlier=[*carried, *earlier],
        skills=_skills(system),
        memories=wrapped_in([*system, *beside]),
        files=tuple(files_in(blocks(messages[at]))),
    )


def _system(body: Mapping[str, Any]) -> list[str]:
    system = body.get("system") or []
    return [system] if isinstance(system, str) else [block.get("text", "") for block in system]


def _skills(system: Sequence[str]) -> dict[str, str]:
    listed = [block[1] for text in system for block in _SKILLS.finditer(text)]
    return {line[1]: line[2] or "" for block in listed for line in _SKILL.finditer(block)}


def blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A message's content as blocks, also when it is written as a string."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _results(messages: Sequence[Mapping[str, Any]]) -> list[ToolSaid]:
    calls: dict[str, dict[str, Any]] = {}
    found: list[ToolSaid] = []
    for message in messages:
        for part in blocks(message):
            if part["type"] == "tool_use":
                calls[part["id"]] = part
            elif part["type"] == "tool_result":
                call = calls.get(part["tool_use_id"], {"name": "a tool", "input": {}})
                said = _text(part.get("content", ""))
                found.append(ToolSaid(call["name"], call["input"], said, bool(part.get("is_error"))))
    return found


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
