"""Versions, summaries and archives as rows of their tables."""

from gateway.storage.archives import ArchiveRow, CompressionRow, SummaryRow
from gateway.storage.row_codec import JSON, PAIRS, USAGE, Rows
from gateway.storage.schema import compressions, session_archives, sessions, summaries

COMPRESSIONS = Rows(CompressionRow, compressions, summary=JSON, usage=USAGE)
SUMMARIES = Rows(SummaryRow, summaries, {"title": sessions.c.title}, summary=JSON, usage=USAGE)
ARCHIVES = Rows(ArchiveRow, session_archives, events_index=PAIRS, messages_index=PAIRS)
