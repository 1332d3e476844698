"""Checks of `gateway doctor` on this machine."""

import os
import sqlite3
import tempfile
from pathlib import Path
from time import monotonic

from gateway import wiring
from gateway.auth.static_keys import StaticKeys
from gateway.cli.config import without_secrets
from gateway.cli.endpoint_checks import check_endpoint
from gateway.cli.findings import Finding, State
from gateway.demo.server import serve_demo
from gateway.errors import EmbeddingsFailed, ModelError, SettingsError, StorageError
from gateway.memory.documents.folder import DocumentFolder
from gateway.memory.search.embeddings import embeddings_of
from gateway.messages import Message, text_block
from gateway.model.base import Answer, Model, ModelRequest
from gateway.model.endpoint_address import ANTHROPIC_URL
from gateway.model.endpoint_profile import left_out
from gateway.settings import Settings
from gateway.settings.environment import unknown_variables, without_effect
from gateway.storage.blobs.addresses import (
    NOT_SHARED,
    blob_folder,
    is_bucket,
    is_writable,
    open_blobs,
    try_blobs,
)
from gateway.storage.data_folder_lock import FolderLock
from gateway.storage.migrations import MEMORIES, SESSIONS, Chain, schema_of

SQLITE_SAFE = (3, 51, 3)
"""The first version without the WAL-reset bug: https://sqlite.org/wal.html, "The WAL-Reset Bug"."""

NEWER = "this version works on it until the newer one takes its place"


def check_settings(settings: Settings) -> list[Finding]:
    found = [
        Finding("warning", "settings", f"{name} is set but is not a setting; `gateway config` lists them")
        for name in unknown_variables()
    ]
    found += [Finding("warning", "settings", says.removesuffix(".")) for says in without_effect()]
    if (says := left_out(settings)) is not None:
        found.append(Finding("warning", "settings", says))
    if not settings.is_loopback and not settings.has_accounts:
        found.append(
            Finding(
                "bad",
                "settings",
                f"{settings.host} lets others in and no API key is set. "
                "Set GATEWAY_API_KEYS=name:secret, or GATEWAY_HOST=127.0.0.1",
            )
        )
    try:
        StaticKeys.of(settings)
    except SettingsError as error:
        found.append(Finding("bad", "settings", str(error)))
    return found or [Finding("good", "settings", "complete")]


async def check_model(settings: Settings) -> list[Finding]:
    """Asks the model for one token. Without a real one, asks the demo model."""
    if settings.has_model:
        adapted: list[str] = []
        model = wiring.open_model(settings, adapted=adapted.append)
        try:
            await model.inquire()
            address = without_secrets(settings.anthropic_base_url or ANTHROPIC_URL)
            answer = await _ask(settings, model, f"{settings.model} at {address}")
            about = await check_endpoint(settings, model.facts, answers=answer.state == "good")
        finally:
            await model.close()
        return [answer, *(Finding("warning", "model", says) for says in adapted), *about]
    async with serve_demo(pace=0) as url:
        model = wiring.open_model(settings, url)
        try:
            answer = await _ask(settings, model, "the demo model")
        finally:
            await model.close()
    if answer.state == "bad":
        return [answer]
    advice = "the demo model answers; set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL for a real one"
    return [Finding("good", "model", advice)]


async def _ask(settings: Settings, model: Model, name: str) -> Finding:
    request = ModelRequest(
        model=settings.model,
        max_tokens=1,
        system=(),
        messages=(Message("user", [text_block("Hello")]),),
        temperature=settings.temperature,
    )
    try:
        async with model.stream(request) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Answer):
                    return Finding("good", "model", f"{name} answers")
    except ModelError as error:
        return Finding("bad", "model", f"{name} does not answer ({error.code}): {error}")
    return Finding("bad", "model", f"{name} ended its answer early")


async def check_embeddings(settings: Settings) -> list[Finding]:
    """Asks the embeddings API for one vector, where it is configured and used."""
    if settings.embeddings_url is None or not settings.memory:
        return []
    try:
        embeddings = embeddings_of(settings)
    except SettingsError as error:
        return [Finding("bad", "embeddings", str(error))]
    assert embeddings is not None  # there is a URL
    name = f"{settings.embeddings_model} at {without_secrets(settings.embeddings_url)}"
    try:
        size = len(await embeddings.query("Hello"))
    except EmbeddingsFailed as error:
        return [Finding("bad", "embeddings", f"{name} gives no vectors ({error.code}): {error}")]
    finally:
        await embeddings.close()
    return [Finding("good", "embeddings", f"{name} answers with vectors of {size} numbers")]


