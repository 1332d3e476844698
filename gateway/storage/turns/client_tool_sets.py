"""The tools that a client brought along with its turns, in SQL: each set once for a session."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

import orjson
from sqlalchemy import Connection, and_, bindparam, insert, select

from gateway.messages import ToolSpec
from gateway.storage.database import Prepared
from gateway.storage.schema import client_tools

_ID = and_(client_tools.c.session_id == bindparam("session_id"), client_tools.c.digest == bindparam("digest"))
SPECS = Prepared(select(client_tools.c.specs).where(_ID))
ADD = Prepared(
    insert(client_tools).values(
        session_id=bindparam("session_id"), digest=bindparam("digest"), specs=bindparam("specs")
    )
)


def add_tools(connection: Connection, session_id: str, tools: Sequence[ToolSpec]) -> str | None:
    """The digest of the set, which is there from now on; None without any."""
    if not tools:
        return None
    specs = orjson.dumps([asdict(tool) for tool in tools])
    digest = hashlib.sha256(specs).hexdigest()
    if SPECS.one(connection, session_id=session_id, digest=digest) is None:
        ADD.run(connection, session_id=session_id, digest=digest, specs=specs.decode())
    return digest


def tools_of(connection: Connection, session_id: str, digest: str) -> Sequence[ToolSpec]:
    """The tools of a turn's client, by what its row has for them."""
    text = SPECS.value(connection, session_id=session_id, digest=digest)
    return [ToolSpec(**spec) for spec in orjson.loads(text)] if text is not None else []
