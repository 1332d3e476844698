"""What tests of many folders use of the product: how it is set up and opened, and the words of contracts.

Tests of a package import what they test from there. Everything else that is here is taken from here, so that
a module that moves is followed in one file.
"""

from gateway.demo.server import serve_demo
from gateway.encryption.keyring import Keyring, new_key
from gateway.errors import (
    ArchiveDamaged,
    ArtifactsFull,
    BadArguments,
    Conflict,
    GatewayError,
    InvalidRequest,
    LimitReached,
    ModelError,
    NotFound,
    QueueFull,
    SettingsError,
    StorageError,
    ToolError,
    TurnLost,
)
from gateway.events.content import Retrieval, Text
from gateway.events.envelope import EventData, StoredEvent, encode, encode_data, encode_scope
from gateway.events.lifecycle import Done, TurnStart
from gateway.events.tool_calls import CallResult
from gateway.ids import DAY_MS, now_ms
from gateway.lexical import estimate_tokens, query_tokens
from gateway.memory.changes import Attribution
from gateway.memory.validation import NewMemory, indexed
from gateway.messages import (
    Attached,
    Block,
    Message,
    Recalled,
    ToolSpec,
    Usage,
    attached_block,
    recalled_block,
    text_block,
    tool_result_block,
)
from gateway.model.base import Answer, Chunk, ModelRequest, Take
from gateway.model.side_calls import ModelCalls
from gateway.settings import Settings, load_settings
from gateway.storage.artifacts import ArtifactRow
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.folder import FolderBlobs
from gateway.storage.log import Append, Closing
from gateway.storage.memories import AllScopes, Filter, MemoryRow, Scope
from gateway.storage.messages import History, StoredMessage
from gateway.storage.postgres.connections import ServerAddress
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.turns import Accepted, NewTurn, TurnRow
from gateway.supervisor import Supervisor
from gateway.tools.base import File, FunctionTool, ToolContext, ToolOutput
from gateway.tools.function import tool
from gateway.tools.wrapping import WRAPPER_TAGS, wrap
from gateway.wiring import Storage, open_memory, open_storage, storage_on

__all__ = [
    "DAY_MS",
    "WRAPPER_TAGS",
    "Accepted",
    "AllScopes",
    "Answer",
    "Append",
    "ArchiveDamaged",
    "ArtifactRow",
    "ArtifactsFull",
    "Attached",
    "Attribution",
    "BadArguments",
    "Blobs",
    "Block",
    "CallResult",
    "Chunk",
    "Closing",
    "Conflict",
    "Done",
    "EventData",
    "File",
    "Filter",
    "FolderBlobs",
    "FunctionTool",
    "GatewayError",
    "History",
    "InvalidRequest",
    "Keyring",
    "LimitReached",
    "MemoryRow",
    "Message",
    "ModelCalls",
    "ModelError",
    "ModelRequest",
    "NewMemory",
    "NewTurn",
    "NotFound",
    "QueueFull",
    "Recalled",
    "Retrieval",
    "Scope",
    "ServerAddress",
    "Settings",
    "SettingsError",
    "SqliteDatabase",
    "Storage",
    "StorageError",
    "StoredEvent",
    "StoredMessage",
    "Supervisor",
    "Take",
    "Text",
    "ToolContext",
    "ToolError",
    "ToolOutput",
    "ToolSpec",
    "TurnLost",
    "TurnRow",
    "TurnStart",
    "Usage",
    "attached_block",
    "encode",
    "encode_data",
    "encode_scope",
    "estimate_tokens",
    "indexed",
    "load_settings",
    "new_key",
    "now_ms",
    "open_memory",
    "open_storage",
    "query_tokens",
    "recalled_block",
    "serve_demo",
    "storage_on",
    "text_block",
    "tool",
    "tool_result_block",
    "wrap",
]
