"""What was acknowledged survives kill -9."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.forked import telling
from tests.record import stored_events
from tests.storage.appending import SESSIONS, append


@pytest.mark.parametrize("lines", [1, 40, 150])
def test_every_acknowledged_event_is_there_after_a_kill(tmp_path: Path, lines: int) -> None:
    """Killed at any moment, and its successors too: no acknowledged seq is lost, the log has no gap, and the
    file is sound."""
    acknowledged = dict.fromkeys(SESSIONS, 0)
    for _ in range(3):
        with telling(append, tmp_path) as (process, shown):
            for _ in range(lines):
                note(acknowledged, shown.readline())
            process.kill()
            for line in shown:
                note(acknowledged, line)
        check(tmp_path / "gateway.db", acknowledged)


def note(acknowledged: dict[str, int], line: str) -> None:
    if line.endswith("\n"):  # the last line may have been cut
        name, seq = line.split()
        acknowledged[name] = int(seq)


def check(path: Path, acknowledged: dict[str, int]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for name, last in acknowledged.items():
            seqs = [seq for seq, *_ in stored_events(connection, name)]
            head = connection.execute("SELECT head FROM heads WHERE session_id = ?", (name,)).fetchone()
            assert seqs == list(range(1, len(seqs) + 1))
            assert len(seqs) >= last
            assert head is None or head == (len(seqs),)
