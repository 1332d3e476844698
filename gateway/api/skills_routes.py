"""The catalog of skills: list, look again, switch."""

from typing import Any

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.skills.catalog import Catalog
from gateway.skills.skill import SkillType


class SkillsQuery(Query):
    """Which skills."""

    type: SkillType | None = None


class SwitchBody(Body):
    """Whether a skill is offered to the model."""

    enabled: bool


class SkillRow(Reply):
    """A skill of the catalog."""

    name: str
    type: SkillType
    description: str
    location: str = Field(description="Relative to its source.")
    source: str = Field(
        description="project, user or bundled; a Python module or `built-in`; an MCP server's name."
    )
    enabled: bool
    metadata: dict[str, Any] = Field(description="parameters, category, examples and more, as far as known.")


class SkillList(Reply):
    """The catalog. `warnings` name conflicts and files that cannot be used."""

    skills: list[SkillRow]
    warnings: list[str]


@endpoint("GET", "/api/skills", "skill.list", {200: (SkillList,)}, query=SkillsQuery)
async def find(request: ApiRequest) -> Response:
    """All skills, or those of one type."""
    query = await request.read_query(SkillsQuery)
    return json_reply(_listed(request.gateway.skills.catalog, query.type))


@endpoint("POST", "/api/skills/refresh", "skill.refresh", {200: (SkillList,)}, cost=Cost("assemble"))
async def refresh(request: ApiRequest) -> Response:
    """Looks at the folders again and returns the catalog as it is now."""
    return json_reply(_listed(await request.gateway.skills.refresh(), None))


@endpoint(
    "PATCH",
    "/api/skills/{name}",
    "skill.switch",
    {200: (SkillRow,)},
    SwitchBody,
    refusals=(403, 404, 409, 413),
)
async def switch(request: ApiRequest) -> Response:
    """Switches a skill on or off, for everybody, from the next turn on."""
    body = await request.read_body(SwitchBody)
    name = request.path_text("name")
    skill = await request.gateway.skills.switch(request.principal, name, enabled=body.enabled)
    return json_reply(SkillRow.from_row(skill))


def _listed(catalog: Catalog, kind: SkillType | None) -> SkillList:
    rows = [SkillRow.from_row(skill) for skill in catalog.skills if kind in {None, skill.type}]
    return SkillList(skills=rows, warnings=list(catalog.warnings))
