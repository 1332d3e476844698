"""Sessions as a real gateway streamed them, one event a line: what clients are tested with.

`python -m tests.recorded` makes them anew.
"""

from pathlib import Path

import orjson

from tests.harness import Client

HERE = Path(__file__).parent


def names() -> list[str]:
    """The recorded sessions, by name."""
    return sorted(path.stem for path in HERE.glob("*.jsonl"))


def lines(name: str) -> list[bytes]:
    """The events of one, as they were streamed."""
    return (HERE / f"{name}.jsonl").read_bytes().splitlines()


async def keep(client: Client, session: str, name: str) -> int:
    """Writes the session's events down, the bytes that were streamed; returns how many."""
    path = f"/api/sessions/{session}/events?follow=0"
    kept = [each.raw for each in await client.all_frames(path) if not each.event.startswith("stream_")]
    data = [raw.partition(b"\ndata: ")[2].rstrip(b"\n") for raw in kept]
    assert [orjson.loads(each)["seq"] for each in data] == list(range(1, len(data) + 1))
    (HERE / f"{name}.jsonl").write_bytes(b"".join(each + b"\n" for each in data))
    return len(data)
