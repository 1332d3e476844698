"""The URL table of what is remembered: memories, profiles, documents."""

from types import MappingProxyType

from gateway.api import documents_routes as documents
from gateway.api import memory_copies_routes as memory_copies
from gateway.api import memory_lookup_routes as memory_lookup
from gateway.api import memory_routes as memory
from gateway.api import profiles_routes as profiles
from gateway.api.documents_routes import DocumentList, DocumentRow
from gateway.api.memory_bodies import (
    CorrectBody,
    MemoriesQuery,
    MemoryPatch,
    MergeBody,
    NewMemoryBody,
    RestoreBody,
    SessionLogQuery,
)
from gateway.api.memory_copies_routes import Imported
from gateway.api.memory_lookup_routes import (
    ControlBody,
    ControlReply,
    RetrieveBody,
    Retrieved,
    WriteBody,
    Written,
)
from gateway.api.memory_replies import (
    MemoryChanges,
    MemoryDetails,
    MemoryItem,
    MemoryPage,
    MemoryVersions,
)
from gateway.api.profiles_routes import ProfileBody, ProfileList, ProfileReply
from gateway.http.endpoint import READS, Endpoint
from gateway.http.requests import NDJSON

MEMORY = "/api/memory"
M = MEMORY + "/{memory_id}"
PROFILE = "/api/profiles/{kind}/{profile_id}"
VERSION = MappingProxyType({"If-Match": "The ETag that a change expects; absent: any."})

MEMORIES = (
    Endpoint(
        "POST",
        MEMORY + "/control",
        "read",
        memory_lookup.control,
        {200: (ControlReply,)},
        ControlBody,
        refusals=(404, 413),
        action=READS,
    ),
    Endpoint(
        "POST",
        MEMORY + "/retrieve",
        "read",
        memory_lookup.retrieve,
        {200: (Retrieved,)},
        RetrieveBody,
        refusals=(404, 413),
        action=READS,
    ),
    Endpoint(
        "POST",
        MEMORY + "/write",
        "memory",
        memory_lookup.write,
        {200: (Written,)},
        WriteBody,
        refusals=(404, 409, 413, 429, 502),
        action="memory.write",
    ),
    Endpoint(
        "POST",
        MEMORY + "/correct",
        "memory",
        memory.correct,
        {200: (MemoryChanges,)},
        CorrectBody,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
        action="memory.correct",
    ),
    Endpoint(
        "POST",
        MEMORY + "/merge",
        "memory",
        memory.merge,
        {201: (MemoryChanges,)},
        MergeBody,
        refusals=(404, 409, 412, 413),
        action="memory.merge",
    ),
    Endpoint(
        "GET",
        MEMORY + "/export",
        "read",
        memory_copies.export,
        {200: (NDJSON,)},
        refusals=(404,),
        action="memory.export",
    ),
    Endpoint(
        "POST",
        MEMORY + "/import",
        "memory",
        memory_copies.import_,
        {200: (Imported,)},
        upload=NDJSON,
        refusals=(404, 409, 413, 429),
        action="memory.import",
    ),
    Endpoint(
        "POST",
        MEMORY,
        "memory",
        memory.create,
        {200: (MemoryItem,), 201: (MemoryItem,)},
        NewMemoryBody,
        refusals=(404, 409, 413),
        action="memory.create",
    ),
    Endpoint("GET", MEMORY, "read", memory.find, {200: (MemoryPage,)}, query=MemoriesQuery, refusals=(404,)),
    Endpoint("GET", M, "read", memory.read, {200: (MemoryDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        M,
        "memory",
        memory.change,
        {200: (MemoryItem,)},
        MemoryPatch,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
        action="memory.change",
    ),
    Endpoint(
        "DELETE",
        M,
        "memory",
        memory.delete,
        {204: (None,)},
        query=SessionLogQuery,
        refusals=(404, 412),
        headers=VERSION,
        action="memory.delete",
    ),
    Endpoint("GET", M + "/versions", "read", memory.versions, {200: (MemoryVersions,)}, refusals=(404,)),
    Endpoint(
        "POST",
        M + "/restore",
        "memory",
        memory.restore,
        {200: (MemoryItem,)},
        RestoreBody,
        query=SessionLogQuery,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
        action="memory.restore",
    ),
    Endpoint(
        "POST",
        M + "/erase",
        "memory",
        memory.erase,
        {204: (None,)},
        refusals=(404, 412),
        headers=VERSION,
        action="memory.erase",
    ),
    Endpoint(
        "POST",
        M + "/confirm",
        "memory",
        memory.confirm,
        {200: (MemoryItem,)},
        query=SessionLogQuery,
        refusals=(404, 409, 412),
        headers=VERSION,
        action="memory.confirm",
    ),
    Endpoint("GET", "/api/profiles", "read", profiles.find, {200: (ProfileList,)}, refusals=(404,)),
    Endpoint("GET", PROFILE, "read", profiles.read, {200: (ProfileReply,)}, refusals=(404,)),
    Endpoint(
        "PUT",
        PROFILE,
        "memory",
        profiles.put,
        {200: (ProfileReply,)},
        ProfileBody,
        refusals=(404, 412, 413),
        headers=VERSION,
        action="profile.put",
    ),
    Endpoint("GET", "/api/documents", "read", documents.find, {200: (DocumentList,)}, refusals=(404,)),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/deprecate",
        "admin",
        documents.deprecate,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
        action="document.deprecate",
    ),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/restore",
        "admin",
        documents.restore,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
        action="document.restore",
    ),
)  # fmt: skip - a table is read in rows
