"""What is kept of a session's past: the contract and its values."""

from gateway.storage.archives.contract import (
    ArchiveRow,
    Archives,
    CompressionRow,
    Compressions,
    Source,
    Summaries,
    SummaryRow,
    Trigger,
)

__all__ = [
    "ArchiveRow",
    "Archives",
    "CompressionRow",
    "Compressions",
    "Source",
    "Summaries",
    "SummaryRow",
    "Trigger",
]
