"""How many memories one user may have."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from sqlalchemy import Connection, bindparam, func, select

from gateway.errors import MemoryFull
from gateway.storage.database import Prepared
from gateway.storage.memories import MAX_QUARANTINED, ROWS_PER_LIVE
from gateway.storage.memories.conditions import LIVE
from gateway.storage.memories.schema import COUNTED, memories

Kind = Literal["live", "quarantined", "all"]

COUNTS = Prepared(
    select(memories.c.status, memories.c.quarantined, func.count())
    .where(memories.c.user_id == bindparam("user_id"), COUNTED)
    .group_by(memories.c.status, memories.c.quarantined)
)
FULL: dict[Kind, str] = {
    "live": "The memory is full: {count} of {limit} are kept.",
    "quarantined": "The quarantine is full: {count} of {limit} memories wait there. The user can confirm or "
    "delete them.",
    "all": "The memory is full: {count} of {limit} are there, frozen and replaced ones counted. Delete some "
    "of these.",
}


def kinds(status: str, quarantined: bool) -> Sequence[Kind]:
    """The limit that a memory counts towards. A replaced one no longer counts as quarantined."""
    if quarantined and status != "replaced":
        return ("quarantined",)
    return ("live", "all") if status in LIVE else ("all",)


def check(connection: Connection, grown: Counter[tuple[str, Kind]], most: int) -> None:
    """Raises errors.MemoryFull for a kind that has grown beyond the limits of `MemoryStore.write`. `grown` is
    by how many, by user."""
    limits: dict[Kind, int] = {"live": most, "quarantined": MAX_QUARANTINED, "all": ROWS_PER_LIVE * most}
    for user_id in dict.fromkeys(user_id for (user_id, _), more in grown.items() if more > 0):
        counts = _counts(connection, user_id)
        for kind, limit in limits.items():
            more = grown[user_id, kind]
            if more > 0 and counts[kind] > limit:
                known = {"count": counts[kind] - more, "limit": limit}
                raise MemoryFull(FULL[kind].format(**known), details={"of": kind, **known})


def _counts(connection: Connection, user_id: str) -> Counter[Kind]:
    counts: Counter[Kind] = Counter()
    for status, quarantined, count in COUNTS.run(connection, user_id=user_id).fetchall():
        counts.update(dict.fromkeys(kinds(status, quarantined), count))
    return counts
