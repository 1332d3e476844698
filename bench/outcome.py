"""What came of turns that were disturbed: what clients saw beside a replay, and what the record holds, read
past the gateway."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.reader import ReceivedTurn, seq_of
from gateway.ids import now_ms
from gateway.storage.blobs.folder import FolderBlobs
from tests.invariants import violations
from tests.record import read_records, reading


@dataclass(slots=True)
class Outcome:
    """What came of it. `violations` are sentences; none is what is wanted. `kept` results were kept aside."""

    turns: int = 0
    kills: int = 0
    power_cuts: int = 0
    resumed: int = 0
    ended: Counter[str] = field(default_factory=Counter[str])
    violations: list[str] = field(default_factory=list[str])
    kept: int = 0


def compare(turns: Sequence[ReceivedTurn], replay: Sequence[bytes], outcome: Outcome) -> None:
    """What the clients of a session were told, put together, is the replay: byte for byte, nothing twice."""
    seen = [frame for turn in turns for frame in turn.frames]
    session = turns[0].session_id if turns else "?"
    outcome.resumed += sum(turn.connections > 1 for turn in turns)
    outcome.violations += [problem for turn in turns for problem in turn.problems]
    if seen != list(replay):
        at = next((n for n, (one, other) in enumerate(zip(seen, replay, strict=False)) if one != other), None)
        where = f"they differ at {seen[at]!r} and {replay[at]!r}" if at is not None else "one is longer"
        outcome.violations.append(
            f"session {session}: clients saw {len(seen)} events up to {seq_of(seen[-1]) if seen else 0}, "
            f"the replay has {len(replay)}; {where}"
        )


async def check(database: Path | str, blobs: Path, outcome: Outcome) -> None:
    """Reads the record past the gateway: every session, every artifact."""
    refs = set[str]()
    for record in read_records(database, blobs):
        outcome.violations += violations(record)
        # The last turn of each session is the one that `stuck` asked for.
        outcome.ended.update(str(turn.outcome) for turn in record.turns[:-1])
        refs |= {event["data"]["ref"] for event in record.events if event["type"] == "artifact"}
    outcome.kept = len(refs)
    # As upkeep does when they are old: parts of blobs whose writer was killed.
    await FolderBlobs(blobs).sweep(now_ms() + 1)
    outcome.violations += kept_aside(database, blobs, refs)
    if sum(outcome.ended.values()) != outcome.turns:
        outcome.violations.append(
            f"{outcome.turns} turns were asked for, {sum(outcome.ended.values())} are recorded"
        )


def kept_aside(database: Path | str, blobs: Path, refs: set[str]) -> list[str]:
    """What is wrong with the artifacts: each of `refs` is there, whole and used by its session; no blob
    is left that neither an artifact has nor is in doubt."""
    with reading(database) as connection:
        used = "SELECT ref, path, sha256 FROM artifacts JOIN artifact_uses USING (owner, ref)"
        rows = {ref: (path, sha256) for ref, path, sha256 in connection.execute(used)}
        doubtful = {path for (path,) in connection.execute("SELECT path FROM doubtful_blobs")}
    files = {str(path.relative_to(blobs)) for path in (blobs / "artifacts").rglob("*") if path.is_file()}
    needed = {path for path, _ in rows.values()}
    return [
        *(f"artifact {ref} was told and is not there" for ref in sorted(refs - rows.keys())),
        *(f"blob {path} is nobody's" for path in sorted(files - needed - doubtful)),
        *(
            f"artifact {ref} is not what was written"
            for ref, (path, sha256) in rows.items()
            if path not in files or hashlib.sha256((blobs / path).read_bytes()).hexdigest() != sha256
        ),
    ]


def told(outcome: Outcome) -> bool:
    """Prints what came of it; whether anything is wrong."""
    print(f"turns read over several connections: {outcome.resumed}")
    print(f"results kept aside: {outcome.kept}")
    print("ended: " + ", ".join(f"{count} {how}" for how, count in outcome.ended.most_common()))
    print("\n".join(outcome.violations[:50]))
    print(f"violations: {len(outcome.violations)}")
    return bool(outcome.violations)
