"""The routes of retention, legal holds, and of whole persons: export and erasure."""

from gateway.api import persons_routes as persons
from gateway.api import retention_routes as retention
from gateway.api.persons_routes import (
    ZIP,
    ErasureBody,
    ErasureReply,
    HoldBody,
    HoldList,
    HoldReply,
    TenantQuery,
)
from gateway.api.retention_routes import RetentionBody, RetentionPreview, RetentionQuery, RetentionReply
from gateway.http.endpoint import Cost, Endpoint

RETENTION = "/api/retention"
HOLDS = "/api/holds"
USER = "/api/users/{user}"

PERSONS = (
    Endpoint(
        "GET",
        RETENTION,
        "admin",
        retention.read,
        {200: (RetentionReply,)},
        query=RetentionQuery,
        refusals=(403,),
    ),
    Endpoint(
        "PUT",
        RETENTION,
        "admin",
        retention.put,
        {200: (RetentionReply,)},
        RetentionBody,
        refusals=(403, 413),
        action="retention.change",
    ),
    Endpoint(
        "GET",
        RETENTION + "/preview",
        "admin",
        retention.preview,
        {200: (RetentionPreview,)},
        refusals=(403,),
        cost=Cost("search"),
    ),
    Endpoint(
        "POST",
        HOLDS,
        "admin",
        persons.place_hold,
        {201: (HoldReply,)},
        HoldBody,
        refusals=(403, 404, 409, 413),
        action="hold.create",
    ),
    Endpoint("GET", HOLDS, "admin", persons.find_holds, {200: (HoldList,)}, refusals=(403,)),
    Endpoint(
        "DELETE",
        HOLDS + "/{hold_id}",
        "admin",
        persons.lift_hold,
        {204: (None,)},
        refusals=(403, 404),
        action="hold.lift",
    ),
    Endpoint(
        "GET",
        "/api/me/export",
        "read",
        persons.export_own,
        {200: (ZIP,)},
        action="person.export",
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        "/api/me/erasure",
        "chat",
        persons.erase_own,
        {202: (ErasureReply,)},
        ErasureBody,
        refusals=(409, 413),
        action="person.erase",
    ),
    Endpoint("GET", "/api/me/erasure", "read", persons.own_erasure, {200: (ErasureReply,)}, refusals=(404,)),
    Endpoint(
        "GET",
        USER + "/export",
        "admin",
        persons.export,
        {200: (ZIP,)},
        query=TenantQuery,
        refusals=(403,),
        action="person.export",
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        USER + "/erasure",
        "admin",
        persons.erase,
        {202: (ErasureReply,)},
        ErasureBody,
        query=TenantQuery,
        refusals=(403, 409, 413),
        action="person.erase",
    ),
    Endpoint(
        "GET",
        USER + "/erasure",
        "admin",
        persons.erasure,
        {200: (ErasureReply,)},
        query=TenantQuery,
        refusals=(403, 404),
    ),
)
