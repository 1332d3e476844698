"""A file of an export, read once and checked: what it holds, and where."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import Any, BinaryIO

from gateway.errors import BadImport
from gateway.events.session_changes import Feedback
from gateway.history.copies.checks import Check
from gateway.history.copies.export import ARTIFACT_KINDS, KINDS, counts_of
from gateway.history.copies.line_reader import ExportLines, demand, read_line
from gateway.storage.sessions.copies import Moment


@dataclass(slots=True)
class Checked:
    """What a sound file of `size` bytes holds, `said` of them in messages, and where: offsets of the first
    line of each kind, of the message at each position at which a version begins, of the artifacts, and of the
    first part of each content, by its hash (0: it has none). `began` and `feedback` as in `Incoming`."""

    moment: Moment
    size: int
    said: int
    counts: Counter[str]
    starts: dict[str, int]
    messages_from: dict[int, int]
    artifacts_at: list[int]
    contents: dict[str, int]
    began: dict[str, int]
    feedback: dict[str, Feedback]


def check(file: BinaryIO) -> Checked:
    """Reads `file` from its beginning and checks all of it.

    Raises:
        BadImport: it is not sound. `details`: the number of the `line`, from 1, and the `reason`.
    """
    found = Check()
    digest = hashlib.sha256()
    lines = ExportLines(file)
    number, stage = 0, 0
    try:
        while True:
            number += 1
            at = lines.at
            line = next(lines, None)
            if line is None:
                raise BadImport("The file ends before its last line, of the kind end.")
            kind, value = read_line(line)
            stage = _next_stage(stage, kind, first=number == 1)
            if kind == "end":
                moment = found.finish()
                _check_end(value, counts_of(found.counts, found.form), digest.hexdigest())
                demand(next(lines, None) is None, "there is something after the last line")
                break
            digest.update(line + b"\n")
            found.take(kind, value, line, at)
    except BadImport as error:
        reason = error.message
        raise BadImport(f"Line {number}: {reason}", details={"line": number, "reason": reason}) from None
    return Checked(
        moment,
        lines.at,
        found.said,
        found.counts,
        found.starts,
        found.covered.places,
        found.artifacts.lines_at,
        found.artifacts.places,
        found.branches.began,
        found.feedback,
    )


def _next_stage(stage: int, kind: str, *, first: bool) -> int:
    if kind not in KINDS:
        raise BadImport(f"{kind!r:.40} is not a kind of line.")
    place = KINDS.index("artifact" if kind in ARTIFACT_KINDS else kind)
    if first != (kind == "session") or place < stage:
        raise BadImport(f"A line of the kind {kind} does not belong here.")
    return place


def _check_end(value: dict[str, Any], counts: dict[str, int], sha256: str) -> None:
    demand(value.get("counts") == counts, "the counts are not those of the lines")
    demand(value.get("sha256") == sha256, "the sha256 is not that of the lines")
    demand(len(value) == 2, "it is not the last line of an export")
