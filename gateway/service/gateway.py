"""The operations that all entry points call, by subject. They check what the caller may do, and nothing here
knows HTTP."""

from dataclasses import dataclass

from gateway.service.added_limits import OperatorLimits
from gateway.service.added_mcp_servers import UserMcpServers
from gateway.service.api_keys import ApiKeys
from gateway.service.approvals import TurnApprovals
from gateway.service.artifacts import UserArtifacts
from gateway.service.audit import UserAudit
from gateway.service.client_tools import ClientResults
from gateway.service.compressions_and_summaries import SessionHistory
from gateway.service.costly_places import CostlyPlaces
from gateway.service.dependencies import Dependencies
from gateway.service.documents import DocumentedMemories
from gateway.service.ended_access import AccessEnding
from gateway.service.foreign_chats import ForeignChats
from gateway.service.key_rotation import SecretRotation
from gateway.service.legal_holds import UserHolds
from gateway.service.limits import UserLimits
from gateway.service.mcp_prompts import McpPrompts
from gateway.service.mcp_servers import McpServerSignIns
from gateway.service.memory import UserMemories
from gateway.service.memory_learning_import import LearningAndImport
from gateway.service.projects import UserProjects
from gateway.service.prompt_versions import PromptEdits
from gateway.service.prompts import Prompts
from gateway.service.provider_keys import UserProviderKeys
from gateway.service.retention import TenantRetention
from gateway.service.saved_prompts import UserSavedPrompts
from gateway.service.schedules import UserSchedules
from gateway.service.sent_prompts import SentPrompts
from gateway.service.session_records import SessionRecords
from gateway.service.session_replays import SessionReplays
from gateway.service.sessions import UserSessions
from gateway.service.shared_links import UserLinks
from gateway.service.skills import SkillsOffered
from gateway.service.streams import SessionStreams
from gateway.service.turns import UserTurns
from gateway.service.usage import UserUsage
from gateway.service.user_profiles import UserProfiles
from gateway.service.webhooks import UserWebhooks
from gateway.turn.in_flight import InFlight
from gateway.turn.replica_heartbeat import ReplicaHeartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """One per process; all entry points share it."""

    deps: Dependencies
    in_flight: InFlight
    heartbeat: ReplicaHeartbeat

    sessions: UserSessions
    turns: UserTurns
    streams: SessionStreams
    history: SessionHistory
    prompts: Prompts
    prompt_edits: PromptEdits
    sent_prompts: SentPrompts
    replays: SessionReplays
    records: SessionRecords
    approvals: TurnApprovals
    client_results: ClientResults
    skills: SkillsOffered
    artifacts: UserArtifacts
    memory: UserMemories
    learning_and_import: LearningAndImport
    profiles: UserProfiles
    documents: DocumentedMemories
    schedules: UserSchedules
    webhooks: UserWebhooks
    projects: UserProjects
    saved_prompts: UserSavedPrompts
    foreign_chats: ForeignChats
    keys: ApiKeys
    links: UserLinks
    provider_keys: UserProviderKeys
    mcp_servers: McpServerSignIns
    added_mcp_servers: UserMcpServers
    mcp_prompts: McpPrompts
    limits: UserLimits
    added_limits: OperatorLimits
    usage: UserUsage
    audit: UserAudit
    access_ending: AccessEnding
    holds: UserHolds
    retention: TenantRetention
    secrets: SecretRotation
    places: CostlyPlaces

    @property
    def is_draining(self) -> bool:
        return self.in_flight.draining.is_set()

    async def recover(self) -> None:
        """Start-up: ends the turns that wait and were cancelled, and goes on with those that a former process
        left open."""
        for turn in await self.deps.turns.cancelled_waiting():
            await self.in_flight.close_waiting(turn)
        await self.heartbeat.beat()

    async def drain(self, grace: float) -> None:
        """Shutdown: no new turns, running ones get `grace` seconds, then all streams end."""
        await self.in_flight.drain(grace)
        await self.heartbeat.leave()
        await self.history.close()
        await self.turns.releases.close()
        self.streams.close()
