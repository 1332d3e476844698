"""The operations on documents: list them, take one out of use and into it again."""

from gateway.errors import NotFound
from gateway.memory.documents.document_sync import Documents
from gateway.memory.documents.folder import FolderContents
from gateway.memory.documents.selection import DocumentFile


class DocumentedMemories:
    """The documents of this gateway, the same for all users. Without `documents` the memory is off, and every
    operation raises errors.NotFound (memory_off)."""

    def __init__(self, documents: Documents | None) -> None:
        self._documents = documents

    async def look(self) -> FolderContents:
        """What is there now. Raises errors.StorageError when it cannot be stored."""
        return await self._there().refresh()

    async def deprecate(self, document_id: str) -> DocumentFile:
        """Takes a document out of use, for everybody; its file is kept.

        Raises:
            errors.NotFound: there is no such document.
            errors.Conflict: it is deprecated already.
        """
        return await self._there().deprecate(document_id)

    async def restore(self, document_id: str) -> DocumentFile:
        """Takes a deprecated document into use again, for everybody.

        Raises:
            errors.NotFound: no such document is deprecated.
            errors.Conflict: a file of its name is in use.
        """
        return await self._there().restore(document_id)

    def _there(self) -> Documents:
        if self._documents is None:
            raise NotFound(
                "This gateway remembers nothing: GATEWAY_MEMORY is false, so there are no documents.",
                code="memory_off",
            )
        return self._documents
