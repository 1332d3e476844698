"""How memories look in a terminal."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from gateway.cli.terminal import show_table, to_stderr
from gateway.memory.changes import Changed, Details
from gateway.memory.corrections.contradictions import Contradiction
from gateway.memory.search.query import SearchResult
from gateway.memory.secret_detection import masked_row
from gateway.session_pages.words import printable
from gateway.storage.memories import MemoryRow, Tombstone
from gateway.storage.memories import as_json as fields_of

VERSIONS_SHOWN = 20


def show_rows(rows: Sequence[MemoryRow], count: int, user: str, *, filtered: bool, as_json: bool) -> None:
    """`count` is how many there are in all, `user` whose they are, `filtered` whether others may be there."""
    if as_json:
        _print_json({"memories": [_row_fields(masked_row(row)) for row in rows], "count": count})
        return
    if not rows:
        to_stderr(f"Nothing {'like that ' if filtered else ''}is remembered{_of(user)}.")
        return
    show_table(
        ("Id", "Type", "Imp", "State", "What"),
        [(row.id, row.type, str(row.importance), _state(row), _what(masked_row(row))) for row in rows],
    )
    if count > len(rows):
        to_stderr(
            f"The newest {len(rows)} of {count}. --limit shows more, `gateway memory search` finds others."
        )


def show_deleted(gone: Sequence[Tombstone], *, as_json: bool) -> None:
    if as_json:
        _print_json({"deleted": [_deleted_fields(each) for each in gone]})
    elif not gone:
        to_stderr("Nothing is deleted that is not erased.")
    else:
        show_table(
            ("Id", "Type", "Deleted", "By", "What"),
            [
                (each.id, each.type, _time(each.deleted_at), each.actor, _what(masked_row(each.row)))
                for each in gone
            ],
        )


def _deleted_fields(gone: Tombstone) -> dict[str, Any]:
    about = {name: getattr(gone, name) for name in ("deleted_at", "restorable_until", "actor", "reason")}
    return {**_row_fields(masked_row(gone.row)), **about}


def show_hits(found: SearchResult, user: str, *, as_json: bool) -> None:
    if as_json:
        hits = [
            {
                **_row_fields(masked_row(hit.row)),
                "score": hit.score,
                "lexical_rank": hit.lexical_rank,
                "vector_rank": hit.vector_rank,
                "freshness": hit.freshness,
            }
            for hit in found.hits
        ]
        _print_json({"memories": hits, "omitted": found.omitted, "degraded": found.degraded})
        return
    if not found.hits:
        to_stderr(f"Nothing like that is remembered{_of(user)}.")
    else:
        show_table(
            ("Id", "Score", "Type", "What"),
            [
                (hit.row.id, f"{hit.score:.3f}", hit.row.type, _what(masked_row(hit.row)))
                for hit in found.hits
            ],
        )
    if found.degraded:
        to_stderr("! Only words were looked for: the embeddings cannot be had.")
    if found.omitted:
        to_stderr(f"And {found.omitted} more that were left out.")


def show_details(found: Details, *, as_json: bool) -> None:
    row = found.row
    if as_json:
        _print_json(
            {
                **_row_fields(row),
                "evidence": [asdict(each) for each in found.evidence],
                "links": [
                    {"from_id": each.from_id, "to_id": each.to_id, "relation": each.relation}
                    for each in found.links
                ],
                "versions": [
                    {
                        "version": each.version,
                        "operation": each.operation,
                        "actor": each.actor,
                        "reason": each.reason,
                        "turn_id": each.turn_id,
                        "at": each.at,
                        "memory": _row_fields(each.row),
                    }
                    for each in found.versions
                ],
            }
        )
        return
    for name, value in _facts(row):
        if value:
            print(f"{name + ':':<12} {printable(value)}")
    for each in found.evidence:
        where = f"{each.session_id}, message {each.position}, {each.author}"
        print(f"{'evidence:':<12} “{printable(each.quote)}” ({where})")
    for link in found.links:
        print(f"{'link:':<12} {link.from_id} {link.relation.replace('_', ' ')} {link.to_id}")
    print()
    show_table(
        ("Version", "When", "Change", "By", "Why", "What"),
        [
            (str(each.version), _time(each.at), each.operation, each.actor, each.reason, _what(each.row))
            for each in found.versions[-VERSIONS_SHOWN:]
        ],
    )
    if len(found.versions) > VERSIONS_SHOWN:
        to_stderr(f"The last {VERSIONS_SHOWN} of {len(found.versions)} versions; --json shows all.")


def show_changes(changes: Iterable[Changed], *, as_json: bool) -> None:
    if as_json:
        _print_json(
            [{"operation": each.operation, "memory": _row_fields(masked_row(each.row))} for each in changes]
        )
        return
    for each in changes:
        print(
            printable(
                f"{each.row.id} {each.operation}, version {each.row.version}: {masked_row(each.row).summary}"
            )
        )


def show_contradictions(pairs: Sequence[Contradiction], user: str, *, as_json: bool) -> None:
    """`user` is whose they are."""
    masked = [(masked_row(each.earlier), masked_row(each.later)) for each in pairs]
    if as_json:
        told = [{"earlier": _row_fields(one), "later": _row_fields(other)} for one, other in masked]
        _print_json({"contradictions": told})
    elif not pairs:
        to_stderr(f"No two memories contradict each other{_of(user)}.")
    else:
        show_table(
            ("Earlier", "It says", "Later", "It says"),
            [(one.id, _what(one), other.id, _what(other)) for one, other in masked],
        )
        to_stderr("Answer: gateway memory contradictions EARLIER LATER later|earlier|both")


def _of(user: str) -> str:
    return f" of user {user}; --user NAME for another"


def _facts(row: MemoryRow) -> list[tuple[str, str]]:
    return [
        ("id", row.id),
        ("content", row.content),
        ("summary", row.summary if row.summary != row.content else ""),
        ("type", row.type),
        ("state", _state(row)),
        ("look again", row.flagged or ""),
        ("replaced by", row.superseded_by or ""),
        ("owner", f"{row.owner_type} {row.owner_id}"),
        ("seen by", row.visibility),
        ("source", row.source),
        ("origin", row.origin or ""),
        ("after tools", ", ".join(row.tools)),
        ("importance", str(row.importance)),
        ("confidence", f"{row.confidence:g}"),
        ("tags", ", ".join(row.tags)),
        ("context", row.context or ""),
        ("decided", "; ".join(row.decisions)),
        ("see", "; ".join(row.refs)),
        ("made", _time(row.created_at)),
        ("changed", _time(row.updated_at)),
        ("last used", _time(row.last_used)),
    ]


def _state(row: MemoryRow) -> str:
    if row.quarantined:
        return "unconfirmed"
    return f"{row.status}, pinned" if row.pinned else row.status


def _what(row: MemoryRow) -> str:
    tags = "".join(f" #{tag}" for tag in row.tags)
    return f"{row.content}{tags}"


def _row_fields(row: MemoryRow) -> dict[str, Any]:
    """All fields, but for how duplicates are found."""
    return {name: value for name, value in fields_of(row).items() if name != "digest" and value is not None}


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _print_json(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))
