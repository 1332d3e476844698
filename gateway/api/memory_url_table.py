"""The URL table of what is remembered: memories, profiles, documents."""

from types import MappingProxyType

from gateway.api import documents_routes as documents
from gateway.api import memory_copies_routes as memory_copies
from gateway.api import memory_lookup_routes as memory_lookup
from gateway.api import memory_routes as memory
from gateway.api import profiles_routes as profiles
from gateway.api.documents_routes import DocumentList, DocumentRow
from gateway.api.memory_bodies import (
    AnswerBody,
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
    Contradictions,
    MemoryChanges,
    MemoryDetails,
    MemoryItem,
    MemoryPage,
    MemoryVersions,
)
from gateway.api.profiles_routes import ProfileBody, ProfileList, ProfileReply
from gateway.http.endpoint import Cost, Endpoint
from gateway.http.requests import NDJSON

MEMORY = "/api/memory"
M = MEMORY + "/{memory_id}"
PROFILE = "/api/profiles/{kind}/{profile_id}"
VERSION = MappingProxyType({"If-Match": "The ETag that a change expects; absent: any."})

MEMORIES = (
    Endpoint(
        "POST",
        MEMORY + "/control",
        "memory.control",
        memory_lookup.control,
        {200: (ControlReply,)},
        ControlBody,
        refusals=(404, 413),
        cost=Cost("search"),
    ),
    Endpoint(
        "POST",
        MEMORY + "/retrieve",
        "memory.retrieve",
        memory_lookup.retrieve,
        {200: (Retrieved,)},
        RetrieveBody,
        refusals=(404, 413),
        cost=Cost("search"),
    ),
    Endpoint(
        "POST",
        MEMORY + "/write",
        "memory.write",
        memory_lookup.write,
        {200: (Written,)},
        WriteBody,
        refusals=(404, 409, 413, 429, 502),
        cost=Cost("model"),
    ),
    Endpoint(
        "POST",
        MEMORY + "/correct",
        "memory.correct",
        memory.correct,
        {200: (MemoryChanges,)},
        CorrectBody,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint(
        "POST",
        MEMORY + "/merge",
        "memory.merge",
        memory.merge,
        {201: (MemoryChanges,)},
        MergeBody,
        refusals=(404, 409, 412, 413),
    ),
    Endpoint(
        "GET",
        MEMORY + "/contradictions",
        "memory.list_contradictions",
        memory.contradictions,
        {200: (Contradictions,)},
        refusals=(404,),
        cost=Cost("search"),
    ),
    Endpoint(
        "POST",
        MEMORY + "/contradictions",
        "memory.answer",
        memory.answer,
        {200: (MemoryChanges,)},
        AnswerBody,
        refusals=(404, 409, 412, 413),
    ),
    Endpoint(
        "GET",
        MEMORY + "/export",
        "memory.export",
        memory_copies.export,
        {200: (NDJSON,)},
        refusals=(404,),
        cost=Cost("copy"),
    ),
    Endpoint(
        "POST",
        MEMORY + "/import",
        "memory.import",
        memory_copies.import_,
        {200: (Imported,)},
        upload=NDJSON,
        refusals=(404, 409, 413, 429),
        cost=Cost("import"),
    ),
    Endpoint(
        "POST",
        MEMORY,
        "memory.create",
        memory.create,
        {200: (MemoryItem,), 201: (MemoryItem,)},
        NewMemoryBody,
        refusals=(404, 409, 413),
    ),
    Endpoint(
        "GET",
        MEMORY,
        "memory.list",
        memory.find,
        {200: (MemoryPage,)},
        query=MemoriesQuery,
        refusals=(404,),
        cost=Cost("search", only_with=("q",)),
    ),
    Endpoint("GET", M, "memory.read", memory.read, {200: (MemoryDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        M,
        "memory.change",
        memory.change,
        {200: (MemoryItem,)},
        MemoryPatch,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint(
        "DELETE",
        M,
        "memory.delete",
        memory.delete,
        {204: (None,)},
        query=SessionLogQuery,
        refusals=(404, 412),
        headers=VERSION,
    ),
    Endpoint(
        "GET",
        M + "/versions",
        "memory.list_versions",
        memory.versions,
        {200: (MemoryVersions,)},
        refusals=(404,),
    ),
    Endpoint(
        "POST",
        M + "/restore",
        "memory.restore",
        memory.restore,
        {200: (MemoryItem,)},
        RestoreBody,
        query=SessionLogQuery,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint(
        "POST",
        M + "/erase",
        "memory.erase",
        memory.erase,
        {204: (None,)},
        refusals=(404, 412),
        headers=VERSION,
    ),
    Endpoint(
        "POST",
        M + "/confirm",
        "memory.confirm",
        memory.confirm,
        {200: (MemoryItem,)},
        query=SessionLogQuery,
        refusals=(404, 409, 412),
        headers=VERSION,
    ),
    Endpoint("GET", "/api/profiles", "profile.list", profiles.find, {200: (ProfileList,)}, refusals=(404,)),
    Endpoint("GET", PROFILE, "profile.read", profiles.read, {200: (ProfileReply,)}, refusals=(404,)),
    Endpoint(
        "PUT",
        PROFILE,
        "profile.put",
        profiles.put,
        {200: (ProfileReply,)},
        ProfileBody,
        refusals=(404, 409, 412, 413),
        headers=VERSION,
    ),
    Endpoint(
        "GET", "/api/documents", "document.list", documents.find, {200: (DocumentList,)}, refusals=(404,)
    ),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/deprecate",
        "document.deprecate",
        documents.deprecate,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "POST",
        "/api/documents/{document_id}/restore",
        "document.restore",
        documents.restore,
        {200: (DocumentRow,)},
        refusals=(403, 404, 409),
    ),
)  # fmt: skip - a table is read in rows
