"""`gateway memory contradictions`: memories of which one can hold only, and the answer which of them does."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.memory_options import User
from gateway.cli.open_memory import change_in, in_stored
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.cli.memory_context import OpenMemories


def contradictions(
    earlier: Annotated[str | None, typer.Argument(help="The earlier memory of a listed pair.")] = None,
    later: Annotated[str | None, typer.Argument(help="The later memory of that pair.")] = None,
    answer: Annotated[
        Literal["later", "earlier", "both", "undecided"] | None,
        typer.Argument(help="Which of them holds; undecided: take `both` back, so that it is asked again."),
    ] = None,
    *,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Show memories that contradict each other, or say which of two holds."""
    from gateway.cli.memory_views import show_contradictions
    from gateway.memory.corrections.contradictions import contradictions as waiting

    if earlier is None or later is None or answer is None:
        if earlier is not None:
            raise typer.BadParameter(
                "An answer takes two ids and which holds: later, earlier, both, undecided."
            )

        async def work(stored: "OpenMemories") -> None:
            found = await waiting(stored.memories.store, stored.viewer)
            show_contradictions(found, user, as_json=as_json)

        in_stored(user, work)
        return
    change_in(
        user,
        "Answered",
        lambda context, reason: context.editor.answer(earlier, later, answer, reason),
        as_json=as_json,
    )
