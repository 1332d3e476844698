"""What is kept aside of results and attachments: the contract and its values."""

from gateway.storage.artifacts.contract import Artifacts
from gateway.storage.artifacts.rows import (
    CHUNK,
    EXAMPLES,
    LOCATORS,
    MIN_COUNTED,
    TEXTS,
    ArtifactRow,
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
