"""`gateway memory`: what is remembered, looked after by a person. A gateway may run meanwhile, or none."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.memory_options import (
    Content,
    Id,
    Importance,
    Kind,
    Pinned,
    Project,
    Role,
    Tags,
    User,
    Version,
    given_text,
)
from gateway.cli.open_memory import change_in, in_context, in_stored
from gateway.cli.options import AsJson, Yes
from gateway.storage.memories import Status

if TYPE_CHECKING:
    from gateway.cli.memory_context import MemoryContext, OpenMemories


def list_(
    *,
    kind: Kind = None,
    status: Annotated[Status | None, typer.Option(help="Only these.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only these.")] = None,
    unconfirmed: Annotated[
        bool, typer.Option("--unconfirmed", help="Only what waits to be confirmed.")
    ] = False,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Deleted ones: `restore` brings one back.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Most to show.")] = 50,
    user: User = "local",
    role: Role = None,
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered, the newest first."""
    from gateway.cli.memory_views import show_deleted, show_rows
    from gateway.storage.memories import Filter

    if deleted and (kind or status or tag or unconfirmed or role or project):
        raise typer.BadParameter("--deleted goes with --limit and --user only: no more is known of them.")
    which = Filter(
        types=(kind,) if kind else (),
        statuses=(status,) if status else (),
        tag=tag,
        quarantined=True if unconfirmed else None,
        runtime=True,
    )

    async def work(stored: "OpenMemories") -> None:
        store = stored.memories.store
        if deleted:
            show_deleted(await store.tombstones(stored.all_scopes, limit=limit), as_json=as_json)
            return
        rows = await stored.memories.list(stored.viewer, which, limit=limit)
        count = await store.count(stored.viewer, which)
        filtered = bool(kind or status or tag or unconfirmed or role or project)
        show_rows(rows, count, user, filtered=filtered, as_json=as_json)

    in_stored(user, work, role=role, project=project)


def search(
    text: Annotated[str, typer.Argument(help="A few words or a question.")],
    *,
    kind: Kind = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Most to show.")] = 20,
    user: User = "local",
    role: Annotated[str | None, typer.Option(help="In this role, or interface. [default: in none]")] = None,
    project: Annotated[str | None, typer.Option(help="In this project. [default: in none]")] = None,
    as_json: AsJson = False,
) -> None:
    """Look memories and documents up, as a turn would."""
    from gateway.cli.memory_views import show_hits
    from gateway.memory.search.query import MemoryQuery

    async def work(context: "MemoryContext") -> None:
        types = (kind,) if kind else ()
        query = MemoryQuery(text, types, budget_tokens=100 * limit, limit=limit, summaries_only=True)
        show_hits(await context.services.searcher.find(context.scope, query), user, as_json=as_json)

    in_context(user, work, role=role, project=project)


def show(memory_id: Id, *, user: User = "local", as_json: AsJson = False) -> None:
    """Show everything about one memory: its evidence, and what it was before."""
    from gateway.cli.memory_views import show_details

    async def work(stored: "OpenMemories") -> None:
        show_details(await stored.memories.details(stored.viewer, memory_id), as_json=as_json)

    in_stored(user, work)


def save(
    content: Content,
    *,
    kind: Kind = None,
    importance: Importance = None,
    tag: Tags = None,
    pinned: Pinned = None,
    owner: Annotated[
        Literal["user", "role", "project", "household"],
        typer.Option(help="Whose it is: the user's, or that of the --role or --project, or the household's."),
    ] = "user",
    depends_on: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A memory that it follows from; may be given several times."),
    ] = None,
    user: User = "local",
    role: Role = None,
    project: Project = None,
    as_json: AsJson = False,
) -> None:
    """Remember something."""
    from gateway.memory.validation import NewMemory

    if (owner == "role" and not role) or (owner == "project" and not project):
        raise typer.BadParameter(f"--owner {owner} needs --{owner}.")
    new = NewMemory(
        given_text(content),
        type=kind or "fact",
        importance=importance or 3,
        tags=tag or (),
        pinned=bool(pinned),
        owner_type=owner,
    )
    change_in(
        user,
        "Saved",
        lambda context, reason: context.editor.save(new, reason, depends_on=depends_on or ()),
        role=role,
        project=project,
        makes=True,
        as_json=as_json,
    )


