"""The limits of turns: those of the settings, and those that the operator sets while the gateway runs."""

from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest

MAX_RULES = 200


class LimitsBody(Body):
    """Rules in the form of GATEWAY_LIMITS, such as `user=ada:cost=20/month`, in the place of all that were
    set here before. Of those that count the same the first that fits holds, before any of the settings."""

    rules: list[Annotated[str, Field(min_length=1, max_length=500)]] = Field(max_length=MAX_RULES)


class LimitRuleReply(Reply):
    rule: str
    changed_by: str
    changed_at: int = Field(description="Unix milliseconds.")


class LimitRules(Reply):
    """What limits there are, in the order in which they are asked."""

    added: list[LimitRuleReply]
    of_settings: list[str] = Field(description="GATEWAY_LIMITS; changed there alone.")


@endpoint("GET", "/api/limits", "limit.list", {200: (LimitRules,)}, refusals=(403,))
async def find(request: ApiRequest) -> Response:
    """The limits, for the operator; `GET /api/usage` says how one's own stand."""
    return json_reply(await _found(request))


@endpoint("PUT", "/api/limits", "limit.change", {200: (LimitRules,)}, LimitsBody, refusals=(403, 413))
async def replace(request: ApiRequest) -> Response:
    """Sets the limits beside those of the settings, from the next turn on; for the operator."""
    body = await request.read_body(LimitsBody)
    await request.gateway.added_limits.replace(request.principal, body.rules)
    return json_reply(await _found(request))


async def _found(request: ApiRequest) -> LimitRules:
    added = await request.gateway.added_limits.list()
    return LimitRules(
        added=[LimitRuleReply.from_row(each) for each in added], of_settings=list(request.settings.limits)
    )
