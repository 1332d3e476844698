"""Documented memories: list them, take one out of use and into it again."""

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Reply
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, path_id, principal_of
from gateway.memory.documents.document import DocumentType
from gateway.memory.documents.selection import DocumentFile


class DocumentRow(Reply):
    """A documented memory, without its content."""

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
        document = filed.document
        return cls(
            id=document.id,
            type=document.type,
            skill=document.skill,
            reference=document.reference or None,
            name=document.meta.name,
            description=document.meta.description or None,
            snippet=filed.row.summary,
            file=filed.file,
            created_at=document.created_at,
            updated_at=document.updated_at,
        )


class DocumentList(Reply):
    """The documents in use and those that are not any more. `warnings` name files that cannot be used and
    those that are left out."""

    documents: list[DocumentRow]
    deprecated: list[DocumentRow]
    warnings: list[str]


async def find(request: Request) -> Response:
    """All documented memories, as their files are now."""
    found = await gateway_of(request).documents.look()
    listed = DocumentList(
        documents=[DocumentRow.of(filed) for filed in found.documents],
        deprecated=[DocumentRow.of(filed) for filed in found.deprecated],
        warnings=list(found.warnings),
    )
    return json_reply(listed)


async def deprecate(request: Request) -> Response:
    """Takes a document out of use, for everybody. Its file is kept and can be restored."""
    document_id = path_id(request, "document_id")
    filed = await gateway_of(request).documents.deprecate(principal_of(request), document_id)
    return json_reply(DocumentRow.of(filed))


async def restore(request: Request) -> Response:
    """Takes a deprecated document into use again, for everybody."""
    document_id = path_id(request, "document_id")
    filed = await gateway_of(request).documents.restore(principal_of(request), document_id)
    return json_reply(DocumentRow.of(filed))
