"""Settings to what implements them: the only package that names an implementation.

A command that needs a part of it, as the memory, is not to load all of it: a name is looked up in its file
when it is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gateway.wiring.assembly import assemble, open_artifact_store, open_model, open_webhook_posts
    from gateway.wiring.database_server import inspect_server
    from gateway.wiring.memory import memory_needed, open_documents, open_extractor, open_memory
    from gateway.wiring.memory_database import open_stored_memories
    from gateway.wiring.memory_encryption import MemoryRotation
    from gateway.wiring.skills import (
        TAKEN,
        artifact_skill,
        find_functions,
        function_skills,
        look_at_skills,
        memory_skill,
        open_skills,
        schedule_skills,
    )
    from gateway.wiring.storage import (
        Storage,
        open_storage,
        storage_on,
        storage_on_server,
        try_bucket,
        watch_blob_folder,
    )

__all__ = [
    "TAKEN",
    "MemoryRotation",
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
    "open_stored_memories",
    "open_webhook_posts",
    "schedule_skills",
    "storage_on",
    "storage_on_server",
    "try_bucket",
    "watch_blob_folder",
]

_FILES = {
    "assembly": "assemble open_artifact_store open_model open_webhook_posts",
    "database_server": "inspect_server",
    "memory": "memory_needed open_documents open_extractor open_memory",
    "memory_database": "open_stored_memories",
    "memory_encryption": "MemoryRotation",
    "skills": "TAKEN artifact_skill find_functions function_skills look_at_skills memory_skill open_skills "
    "schedule_skills",
    "storage": "Storage open_storage storage_on storage_on_server try_bucket watch_blob_folder",
}


def __getattr__(name: str) -> Any:
    for file, names in _FILES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
