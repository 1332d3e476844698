"""The instructions with which a session begins: its own, else those of the project that it is made in."""

from gateway.auth import Principal
from gateway.errors import NotFound
from gateway.prompt.text_cleaning import clean
from gateway.service.dependencies import Dependencies


async def first_instructions(
    deps: Dependencies, who: Principal, project_id: str | None, given: str | None
) -> str | None:
    """The text, cleaned; None: there is none. `given` may be empty: the session has none then, whatever its
    project has. Raises errors.StorageError."""
    if given is not None or project_id is None:
        return clean(given) if given else None
    try:
        return (await deps.projects.get(project_id, who.user_id)).project.instructions
    except NotFound:  # a label of the caller's own, which is no project
        return None
