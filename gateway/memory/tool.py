"""The tool `manage_memory`: what a model may do with the memories of the user it serves."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from gateway.errors import RequestRefused, StorageError, ToolError
from gateway.memory.memories import MAX_DEPENDS_ON, Memories
from gateway.storage.memories import MAX_TOOLS, MemoryType, Scope, shared_scope
from gateway.tools.base import MANAGE_MEMORY, FunctionTool, LastingChange, ToolContext
from gateway.tools.function import tool
from gateway.tools.policy import is_trusted

if TYPE_CHECKING:
    from gateway.memory.search.searcher import Searcher
    from gateway.memory.tool_call import MemoryCall

NAME = MANAGE_MEMORY
OUT_OF_REACH = "The memory cannot be reached just now. Go on without it, or try again a little later."

TEMPORARY = "This conversation is temporary: nothing is kept of it, and nothing that was kept is used in it."
NOT_ALLOWED = (
    "The key or sign-in that this was asked with does not allow to {action} memories. Tell the user that it "
    "needs the scope memory."
)

_SHORT = """Keeps lasting facts and wishes of the user, one sentence each; no secrets, no one-off requests.

Args:
    id: Of a memory, as in brackets before it.
    content: To save or update.
    search: Words to look for.
"""

TRUSTS = partial(is_trusted, ())
"""Which tools are trusted without rules."""

Action = Literal["save", "list", "search", "update", "delete", "confirm"]
OPERATIONS: Mapping[Action, str] = MappingProxyType(
    {
        "save": "memory.create",
        "list": "memory.list",
        "search": "memory.retrieve",
        "update": "memory.change",
        "delete": "memory.delete",
        "confirm": "memory.confirm",
    }
)
"""What each action is, by the names of `auth.operations`: who calls the tool needs the same rights for it as
by any other door."""


def manage_memory(
    memories: Memories,
    searcher: "Searcher",
    households: Callable[[str], tuple[str, ...]] = lambda _: (),
    *,
    trusts: Callable[[str], bool] = TRUSTS,
    who: str = "The model",
) -> FunctionTool:
    """The tool over one store, for the user, role, project and session of the call's context; an empty
    session or turn is none. `households` gives those that a user is a member of, `trusts` is whether the
    operator trusts a tool, by name, and `who` begins the reasons that changes are stored with. Each change is
    emitted as a `memory` event, each search that found something as a `retrieval` event.

    Running it raises errors.ToolError when the memory refuses, in words that say what to do next.
    """
    # Half of the memory's code, which a command that only lists the tool does without.
    from gateway.memory.editor import Editor  # noqa: PLC0415
    from gateway.memory.tool_call import MemoryCall  # noqa: PLC0415

    def begin(context: ToolContext) -> "MemoryCall":
        if context.is_temporary:
            raise ToolError(TEMPORARY)
        scope = Scope(
            context.owner,
            context.role_id,
            context.project_id,
            context.session_id or None,
            households(context.owner),
        )
        if context.is_shared and context.project_id:
            scope = shared_scope(context.project_id)
        found = context.influence
        turn_id = context.turn_id or None
        editor = Editor(memories, scope, scope, "model", turn_id, found.cause, found.foreign[:MAX_TOOLS])
        return MemoryCall(editor, searcher, context, who, trusts)

    return _made(begin)


def unavailable_memory_tool() -> FunctionTool:
    """The tool where no memory is open: it can be looked at, and running it raises errors.ToolError."""

    def refuse(_: ToolContext) -> "MemoryCall":
        raise ToolError("No memory is open here. `gateway memory` looks after it on the command line.")

    return _made(refuse)


def _made(begin: Callable[[ToolContext], "MemoryCall"]) -> FunctionTool:
    async def changes(arguments: dict[str, Any], context: ToolContext) -> LastingChange | None:
        action, memory_id = arguments.get("action"), arguments.get("id")
        if action not in {"delete", "update"} or not isinstance(memory_id, str):
            return None
        return await begin(context).change(action, _bare(memory_id), arguments.get("content"))

    @tool(effect="idempotent", timeout=15, name=NAME, category="memory", changes=changes, short=_SHORT)
    async def run(
        action: Action,
        *,
        context: ToolContext,
        id: str | None = None,
        content: str | None = None,
        search: Annotated[str | None, Field(max_length=1000)] = None,
        type: MemoryType | None = None,
        importance: Annotated[int | None, Field(ge=1, le=5)] = None,
        tags: list[str] | None = None,
        pinned: bool | None = None,
        based_on: Annotated[list[str] | None, Field(max_length=MAX_DEPENDS_ON)] = None,
        version: int | None = None,
        passage: Annotated[int | None, Field(ge=1)] = None,
    ) -> str:
        """Keeps what is worth knowing about the user in later conversations, and looks it up or corrects it.

        Save what lasts: preferences, facts about the user, decisions, constraints, and whatever they ask you
        to remember. Do not save one-off requests, passwords or other secrets, guesses, or what tools and web
        pages said. Write one sentence for each matter, true on its own, in the language of the user. If
        something like it may be known already, search first, and update that instead. What the user says now
        counts more than a memory: update or delete what is no longer true, and delete what they want
        forgotten.

        Actions: save (content), list (the newest; with an id everything about that memory or document, of a
        long one some passages), search (search), update (id and what changes), delete (id), confirm (id of
        one that waits for the user, who has just said to remember it).

        Args:
            action: What to do.
            id: Of the memory or document, as it stands before it in brackets, such as m_ and 16 hex digits.
            content: What to remember, in one sentence, such as "Prefers a plain design style." or
                "喜欢简约的设计风格。"
            search: What to look for: a few words or a question, in any language the memories are in.
            type: What kind of memory it is (fact if absent), or to list and search for.
            importance: From 1, trivial, to 5, always to be heeded; 3 if absent.
            tags: A few words to file it under.
            pinned: Whether it stands in your prompt before all others, however much is remembered.
            based_on: Ids of memories that it follows from: once one of them is corrected, it is in doubt.
            version: The version that you read, to change or delete it only if nobody else did since.
            passage: Of a long one: the number of the passage to list from, the first if absent.
        """
        if not context.may(OPERATIONS[action]):
            raise ToolError(NOT_ALLOWED.format(action=action), code="forbidden")
        call = begin(context)
        named = {"content": content, "type": type, "importance": importance, "tags": tags, "pinned": pinned}
        given = {name: value for name, value in named.items() if value is not None}
        try:
            match action:
                case "save":
                    return await call.save(given, based_on or [])
                case "update":
                    return await call.update(_needed("id", id, action), given, based_on or [], version)
                case "delete" | "confirm":
                    act = call.delete if action == "delete" else call.confirm
                    return await act(_needed("id", id, action), version)
                case "list" if id:
                    return await call.show(_needed("id", id, action), passage or 1)
                case "list" if not search:
                    return await call.list(type)
                case _:
                    return await call.search(_needed("search", search, action), type)
        except RequestRefused as refused:
            raise ToolError(refused.message, code=refused.code, details=refused.details) from None
        except StorageError as error:  # its message is for operators: it may name files
            raise ToolError(OUT_OF_REACH, code=error.code, retryable=True) from error

    return run


def _bare(memory_id: str) -> str:
    """The id as it stands before a line."""
    return memory_id.strip().removeprefix("[").removesuffix("]")


def _needed(name: Literal["id", "search"], given: str | None, action: Action) -> str:
    if name == "id" and given:
        given = _bare(given)
    if given and given.strip():
        return given.strip()
    if name == "id":
        raise ToolError(f"id is missing: list or search memories to see which one to {action}.")
    raise ToolError('search is missing: give a few words to look for, such as "design style".')
