"""Checks of `gateway doctor` on a PostgreSQL server, and in the replicas that share it."""

from gateway import wiring
from gateway.cli.findings import Finding, State
from gateway.cli.machine_checks import NEWER
from gateway.errors import GatewayError
from gateway.settings import Settings
from gateway.storage.migrations import HEAD
from gateway.storage.replicas import SharedServer

CLOCKS_APART = 5.0
"""Seconds; leases are on the server's clock, but the times of events and deadlines are on this machine's."""

MEANS = {"lease": ": each judges the others by its own; set GATEWAY_LEASE to the same on all"}
"""Of what replicas differ in, where its name does not tell."""


def check_server(settings: Settings) -> list[Finding]:
    """The engine, what a commit waits for, the clock, and whether all replicas are the same."""
    try:
        found = wiring.inspect_server(settings)
    except GatewayError as error:
        return [_finding("bad", str(error))]
    engine = f"PostgreSQL {found.version}"
    findings = [
        _finding("warning", f"{engine}, at a newer schema ({', '.join(found.newer.values())}): {NEWER}")
        if found.newer
        else _finding("good", f"{engine}, at the newest schema, {HEAD}")
    ]
    if found.read_only:
        findings.append(_finding("bad", "it takes no writes: is it a standby?"))
    if not found.is_durable:
        findings.append(
            _finding("bad", "commits are not on the disk: fsync and synchronous_commit must not be off")
        )
    if not found.has_standby:
        findings.append(
            _finding(
                "warning",
                "no synchronous_standby_names: a failover may lose what was shown last, and leave a gap",
            )
        )
    if not found.gives_up:
        findings.append(
            _finding(
                "warning",
                "behind the pooler a session that is locked holds up the others: set lock_timeout of its "
                "user (ALTER ROLE … SET lock_timeout = '5s')",
            )
        )
    if abs(found.clock_ahead) > CLOCKS_APART:
        apart = f"{abs(found.clock_ahead):.0f} s {'ahead of' if found.clock_ahead > 0 else 'behind'}"
        findings.append(_finding("warning", f"its clock is {apart} this machine's: set them by NTP"))
    return [*findings, *_replicas(found)]


def _replicas(found: SharedServer) -> list[Finding]:
    if not found.replicas:
        return [_finding("good", "no replica runs", "replicas")]
    findings: list[Finding] = []
    for name in sorted({name for peer in found.replicas for name in peer.about}):
        values: dict[str, list[str]] = {}
        for peer in found.replicas:
            values.setdefault(peer.about.get(name, "none"), []).append(peer.id)
        if len(values) > 1:
            shown = "; ".join(f"{value}: {', '.join(ids)}" for value, ids in values.items())
            says = f"they differ in {name} ({shown}){MEANS.get(name, '')}"
            findings.append(_finding("warning", says, "replicas"))
    many = f"{len(found.replicas)} run" if len(found.replicas) > 1 else "1 runs"
    return findings or [
        _finding("good", f"{many}, with the same version, lease, prompts, skills and settings", "replicas")
    ]


def _finding(state: State, says: str, about: str = "storage") -> Finding:
    return Finding(state, about, says)
