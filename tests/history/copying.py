"""Sessions as tests export and import them."""

import hashlib
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import orjson

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.history.copies.export import Contents, Export, counts_of
from gateway.history.copies.imports import MAX_ROWS, import_session
from tests.product import Storage, load_settings
from tests.storage.writing import OWNER

QUOTA = 1_073_741_824
TTL = 2_592_000.0


def artifact_store_of(storage: Storage) -> ArtifactStore:
    return ArtifactStore(
        storage.artifacts, storage.orphans, storage.blobs, load_settings(), on_event=lambda _: None
    )


async def exporting(
    storage: Storage, session_id: str = "s", owner: str = OWNER, *, contents: Contents | None = None
) -> Export:
    return Export(
        await storage.copies.moment(session_id, owner),
        owner,
        log=storage.log,
        sessions=storage.sessions,
        copies=storage.copies,
        artifacts=storage.artifacts,
        contents=contents or artifact_store_of(storage).stream,
    )


async def exported(storage: Storage, session_id: str = "s", owner: str = OWNER) -> bytes:
    export = await exporting(storage, session_id, owner)
    return b"".join([chunk async for chunk in export.chunks()])


async def as_it_is(session_id: str) -> str:
    return session_id


async def imported(
    storage: Storage,
    file: bytes,
    owner: str = OWNER,
    *,
    most_rows: int = MAX_ROWS,
    quota: int = QUOTA,
    tenant_quota: int | None = None,
    ttl: float = TTL,
) -> None:
    await import_session(
        io.BytesIO(file),
        owner,
        new_id=as_it_is,
        copies=storage.copies,
        blobs=storage.blobs,
        orphans=storage.orphans,
        ttl=ttl,
        quota=quota,
        tenant_quota=tenant_quota,
        most_rows=most_rows,
    )


def blobs_in(folder: Path) -> list[str]:
    """The names of the archives in a folder, without what makes each of them another one, and of what is left
    of unfinished ones."""
    return sorted(re.sub(r"-[0-9a-f]{16}", "", path.name) for path in folder.rglob("*.jsonl.gz*"))


def aside_in(folder: Path) -> list[str]:
    """The hashes of the contents that are kept aside in a folder."""
    return sorted(path.name.partition("-")[0] for path in folder.rglob("artifacts/*/*/*") if path.is_file())


def sealed_as(form: int, lines: Sequence[bytes]) -> bytes:
    """An export of an older format of `lines`, with a last line that fits them."""
    body = b"".join(line + b"\n" for line in lines)
    counts = counts_of(Counter(orjson.loads(line)["kind"] for line in lines), form)
    end = {"kind": "end", "counts": counts, "sha256": hashlib.sha256(body).hexdigest()}
    return body + orjson.dumps(end) + b"\n"
