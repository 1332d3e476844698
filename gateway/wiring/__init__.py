"""Settings to what implements them: the only package that names an implementation."""

from gateway.wiring.assembly import assemble, open_artifact_store, open_model
from gateway.wiring.database_server import inspect_server
from gateway.wiring.memory import memory_needed, memory_skill, open_documents, open_extractor, open_memory
from gateway.wiring.skills import (
    TAKEN,
    artifact_skill,
    find_functions,
    function_skills,
    look_at_skills,
    open_skills,
)
from gateway.wiring.storage import Storage, open_storage, storage_on, storage_on_server, try_bucket

__all__ = [
    "TAKEN",
    "Storage",
    "artifact_skill",
    "assemble",
    "find_functions",
    "function_skills",
    "inspect_server",
    "look_at_skills",
    "memory_needed",
    "memory_skill",
    "open_artifact_store",
    "open_documents",
    "open_extractor",
    "open_memory",
    "open_model",
    "open_skills",
    "open_storage",
    "storage_on",
    "storage_on_server",
    "try_bucket",
]
