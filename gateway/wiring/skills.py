"""What a model may call and read."""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.read_artifact import read_artifact
from gateway.errors import SettingsError
from gateway.history.read_archive import NAME as READ_ARCHIVE
from gateway.memory.households import households_of
from gateway.memory.services import MemoryServices
from gateway.memory.tool import NAME as MANAGE_MEMORY
from gateway.memory.tool import manage_memory, unavailable_memory_tool
from gateway.schedules import tool as schedule_tool
from gateway.schedules.schedule_editor import ScheduleEditor
from gateway.settings import Settings
from gateway.skills.folders import bundled_folder
from gateway.skills.functions import load_functions
from gateway.skills.library import SNAPSHOT_NAME, SkillLibrary
from gateway.skills.skill import BUILT_IN, FunctionSkill, ServerTool
from gateway.storage.decisions import SkillSwitches
from gateway.storage.decisions.stored_switches import StoredSwitches
from gateway.tools.base import READ_ARTIFACT, FunctionTool
from gateway.tools.builtin import builtin_tools
from gateway.tools.fetch.http_fetch import http_fetch
from gateway.tools.policy import is_trusted

TAKEN = frozenset({READ_ARCHIVE, MANAGE_MEMORY, READ_ARTIFACT, schedule_tool.MANAGE, schedule_tool.LIST})
"""Names of tools that are made here."""

log = structlog.get_logger(__name__)


def look_at_skills(
    settings: Settings,
    functions: Sequence[FunctionSkill],
    server_tools: Callable[[], Sequence[ServerTool]],
    window: int,
) -> SkillLibrary:
    """As `open_skills`, for commands that only read, also while a gateway has the data folder: no snapshot is
    written."""
    unwritten = settings.model_copy(update={"skills_snapshot": False})
    return open_skills(unwritten, _stored_switches(settings), functions, server_tools, window)


def _stored_switches(settings: Settings) -> SkillSwitches:
    if not settings.is_shared:
        return StoredSwitches(settings.database_path)
    from gateway.storage.postgres.connections import ServerAddress  # noqa: PLC0415 - psycopg is an extra
    from gateway.storage.postgres.stored_switches import ServedSwitches  # noqa: PLC0415

    return ServedSwitches(ServerAddress(settings.database_url or ""))


def open_skills(
    settings: Settings,
    switches: SkillSwitches,
    functions: Sequence[FunctionSkill],
    server_tools: Callable[[], Sequence[ServerTool]],
    window: int,
) -> SkillLibrary:
    """The catalog of what is configured, whose snapshot may take a share of `window` tokens; it is looked at
    first with `refresh`."""
    return SkillLibrary(
        folders={
            "project": settings.skills_dir.expanduser(),
            "user": settings.user_skills_dir.expanduser() if settings.user_skills_dir else None,
            "bundled": bundled_folder() if settings.bundled_skills else None,
        },
        functions=functions,
        server_tools=server_tools,
        switches=switches,
        share_tokens=int(window * settings.skills_share),
        snapshot_path=settings.data_dir / SNAPSHOT_NAME if settings.skills_snapshot else None,
    )


def function_skills(settings: Settings, given: Sequence[FunctionTool] = ()) -> list[FunctionSkill]:
    """The built-in tools, those that are `given`, and those of the modules that settings and installed
    packages name, in this order.

    Raises:
        SettingsError: a module that settings name cannot be used.
    """
    functions, warnings = find_functions(settings, given)
    for warning in warnings:
        log.warning("skill_warning", told=warning)
    return functions


def find_functions(
    settings: Settings, given: Sequence[FunctionTool] = ()
) -> tuple[list[FunctionSkill], list[str]]:
    """`function_skills`, and what could not be used."""
    built_in = [*builtin_tools(), *([http_fetch()] if settings.http_fetch else [])]
    loaded, warnings = load_functions(settings.skill_modules)
    functions = [
        *(FunctionSkill(tool, BUILT_IN, tool.spec.name) for tool in built_in),
        *(FunctionSkill(tool, "app", tool.spec.name) for tool in given),
        *loaded,
    ]
    for skill in functions:
        if (name := skill.tool.spec.name) in TAKEN:
            raise SettingsError(f"{skill.source}: the name {name} is taken. Give the tool another.")
    return functions, warnings


def artifact_skill(artifact_store: ArtifactStore | None) -> FunctionSkill:
    """The tool with which a model reads artifacts; without a store it only answers that it is
    there."""
    return FunctionSkill(read_artifact(artifact_store), BUILT_IN, READ_ARTIFACT)


def memory_skill(settings: Settings, services: MemoryServices | None) -> FunctionSkill:
    """The tool with which a model looks after memories; without services it can only be listed."""
    if services is None:
        return FunctionSkill(unavailable_memory_tool(), BUILT_IN, MANAGE_MEMORY)
    tool = manage_memory(
        services.memories,
        services.searcher,
        lambda user: households_of(settings, user),
        trusts=partial(is_trusted, settings.trusted_tools),
    )
    return FunctionSkill(tool, BUILT_IN, MANAGE_MEMORY)


def schedule_skills(settings: Settings, schedules: ScheduleEditor | None) -> list[FunctionSkill]:
    """The tools for schedules, unless there may be none; without `schedules` they can only be listed."""
    if not settings.max_schedules:
        return []
    tools = schedule_tool.schedule_tools(schedules)
    return [FunctionSkill(tool, BUILT_IN, tool.spec.name) for tool in tools]
