"""New databases without a migration each: what the migrations made of a new file is copied from then on."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import gateway.storage.migrations.run
from gateway.storage.migrations import MEMORIES, SESSIONS, Chain

Blanks = Mapping[Chain, bytes]
"""The file that each chain of revisions leads to."""

_known: dict[Chain, bytes] = {}
_migrate = gateway.storage.migrations.run.run


def copy_blanks(known: Blanks | None = None) -> None:
    """From now on, in this process; with those that are `known`."""
    _known.update(known or {})
    gateway.storage.migrations.run.run = _copy


def blanks() -> Blanks:
    """Those of both databases, for another process."""
    for chain in {SESSIONS, MEMORIES} - _known.keys():
        with TemporaryDirectory() as folder:
            (path := Path(folder, "blank.db")).touch()
            _copy(path, chain)
    return _known


def _copy(path: Path, chain: Chain) -> None:
    is_new = path.stat().st_size == 0
    if is_new and chain in _known:
        path.write_bytes(_known[chain])
        return
    _migrate(path, chain)
    if is_new:
        _known[chain] = path.read_bytes()
