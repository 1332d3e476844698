"""The content of a message in a copy: what the gateway takes for granted of blocks must hold of these too. Of
types that it does not know nothing is asked: they go back to the model as they came."""

from functools import partial
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field

from gateway.errors import BadImport
from gateway.history.copies.line_reader import demand, valid
from gateway.messages import ARTIFACT, ATTACHED, RECALLED, Recalled
from gateway.storage.sessions.copies import Attachment


class _Form(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Text(_Form):
    text: str


class _ToolUse(_Form):
    id: str
    name: str


class _ToolResult(_Form):
    tool_use_id: str
    content: str | list[Any] | None = None


class _Maker(_Form):
    model: str
    answered: str = ""
    endpoint: str = ""
    in_text: bool = False


class _Recalled(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    type: str
    memories: list[Recalled]
    changes: int = Field(default=0, ge=0)
    made_by: _Maker | None = None


class _Attached(Attachment):
    type: str


FORMS: dict[str, type[BaseModel]] = {
    "text": _Text,
    "tool_use": _ToolUse,
    "tool_result": _ToolResult,
    RECALLED: _Recalled,
    ATTACHED: _Attached,
}
OURS = (RECALLED, ATTACHED)
"""Types that are the gateway's own, and stand in messages themselves only."""


def check_content(content: object, role: str) -> None:
    """Raises errors.BadImport when this is no content of a message of that role that can be used."""
    demand(isinstance(content, list) and bool(content), "the content of the message is no list of blocks")
    _check(cast("list[object]", content), role, within=False)


def _check(blocks: list[object], role: str, *, within: bool) -> None:
    # No deeper than a line of an export, which read_line bounds.
    for number, given in enumerate(blocks, 1):
        block = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        kind = block.get("type")
        demand(isinstance(kind, str), "the content of the message is no list of blocks")
        demand(kind not in OURS or not within, f"a block of the type {kind} is within another")
        demand(kind != ATTACHED or role == "user", "a file is attached to what was not said by the user")
        # Only the view makes such, of what is attached.
        demand(_source_of(block) != ARTIFACT, f"a block has a source of the type {ARTIFACT}")
        form = FORMS.get(cast("str", kind), _Form)
        try:
            valid(partial(form.model_validate, block))
        except BadImport as error:
            raise BadImport(f"Block {number} of the type {kind}: {error.message}") from None
        if isinstance(inner := _content_of(block), list):
            _check(cast("list[object]", inner), role, within=True)


def _source_of(block: dict[str, Any]) -> object:
    source = block.get("source")
    return cast("dict[str, Any]", source).get("type") if isinstance(source, dict) else None


def _content_of(block: dict[str, Any]) -> object:
    match block:
        case {"type": "tool_result", "content": content}:
            return content
        case {"type": "document", "source": {"type": "content", "content": content}}:
            return content
        case _:
            return None
