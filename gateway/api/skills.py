"""The catalog of skills: list, look again, switch."""

from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Body, Query, Reply
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, path_text, principal_of, read_body, read_query
from gateway.skills.catalog import Catalog
from gateway.skills.skill import CatalogSkill, SkillType


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

    @classmethod
    def of(cls, skill: CatalogSkill) -> "SkillRow":
        return cls(
            name=skill.name,
            type=skill.type,
            description=skill.description,
            location=skill.location,
            source=skill.source,
            enabled=skill.enabled,
            metadata=dict(skill.metadata),
        )


class SkillList(Reply):
    """The catalog. `warnings` name conflicts and files that cannot be used."""

    skills: list[SkillRow]
    warnings: list[str]


async def find(request: Request) -> Response:
    """All skills, or those of one type."""
    query = read_query(request, SkillsQuery)
    return json_reply(_listed(gateway_of(request).skills.catalog, query.type))


async def refresh(request: Request) -> Response:
    """Looks at the folders again and returns the catalog as it is now."""
    return json_reply(_listed(await gateway_of(request).skills.refresh(), None))


async def switch(request: Request) -> Response:
    """Switches a skill on or off, for everybody, from the next turn on."""
    body = await read_body(request, SwitchBody)
    name = path_text(request, "name")
    skill = await gateway_of(request).skills.switch(principal_of(request), name, enabled=body.enabled)
    return json_reply(SkillRow.of(skill))


def _listed(catalog: Catalog, kind: SkillType | None) -> SkillList:
    rows = [SkillRow.of(skill) for skill in catalog.skills if kind in {None, skill.type}]
    return SkillList(skills=rows, warnings=list(catalog.warnings))
