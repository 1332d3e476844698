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
from gateway.http.endpoint import Endpoint

RETENTION = "/api/retention"
HOLDS = "/api/holds"
USER = "/api/users/{user}"

PERSONS = (
    Endpoint(
        "GET",
        RETENTION,
        "retention.read",
        retention.read,
        {200: (RetentionReply,)},
        query=RetentionQuery,
        refusals=(403,),
    ),
    Endpoint(
        "PUT",
        RETENTION,
        "retention.change",
        retention.put,
        {200: (RetentionReply,)},
        RetentionBody,
        refusals=(403, 413),
    ),
    Endpoint(
        "GET",
        RETENTION + "/preview",
        "retention.preview",
        retention.preview,
        {200: (RetentionPreview,)},
        refusals=(403,),
    ),
    Endpoint(
        "POST",
        HOLDS,
        "hold.create",
        persons.place_hold,
        {201: (HoldReply,)},
        HoldBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint("GET", HOLDS, "hold.list", persons.find_holds, {200: (HoldList,)}, refusals=(403,)),
    Endpoint(
        "DELETE",
        HOLDS + "/{hold_id}",
        "hold.lift",
        persons.lift_hold,
        {204: (None,)},
        refusals=(403, 404),
    ),
    Endpoint("GET", "/api/me/export", "person.export", persons.export_own, {200: (ZIP,)}),
    Endpoint(
        "POST",
        "/api/me/erasure",
        "person.erase",
        persons.erase_own,
        {202: (ErasureReply,)},
        ErasureBody,
        refusals=(409, 413),
    ),
    Endpoint(
        "GET",
        "/api/me/erasure",
        "person.read_erasure",
        persons.own_erasure,
        {200: (ErasureReply,)},
        refusals=(404,),
    ),
    Endpoint(
        "GET",
        USER + "/export",
        "other_person.export",
        persons.export,
        {200: (ZIP,)},
        query=TenantQuery,
        refusals=(403,),
    ),
    Endpoint(
        "POST",
        USER + "/erasure",
        "other_person.erase",
        persons.erase,
        {202: (ErasureReply,)},
        ErasureBody,
        query=TenantQuery,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "GET",
        USER + "/erasure",
        "other_person.read_erasure",
        persons.erasure,
        {200: (ErasureReply,)},
        query=TenantQuery,
        refusals=(403, 404),
    ),
)
