"""From the address of a blob store to the store."""

import os
from datetime import timedelta
from pathlib import Path
from secrets import token_bytes, token_hex
from urllib.parse import unquote, urlsplit

from gateway.errors import SettingsError, StorageError
from gateway.storage.blobs import Blobs

NOT_SHARED = (
    "Every gateway of a PostgreSQL database needs the same archives and artifacts: set GATEWAY_BLOB_URL to "
    "s3://BUCKET/PREFIX, or GATEWAY_BLOBS_SHARED=true where all of them have its folder, as on one machine."
)
REQUEST_TIMEOUT, RETRIES = "30s", 3
"""When a request to a bucket is given up, and how many more attempts it has: every wait has an end."""


def is_bucket(url: str | None) -> bool:
    """Whether it is the address of a store that other machines reach too."""
    return urlsplit(url or "").scheme == "s3"


def open_blobs(url: str | None, data_dir: Path) -> Blobs:
    """The store at `url`: `file:///PATH`, a plain path, or `s3://BUCKET/PREFIX` with the AWS_* variables of
    the environment, AWS_ENDPOINT_URL among them. Without one it is the folder `blobs` in `data_dir`.

    Raises:
        SettingsError: the address is of another kind.
        StorageError: the folder cannot be made.
    """
    parts = urlsplit(url or "")
    if parts.scheme == "s3" and parts.netloc:
        return _bucket(parts.netloc, parts.path.strip("/"))
    return _folder(blob_folder(url, data_dir))


def blob_folder(url: str | None, data_dir: Path) -> Path:
    """The folder at `url`, which is none of a bucket. Raises SettingsError: it is no address of a folder."""
    parts = urlsplit(url or "")
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return Path(unquote(parts.path))
    if url and "://" in url:
        raise SettingsError("GATEWAY_BLOB_URL must be file:///PATH or s3://BUCKET/PREFIX.")
    return Path(url) if url else data_dir / "blobs"


def is_writable(folder: Path) -> bool:
    """Whether blobs can be written below it, or it can be made where it is missing."""
    nearest = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return os.access(nearest, os.W_OK | os.X_OK)


async def try_blobs(blobs: Blobs, name: str | None = None) -> None:
    """Writes, reads and removes a small blob of a `name` of the caller's own: what an attempt leaves, the
    next one removes. Raises errors.StorageError: that cannot be done."""
    path, content = f"tried/{name or token_hex(8)}", token_bytes(1000)
    await blobs.put(path, [content])
    if await blobs.read(path) != content:
        raise StorageError("The blob store gives back something else than was written.")
    await blobs.delete(path)


# obstore takes some 10 ms to import: only the kind of store that is used pays.


def _folder(root: Path) -> Blobs:
    from gateway.storage.blobs.folder import FolderBlobs  # noqa: PLC0415

    return FolderBlobs(root)


def _bucket(bucket: str, prefix: str) -> Blobs:
    from obstore.exceptions import BaseError  # noqa: PLC0415
    from obstore.store import S3Store  # noqa: PLC0415

    from gateway.storage.blobs.objects import ObjectBlobs  # noqa: PLC0415

    plain_http = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    try:
        store = S3Store(
            bucket,
            prefix=prefix or None,
            client_options={"timeout": REQUEST_TIMEOUT, "connect_timeout": "5s", "allow_http": plain_http},
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=60)},
        )
    except BaseError as error:
        raise SettingsError(f"The bucket {bucket} cannot be used: {str(error).splitlines()[0]}") from error
    return ObjectBlobs(store)
