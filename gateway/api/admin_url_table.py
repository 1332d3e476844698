"""The routes of usage by the month, and of those who look after a gateway."""

from gateway.api import health_routes as health
from gateway.api import limits_routes as limits
from gateway.api import prompt_versions_routes as versions
from gateway.api import usage_routes as usage
from gateway.api.health_routes import ServerReply
from gateway.api.limits_routes import LimitRules, LimitsBody
from gateway.api.prompt_versions_routes import (
    PromptVersionList,
    PromptVersionReply,
    VersionBody,
    VersionsQuery,
)
from gateway.api.usage_routes import CSV, MonthQuery, MonthReply, UserList, UserMonthQuery, UsersQuery
from gateway.http.endpoint import Cost, Endpoint

LIMITS = "/api/limits"
VERSIONS = "/api/prompts/components/{component}/versions"

ADMIN = (
    Endpoint("GET", "/api/server", "server.read", health.server, {200: (ServerReply,)}, refusals=(403,)),
    Endpoint("GET", LIMITS, "limit.list", limits.find, {200: (LimitRules,)}, refusals=(403,)),
    Endpoint(
        "PUT",
        LIMITS,
        "limit.change",
        limits.replace,
        {200: (LimitRules,)},
        LimitsBody,
        refusals=(403, 413),
    ),
    Endpoint(
        "GET",
        VERSIONS,
        "prompt.list_versions",
        versions.find,
        {200: (PromptVersionList,)},
        query=VersionsQuery,
        refusals=(403, 404),
    ),
    Endpoint(
        "PUT",
        VERSIONS,
        "prompt.change",
        versions.change,
        {200: (PromptVersionReply,)},
        VersionBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "GET",
        "/api/usage/month",
        "usage.read",
        usage.own_month,
        {200: (MonthReply, CSV)},
        query=MonthQuery,
        cost=Cost("search"),
    ),
    Endpoint(
        "GET",
        "/api/users",
        "user.list",
        usage.find_users,
        {200: (UserList,)},
        query=UsersQuery,
        refusals=(403,),
        cost=Cost("search"),
    ),
    Endpoint(
        "GET",
        "/api/users/{user}/usage",
        "other_person.read_usage",
        usage.month_of_user,
        {200: (MonthReply, CSV)},
        query=UserMonthQuery,
        refusals=(403,),
        cost=Cost("search"),
    ),
)
