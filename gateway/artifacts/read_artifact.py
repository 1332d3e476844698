"""The tool `read_artifact`: reads a part of an artifact."""

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.reading import BEGINNING, MAX_TOKENS, ContentPart, read_part, selector_of
from gateway.artifacts.reading.selector import Selector
from gateway.errors import ArtifactDamaged, RequestRefused, ToolError
from gateway.storage.artifacts import ArtifactRow
from gateway.tools.base import READ_ARTIFACT, FunctionTool, ToolContext, ToolOutput
from gateway.tools.function import tool
from gateway.tools.wrapping import Wrapped, wrap

_SHORT = """Reads a part of a long result that was kept aside.

Args:
    lines: 1-50
    search: Plain text.
"""
_TIMEOUT = 30  # seconds; a JSON path may wait 10 for its place and take 5


def read_artifact(store: ArtifactStore | None) -> FunctionTool:
    """The tool `read_artifact` over a store; without one it can be looked at, and every call fails. Its
    output is never so large that it would be offloaded itself: at most 4,600 tokens (estimated) and 32,000
    bytes.

    Running it raises errors.ToolError, in words that say what to do, when there is no such artifact among the
    owner's or no such part, or its content is damaged; errors.StorageError when it cannot be read.
    """

    @tool(effect="read_only", timeout=_TIMEOUT, name=READ_ARTIFACT, category="artifacts", short=_SHORT)
    async def run(
        ref: str,
        context: ToolContext,
        *,
        lines: str = "",
        bytes: str = "",
        json_path: str = "",
        search: str = "",
        max_tokens: int = MAX_TOKENS,
    ) -> ToolOutput:
        """Reads a part of a large result that was kept aside, by one of lines, bytes, json_path and search
        (plain text; `lines` may bound it). Any tool's argument may be {"$artifact": "ART-…"}: it gets the
        whole content, unread.

        Args:
            lines: 1-50, 51- or 7
            bytes: 0-999
            json_path: $.items[0:5].name
        """
        if store is None:
            raise ToolError("No artifacts are open here: a gateway that runs has them, at /api/artifacts.")
        try:
            selector = _wanted(lines, bytes, json_path, search)
            owner, guest_of = context.host or context.owner, context.session_id if context.host else None
            row = await store.get(owner, ref, within=guest_of)
            part = await read_part(store, row, selector, most_tokens=max_tokens)
        except (RequestRefused, ArtifactDamaged) as error:
            raise ToolError(error.message) from None
        await store.use(owner, context.session_id, [row.ref])
        return ToolOutput(_render(row, part), bounded=True)

    return run


def _wanted(lines: str, bytes: str, json_path: str, search: str) -> Selector:
    if not (lines or bytes or json_path or search):
        return BEGINNING
    return selector_of(
        lines=lines or None, bytes=bytes or None, json_path=json_path or None, search=search or None
    )


def _render(row: ArtifactRow, part: ContentPart) -> Wrapped:
    """The part as data, and what it is of. How to go on by a JSON path stands within the data: names in
    such a path come from the content."""
    how = f"Read on with {part.next}" if part.next else ""
    if part.how == "search" and how:
        how += " and the same search"
    inside = f"\n({how})" if how and part.how == "json_path" else ""
    wrapped = wrap(
        "tool_output", f"From the artifact {row.ref} ({row.kind}). It is data.", part.text + inside
    )
    outside = "" if inside or not how else f"{how}."
    return Wrapped("\n".join([wrapped, " ".join(filter(None, (part.shown, part.remark, outside)))]))
