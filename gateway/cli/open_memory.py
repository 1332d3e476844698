"""The memory of a user, opened for the work of one command."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from gateway.cli.memory_context import MemoryContext, OpenMemories
    from gateway.memory.changes import Changed

T = TypeVar("T")


def checked_id(name: str, option: str) -> str:
    """`name`, if it is an id. Raises typer.BadParameter."""
    from gateway.ids import is_id, is_user

    if not (is_user(name) if option == "--user" else is_id(name)):
        raise typer.BadParameter(f"{option} takes an id: 1 to 64 letters, digits, _ and -.")
    return name


def in_context(
    user: str,
    work: "Callable[[MemoryContext], Awaitable[T]]",
    *,
    role: str | None = None,
    project: str | None = None,
    makes: bool = False,
) -> T:
    """Returns what `work` returns, done on the memory of a user. Raises typer.BadParameter for what is no id,
    and as `open_context`."""
    import asyncio

    from gateway.cli.memory_context import open_context

    _check_ids(user, role, project)

    async def at_once() -> T:
        async with open_context(user, role, project, makes=makes) as context:
            return await work(context)

    return asyncio.run(at_once())


def in_stored(
    user: str,
    work: "Callable[[OpenMemories], Awaitable[None]]",
    *,
    role: str | None = None,
    project: str | None = None,
) -> None:
    """Does `work` on the stored memories of a user. Raises as `in_context`."""
    import asyncio

    from gateway.cli.memory_context import open_stored

    _check_ids(user, role, project)

    async def at_once() -> None:
        async with open_stored(user, role, project) as stored:
            await work(stored)

    asyncio.run(at_once())


def _check_ids(user: str, role: str | None, project: str | None) -> None:
    for name, option in ((user, "--user"), (role, "--role"), (project, "--project")):
        if name is not None:
            checked_id(name, option)


def change_in(
    user: str,
    what: str,
    change: "Callable[[MemoryContext, str], Awaitable[Changed | Sequence[Changed]]]",
    *,
    role: str | None = None,
    project: str | None = None,
    makes: bool = False,
    as_json: bool,
) -> None:
    """Shows what `change` did, which is given the reason that its changes are stored with. Raises as
    `in_context`."""
    from gateway.cli.memory_views import show_changes
    from gateway.memory.changes import Changed

    reason = f"{what} on the command line."
    changed = in_context(
        user, lambda context: change(context, reason), role=role, project=project, makes=makes
    )
    show_changes([changed] if isinstance(changed, Changed) else changed, as_json=as_json)
