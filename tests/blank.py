"""New databases without a migration each: what the migrations made of a new file is copied from then on."""

from pathlib import Path

import gateway.storage.migrations.run
from gateway.storage.migrations import Chain

_known: dict[Chain, bytes] = {}
"""The file that each chain of revisions leads to."""
_migrate = gateway.storage.migrations.run.run


def copy_blanks() -> None:
    """From now on, in this process."""
    gateway.storage.migrations.run.run = _copy


def _copy(path: Path, chain: Chain) -> None:
    is_new = path.stat().st_size == 0
    if is_new and chain in _known:
        path.write_bytes(_known[chain])
        return
    _migrate(path, chain)
    if is_new:
        _known[chain] = path.read_bytes()
