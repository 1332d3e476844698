"""Profiles in their present version. Former ones are not kept: of who is under a legal hold it stays."""

from dataclasses import asdict

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select

from gateway.errors import MemoryChanged
from gateway.storage.database import Prepared
from gateway.storage.memories import Profile, ProfileKind
from gateway.storage.memories.persons import check_not_held
from gateway.storage.memories.schema import profiles

_SAME = (profiles.c.kind == bindparam("kind"), profiles.c.id == bindparam("id"))
_VALUES = {column.name: bindparam(column.name) for column in profiles.c}

NEWEST = Prepared(select(*profiles.c).where(*_SAME))
FORGET = Prepared(delete(profiles).where(*_SAME))
STORE = Prepared(insert(profiles).values(_VALUES))


def get(connection: Connection, kind: ProfileKind, id: str) -> Profile | None:
    row = NEWEST.one(connection, kind=kind, id=id)
    if row is None:
        return None
    _, _, version, fields, updated_at, actor = row
    return Profile(kind, id, orjson.loads(fields), version, updated_at, actor)


def put(connection: Connection, profile: Profile) -> None:
    """Stores version `profile.version`. Raises errors.MemoryChanged unless the stored one is the version
    before it (0: there is none)."""
    now = get(connection, profile.kind, profile.id)
    version = now.version if now else 0
    if profile.version != version + 1:
        raise MemoryChanged(
            f"The profile {profile.id} is at version {version}: read it again.",
            details={"id": profile.id, "version": version},
        )
    if now is not None and now.fields != profile.fields:
        check_not_held(connection, profile.id, now.actor)
    values = asdict(profile) | {"fields": orjson.dumps(profile.fields).decode()}
    FORGET.run(connection, kind=profile.kind, id=profile.id)
    STORE.run(connection, **values)