def check_documents(settings: Settings) -> list[Finding]:
    """How many documents are usable, and which files are not."""
    folder = settings.documents_dir.expanduser()
    if not settings.memory or not folder.exists():
        return []
    found = DocumentFolder(folder, settling=0).scan()
    usable = Finding("good", "documents", f"{len(found.documents)} usable in {folder}")
    bad = [Finding("warning", "documents", warning.removesuffix(".")) for warning in found.warnings]
    return [usable, *bad]


def check_storage(settings: Settings) -> list[Finding]:
    """Tries a write-ahead log in the data folder, and looks at its lock and at the database's schema."""
    path = settings.database_path
    folder = path.parent.resolve()
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        return [_storage("bad", f"{nearest} is not writable. Choose another folder with GATEWAY_DATA_DIR")]
    try:
        _try_wal(nearest)
    except (OSError, sqlite3.Error) as error:
        advice = "A network file system often cannot; choose a local folder with GATEWAY_DATA_DIR"
        return [_storage("bad", f"{nearest} cannot hold a database: {error}. {advice}")]
    found = [_storage("good", f"{folder} is writable and its write-ahead log works"), _sqlite_version()]
    if path.exists():
        found += _existing(path)
    if settings.memory and settings.memory_path.exists():
        found.append(_schema(settings.memory_path, "the memory", MEMORIES))
    return found


async def check_blobs(settings: Settings) -> list[Finding]:
    """Writes, reads and removes a small blob. A folder of this machine alone is not made for that."""
    is_away = is_bucket(settings.blob_url)
    if settings.is_shared and not (is_away or settings.blobs_shared):
        return [Finding("bad", "blobs", NOT_SHARED.removesuffix("."))]
    where = settings.blob_url or settings.data_dir / "blobs"
    began = monotonic()
    try:
        if (
            not (is_away or settings.is_shared)
            and not (folder := blob_folder(settings.blob_url, settings.data_dir)).exists()
        ):
            missing = f"{where} cannot be made: the folder above it cannot be written"
            return [] if is_writable(folder) else [Finding("bad", "blobs", missing)]
        await try_blobs(open_blobs(settings.blob_url, settings.data_dir))
    except (SettingsError, StorageError) as error:
        return [Finding("bad", "blobs", f"{where} cannot be used: {str(error).removesuffix('.')}")]
    took = f"{1000 * (monotonic() - began):.0f} ms"
    return [Finding("good", "blobs", f"{where} was written, read and cleared in {took}")]


def _existing(path: Path) -> list[Finding]:
    try:
        with FolderLock.of_file(path):
            lock = _storage("good", "no other gateway holds the data folder")
    except StorageError as error:
        if error.code != "data_locked":
            return [_storage("bad", str(error))]
        lock = _storage("good", "a running gateway holds the data folder")
    return [lock, _schema(path, "the database", SESSIONS)]


def _schema(path: Path, name: str, chain: Chain) -> Finding:
    try:
        found = schema_of(path)
        if found.is_newer(chain, str(path)):
            return _storage("warning", f"{name} is at a newer schema ({found.revision}): {NEWER}")
    except StorageError as error:
        return _storage("bad", error.message.removesuffix("."))
    if found.revision != chain.head:
        advice = f"{name} is at {found.revision}, not at {chain.head}: `gateway migrate` brings it there"
        return _storage("warning", advice)
    return _storage("good", f"{name} is at the newest schema, {chain.head}")


def _sqlite_version() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info >= SQLITE_SAFE:
        return _storage("good", f"SQLite {version}")
    # The gateway never resets the log at the wrong moment: that matters to who opens the database beside it.
    safe = ".".join(map(str, SQLITE_SAFE))
    return _storage("good", f"SQLite {version}; before {safe}, write to the database with no other program")


def _storage(state: State, says: str) -> Finding:
    return Finding(state, "storage", says)


def _try_wal(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=folder) as place:
        database = sqlite3.connect(Path(place) / "try.db")
        try:
            mode = database.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise sqlite3.OperationalError(f"the journal mode stays {mode}")
            database.execute("CREATE TABLE t (x)")
            database.execute("INSERT INTO t VALUES (1)")
            database.commit()
            reader = sqlite3.connect(Path(place) / "try.db")
            try:
                if reader.execute("SELECT x FROM t").fetchall() != [(1,)]:
                    raise sqlite3.OperationalError("a second connection does not see what the first wrote")
            finally:
                reader.close()
        finally:
            database.close()
