"""What an erasure leaves of a person, and why: a part of its report."""

from collections.abc import Mapping, Sequence

from gateway.storage.persons import Kept

BACKUPS = Kept(
    "backups",
    None,
    "Backups, traces and log lines that were made before have what they have until they are removed.",
)
SERVER = Kept(
    "server", None, "A server's VACUUM frees the bytes; its archived logs have them while they are kept."
)

NO_MEMORY = Kept(
    "memories", None, "The memory is switched off: what its database has of this person was not looked at."
)


def what_stays(
    found: Mapping[str, int], *, renamed: int, in_others: int, has_memory: bool, has_server: bool
) -> Sequence[Kept]:
    """What stays of what was `found`, by kind. `renamed` are entries of the audit, `in_others` turns in
    sessions of others; `has_server`: the database is one of a server."""
    kept = [BACKUPS] if has_memory else [BACKUPS, NO_MEMORY]
    if has_server:
        kept.append(SERVER)
    for what, count, why in (
        (
            "household_memories",
            found.get("household_memories", 0),
            "Memories of a household with other members stay, without this person's name and quotes.",
        ),
        (
            "turns",
            in_others,
            "What this person wrote in shared sessions of others stays in them, under the pseudonym.",
        ),
        (
            "limit_counters",
            found.get("limit_counters", 0),
            "What was counted for limits stays until two days after its period, under the pseudonym.",
        ),
        (
            "audit",
            renamed,
            "Who did what stays for as long as the audit is kept (audit_days), under the pseudonym.",
        ),
    ):
        if count:
            kept.append(Kept(what, count, why))
    return tuple(kept)