def edit(
    memory_id: Id,
    *,
    content: Annotated[
        str | None, typer.Option(help="What it says from now on; - reads it from stdin.")
    ] = None,
    kind: Kind = None,
    importance: Importance = None,
    tag: Tags = None,
    pinned: Pinned = None,
    version: Version = None,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Change a memory."""
    named = {
        "content": None if content is None else given_text(content),
        "type": kind,
        "importance": importance,
        "tags": tag,
        "pinned": pinned,
    }
    given = {name: value for name, value in named.items() if value is not None}
    if not given:
        raise typer.BadParameter(
            "Nothing to change: give --content, --type, --importance, --tag or --pinned."
        )
    change_in(
        user,
        "Edited",
        lambda context, reason: context.editor.edit(memory_id, given, reason, version=version),
        as_json=as_json,
    )


def delete(memory_id: Id, *, version: Version = None, user: User = "local", as_json: AsJson = False) -> None:
    """Forget a memory: nothing recalls it any more. For 30 days `restore` brings it back."""
    change_in(
        user,
        "Deleted",
        lambda context, reason: context.editor.delete(memory_id, reason, version=version),
        as_json=as_json,
    )


def restore(
    memory_id: Id,
    *,
    to: Annotated[
        int | None,
        typer.Option(min=1, help="One of its versions. [default: what it was when it was deleted]"),
    ] = None,
    version: Version = None,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Bring a deleted memory back, or make one again what it was."""
    change_in(
        user,
        "Restored",
        lambda context, reason: context.editor.restore(memory_id, reason, to=to, version=version),
        as_json=as_json,
    )


def erase(
    memory_id: Id,
    *,
    yes: Yes = False,
    version: Version = None,
    user: User = "local",
) -> None:
    """Remove a memory for good, with all it ever was. Also one that is deleted."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("An erased memory cannot be had back: add --yes.")
        typer.confirm(f"Erase {memory_id} for good?", err=True, abort=True)
    in_context(user, lambda context: context.erase(memory_id, version))
    print(f"{memory_id} is erased.")


def confirm(memory_id: Id, *, version: Version = None, user: User = "local", as_json: AsJson = False) -> None:
    """Say that something is true which waits to be confirmed, or which is marked to be looked at."""
    change_in(
        user,
        "Confirmed",
        lambda context, reason: context.editor.confirm(memory_id, reason, version=version),
        as_json=as_json,
    )


def correct(
    memory_id: Id,
    action: Annotated[
        Literal["suppress", "freeze", "activate", "replace"],
        typer.Argument(
            help="suppress: recalled last; freeze: not recalled; activate: undo; replace: --content."
        ),
    ],
    *,
    content: Annotated[str | None, typer.Option(help="What is true instead; - reads it from stdin.")] = None,
    version: Version = None,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Weaken, exclude or replace a memory. What depended on it is marked to be looked at."""
    if (action == "replace") != (content is not None):
        raise typer.BadParameter("replace needs --content, the others take none.")
    text = None if content is None else given_text(content)
    change_in(
        user,
        "Corrected",
        lambda context, reason: context.editor.correct(
            memory_id, action, reason, new_content=text, version=version
        ),
        as_json=as_json,
    )


def merge(
    memory_ids: Annotated[list[str], typer.Argument(help="Of two to twenty memories.")],
    *,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Make one memory of several, which it replaces. It says what they say, one below the other."""
    change_in(
        user, "Merged", lambda context, reason: context.editor.merge(memory_ids, reason), as_json=as_json
    )


def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. [default: stdout]")
    ] = None,
    user: User = "local",
) -> None:
    """Write all memories of a user to a file, one JSON object a line, that `import` reads."""
    from gateway.cli.memory_files import write_memories

    in_context(user, lambda context: write_memories(context, output))


def import_(
    file: Annotated[Path, typer.Argument(help="An export; - is stdin.", allow_dash=True)],
    user: User = "local",
) -> None:
    """Read memories from a file. What is there already is reinforced, not doubled."""
    from gateway.cli.memory_files import read_memories

    report = in_context(user, lambda context: read_memories(context, file), makes=True)
    sys.exit(1 if report.refused else 0)
