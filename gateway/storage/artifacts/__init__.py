"""What is kept aside of results and attachments: the contract and its values."""

from gateway.storage.artifacts.contract import (
    CHUNK,
    EXAMPLES,
    LOCATORS,
    MIN_COUNTED,
    TEXTS,
    ArtifactRow,
    Artifacts,
    Chunk,
    Kind,
    Room,
    Stock,
    blob_path,
    size_of,
)

__all__ = [
    "CHUNK",
    "EXAMPLES",
    "LOCATORS",
    "MIN_COUNTED",
    "TEXTS",
    "ArtifactRow",
    "Artifacts",
    "Chunk",
    "Kind",
    "Room",
    "Stock",
    "blob_path",
    "size_of",
]
