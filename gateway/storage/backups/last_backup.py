"""When the last backup of a data folder was made, for its operator to see."""

from pathlib import Path
from typing import NamedTuple

import orjson

from gateway.files.replacement import replacing

NAME = "last-backup.json"


class LastBackup(NamedTuple):
    """`made_at` is in Unix milliseconds; `path` is where it was written to."""

    made_at: int
    path: str


def last_backup(folder: Path) -> LastBackup | None:
    """The last backup of the folder; None where none is known of."""
    try:
        found = orjson.loads((folder / NAME).read_bytes())
        return LastBackup(int(found["made_at"]), str(found["path"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def note_backup(folder: Path, made: LastBackup) -> None:
    """Notes it in the data folder. Raises OSError."""
    with replacing(folder / NAME, private=True) as file:
        file.write(orjson.dumps(made._asdict()) + b"\n")
