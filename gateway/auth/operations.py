"""The operations of the gateway, and what each of them needs: every door asks here, by the operation's name.

A door is a route, a dialect, a tool of the model, a command that serves others. What a path is called decides
nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gateway.auth import DEFAULT_TENANT, Principal, Scope
from gateway.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Operation:
    """The operation, as `subject.verb`, and the scope that it needs; None: no scope, but to be known.

    `is_open`: everybody may, unknown as well. `is_operators`: it is about all tenants, so that only those of
    the default tenant may. `action` is its name in the audit, which stays the same for good; None: it changes
    nothing and is not audited."""

    name: str
    needs: Scope | None
    action: str | None = None
    is_open: bool = False
    is_operators: bool = False

    def allows(self, scopes: Collection[Scope], tenant: str) -> bool:
        """Whether somebody of that tenant with these scopes may do it."""
        if self.is_operators and tenant != DEFAULT_TENANT:
            return False
        return self.needs is None or self.needs in scopes


_READS = (
    *("approval.list", "approval.read", "artifact.list", "artifact.read", "branch.list", "caller.read"),
    *("compression.list", "compression.read", "document.list", "event.read", "event.replay", "grant.list"),
    *("key.list", "link.list", "link.open", "mcp_prompt.list", "memory.control", "memory.list"),
    *("memory.list_contradictions", "memory.list_versions"),
    "memory.read",
    *("memory.retrieve", "message.list", "model.list", "model.read", "person.read_erasure", "profile.list"),
    *("profile.read", "project.list", "project.list_invitations", "project.read", "prompt.list"),
    *("prompt.preview", "prompt.read_sent", "provider_key.read", "saved_prompt.list", "schedule.list"),
    "schedule.read",
    *("session.list", "session.read", "session.read_snapshot", "skill.list", "summary.list"),
    *("summary.read", "turn.list", "turn.read", "usage.read", "webhook.list", "webhook.list_deliveries"),
    "webhook.read",
)
_TAKES_OUT = (
    *("memory.export", "person.export", "session.download_archive", "session.export", "session.export_all"),
    *("sign_in.end", "sign_in.keep"),
)
_CHATS = (
    *("approval.decide", "branch.activate", "compression.activate", "grant.revoke", "key.create"),
    *("key.revoke", "link.create", "link.end", "person.erase", "project.accept", "project.arrange"),
    *("project.create", "project.decline"),
    *("project.delete", "project.put_member", "project.remove_member", "project.rename"),
    *("saved_prompt.change", "saved_prompt.create", "saved_prompt.delete"),
    *("provider_key.remove", "provider_key.set", "schedule.change", "schedule.create", "schedule.delete"),
    *("schedule.run", "session.archive", "session.change", "session.compress", "session.create"),
    *("session.delete", "session.import", "session.import_all", "session.import_chats"),
    *("summary.make", "tool_result.give"),
    *("turn.cancel", "turn.rate", "turn.regenerate", "turn.release", "turn.start", "webhook.add"),
    *("webhook.change", "webhook.delete", "webhook.replay", "webhook.test"),
)
_CHANGES_MEMORY = (
    *("memory.answer", "memory.change", "memory.confirm", "memory.correct", "memory.create", "memory.delete"),
    *("memory.erase", "memory.import", "memory.merge", "memory.restore", "memory.write", "profile.put"),
)
_OF_ADMINS = ("audit.export", "hold.create", "hold.lift", "retention.change")
"""In their own tenant; the operator's admins in all."""
_ADMINS_READ = (
    *("audit.list", "hold.list", "key.list_all", "other_person.read_erasure"),
    *("other_person.read_usage", "retention.preview", "retention.read", "tenant_provider_key.read"),
    "user.list",
)
_ADMINS_ON_OTHERS = (
    *("other_person.erase", "other_person.export", "tenant_provider_key.remove", "tenant_provider_key.set"),
    *("tenant_saved_prompt.change", "tenant_saved_prompt.create", "tenant_saved_prompt.delete"),
)
_OF_THE_OPERATOR = (
    *("document.deprecate", "document.restore", "limit.change", "mcp_server.put", "mcp_server.remove"),
    *(
        "mcp_server.sign_in",
        "mcp_server.sign_out",
        "prompt.change",
        "secret.rotate",
        "skill.refresh",
        "skill.switch",
    ),
)


def _operations() -> Iterator[Operation]:
    yield from (Operation(name, "read") for name in _READS)
    yield from (Operation(name, "read", name) for name in _TAKES_OUT)
    yield from (Operation(name, "chat", name) for name in _CHATS)
    yield from (Operation(name, "chat") for name in ("mcp_prompt.fill", "schedule.preview", "token.count"))
    yield from (Operation(name, "memory", name) for name in _CHANGES_MEMORY)
    yield from (Operation(name, "artifacts", name) for name in ("artifact.delete", "artifact.keep"))
    yield from (Operation(name, "admin", name) for name in _OF_ADMINS)
    yield from (Operation(name, "admin") for name in _ADMINS_READ)
    # In the audit they are what they are for oneself: who did it to whom stands beside.
    yield from (
        Operation(name, "admin", name.removeprefix("other_").removeprefix("tenant_"))
        for name in _ADMINS_ON_OTHERS
    )
    yield from (Operation(name, "admin", name, is_operators=True) for name in _OF_THE_OPERATOR)
    yield Operation("prompt.try_edits", "admin", is_operators=True)
    yield from (
        Operation(name, "admin", is_operators=True)
        for name in ("limit.list", "mcp_server.list", "prompt.list_versions", "server.read")
    )
    yield Operation("metrics.read", "metrics", is_operators=True)
    # What a message of these protocols does is an operation of its own.
    yield from (Operation(name, None) for name in ("a2a.call", "mcp.call"))
    yield from (
        Operation(name, None, is_open=True)
        for name in ("a2a.read_card", "health.read", "link.read", "schema.read", "sign_in.begin")
    )
    yield Operation("sign_in.create", None, "sign_in.create", is_open=True)
    yield Operation("mcp_server.come_back", None, "mcp_server.come_back", is_open=True)


OPERATIONS: Mapping[str, Operation] = MappingProxyType({each.name: each for each in _operations()})


def may(who: Principal, operation: str) -> bool:
    """Whether they may, as far as that is not about whose it is."""
    return OPERATIONS[operation].allows(who.scopes, who.tenant)


def check(who: Principal, operation: str) -> None:
    """Raises errors.Forbidden: they may not; `details` has the operation, and the scope that it needs."""
    asked = OPERATIONS[operation]
    if asked.allows(who.scopes, who.tenant):
        return
    details = {"operation": operation, **({"scope": asked.needs} if asked.needs is not None else {})}
    if asked.needs is None or asked.needs in who.scopes:
        raise Forbidden(
            f"This is about all tenants: only those of the tenant {DEFAULT_TENANT} may, who look after the "
            "gateway.",
            details=details,
        )
    raise Forbidden(
        f"This needs the scope {asked.needs}, which you do not have: yours are "
        f"{', '.join(sorted(who.scopes)) or 'none'}. An admin can give it to you (docs/users.md).",
        details=details,
    )
