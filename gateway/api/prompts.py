"""What the model is told, for whoever writes the prompts."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.api.replies import json_reply
from gateway.api.requests import parts_of
from gateway.prompt.assemble import Assembled, assemble
from gateway.prompt.components import Components
from gateway.prompt.report import describe
from gateway.prompt.report import preview as preview_of
from gateway.turn.conversation import prompt_limits, skills_told


async def components(request: Request) -> Response:
    """The prompt's components in their order: digest, size, limits, and what was cut."""
    return json_reply(describe(*_assembled(request)))


async def preview(request: Request) -> Response:
    """The assembled prompt as the model gets it, layer by layer."""
    return json_reply(preview_of(_assembled(request)[1]))


def _assembled(request: Request) -> tuple[Components, Assembled]:
    parts = parts_of(request)
    components, catalog = parts.prompts.read(), parts.skills.catalog
    assembled = assemble(
        components,
        (),
        tools=catalog.tools.specs(),
        skills=skills_told(parts, catalog),
        limits=prompt_limits(parts),
    )
    return components, assembled
