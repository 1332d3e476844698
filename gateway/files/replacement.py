"""Replacement of a file: whole or not at all."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Generator[BinaryIO]:
    """A file that takes the place of `path` at the end; after an exception `path` is as before. With
    `private` only its owner may read it. A device or a pipe is written itself. Raises OSError."""
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    # Fifty characters are 200 bytes at most, of the 255 that file systems take.
    part = path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
