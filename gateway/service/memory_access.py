"""Access to memories: who may see which from where; and whether a quote is the user's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.auth import Principal
from gateway.errors import Forbidden, InvalidRequest, NotFound
from gateway.memory.editor import Editor
from gateway.memory.extraction.user_messages import assistant_text, user_text
from gateway.memory.households import households_of, housemates_of
from gateway.memory.memories import not_found
from gateway.memory.services import MemoryServices
from gateway.memory.validation import clean
from gateway.service.dependencies import Dependencies
from gateway.storage.memories import AllScopes, Evidence, Scope, Viewer
from gateway.turn.influence import brought_along


@dataclass(frozen=True, slots=True)
class ScopeIds:
    """The ids of a request that name its scope. A session brings its role and project along; `user_id` may
    only repeat who asks. A task and a group are names that tools and clients give."""

    role_id: str | None = None
    project_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    task_id: str | None = None
    group_id: str | None = None


class MemoryAccess:
    """One per process."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    @property
    def services(self) -> MemoryServices:
        services = self._deps.memory
        if services is None:
            raise memory_off()
        return services

    def own(self, who: Principal) -> Scope:
        return Scope(who.user_id, households=households_of(self._deps.settings, who.user_id))

    def all_scopes(self, who: Principal) -> AllScopes:
        return AllScopes(who.user_id, households_of(self._deps.settings, who.user_id))

    def editor(self, who: Principal, scope: Scope | None = None) -> Editor:
        """Changes what is the caller's; `scope` is where they save something, if that is not everywhere."""
        return Editor(
            self.services.memories,
            scope or self.own(who),
            self.all_scopes(who),
            who.user_id,
            owners=housemates_of(self._deps.settings, who.user_id),
            sessions=self._deps.sessions,
        )

    async def scope(self, who: Principal, scope_ids: ScopeIds) -> Scope:
        own, role_id, project_id = self.own(who), scope_ids.role_id, scope_ids.project_id
        if scope_ids.user_id not in {None, who.user_id}:
            raise Forbidden("These are another user's memories: leave user_id out for your own.")
        if scope_ids.session_id is not None:
            session = await self._deps.sessions.get(scope_ids.session_id, who.user_id)
            role_id, project_id = role_id or session.role_id, project_id or session.project_id
        return own._replace(
            role_id=role_id,
            project_id=project_id,
            session_id=scope_ids.session_id,
            task_id=scope_ids.task_id,
            group_id=scope_ids.group_id,
        )

    async def viewer(self, who: Principal, memory_id: str) -> Viewer:
        """Documents have no owner and are visible to all users."""
        for viewer in (self.all_scopes(who), self.own(who)):
            if await self.services.store.get(viewer, memory_id):
                return viewer
        raise not_found(memory_id)

    async def checked(self, who: Principal, evidence: Sequence[Evidence]) -> Sequence[Evidence]:
        """The evidence as it is kept. Raises errors.InvalidRequest (evidence_not_found)."""
        found: list[Evidence] = []
        for each in evidence:
            if (held := await self.held(who, each)) is None:
                raise InvalidRequest(
                    f"The quote is not in what you said in message {each.position} of session "
                    f"{each.session_id}. Quote it word for word.",
                    code="evidence_not_found",
                )
            found.append(held)
        return found

    async def held(self, who: Principal, evidence: Evidence) -> Evidence | None:
        """The evidence as it is stored, on one line and without invisible characters; None unless the quote
        is in the user's own words in that message, which was written here."""
        try:
            await self._deps.sessions.get(evidence.session_id, who.user_id)
        except NotFound:
            return None
        position, quote = evidence.position, _on_one_line(clean(evidence.quote))
        found = await self._deps.sessions.messages(evidence.session_id, after=position - 1, until=position)
        of = user_text if evidence.author == "user" else assistant_text
        brought = await brought_along(self._deps.turns, self._deps.settings, evidence.session_id)
        found = [each for each in found if each.turn_id not in brought]
        if quote and any(quote in _on_one_line(of(each.message)) for each in found):
            return replace(evidence, quote=quote)
        return None


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def memory_off() -> NotFound:
    return NotFound(
        "The memory is switched off: set GATEWAY_MEMORY=true and start the gateway again.", code="memory_off"
    )
