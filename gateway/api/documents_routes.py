"""Documented memories: list them, take one out of use and into it again."""

from typing import Self

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.memory.documents.document import DocumentType
from gateway.memory.documents.folder import FolderContents
from gateway.memory.documents.selection import DocumentFile


class DocumentRow(Reply):
    """A document, without its content."""

    id: str
    type: DocumentType
    skill: str
    reference: str | None
    name: str
    description: str | None
    snippet: str
    file: str = Field(description="Relative to the folder of the documents, or to that of the skills.")
    created_at: int = Field(description="Unix milliseconds, as is updated_at.")
    updated_at: int

    @classmethod
    def of(cls, filed: DocumentFile) -> "DocumentRow":
        document, meta = filed.document, filed.document.meta
        return cls.from_row(
            document,
            reference=document.reference or None,
            name=meta.name,
            description=meta.description or None,
            snippet=filed.row.summary,
            file=filed.file,
        )


class DocumentList(Reply):
    """The documents in use and those that are not any more. `warnings` name files that cannot be used and
    those that are left out."""

    documents: list[DocumentRow]
    deprecated: list[DocumentRow]
    warnings: list[str]

    @classmethod
    def of(cls, found: FolderContents) -> Self:
        documents, deprecated = map(DocumentRow.of, found.documents), map(DocumentRow.of, found.deprecated)
        return cls(documents=list(documents), deprecated=list(deprecated), warnings=list(found.warnings))


@endpoint("GET", "/api/documents", "document.list", {200: (DocumentList,)}, refusals=(404,))
async def find(request: ApiRequest) -> Response:
    """All documents, as their files are now."""
    found = await request.gateway.documents.look()
    return json_reply(DocumentList.of(found))


@endpoint(
    "POST",
    "/api/documents/{document_id}/deprecate",
    "document.deprecate",
    {200: (DocumentRow,)},
    refusals=(403, 404, 409),
)
async def deprecate(request: ApiRequest) -> Response:
    """Takes a document out of use, for everybody. Its file is kept and can be restored."""
    document_id = request.path_id("document_id")
    filed = await request.gateway.documents.deprecate(document_id)
    return json_reply(DocumentRow.of(filed))


@endpoint(
    "POST",
    "/api/documents/{document_id}/restore",
    "document.restore",
    {200: (DocumentRow,)},
    refusals=(403, 404, 409),
)
async def restore(request: ApiRequest) -> Response:
    """Takes a deprecated document into use again, for everybody."""
    document_id = request.path_id("document_id")
    filed = await request.gateway.documents.restore(document_id)
    return json_reply(DocumentRow.of(filed))
