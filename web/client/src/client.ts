// The verbs of the HTTP API.

import type * as api from "./api.js";
import { Backoff, waitToRetry } from "./backoff.js";
import { Connection, Refused, Unreachable } from "./connection.js";
import type { ClientOptions } from "./connection.js";
import type { Event } from "./conversation.js";
import { share } from "./json.js";
import { watchedFetch } from "./upload-progress.js";

const TRIES = 5;
const FIRST_WAIT_MS = 600;

/** What a turn is started with; `client_message_id` is made where it is absent. */
export type TurnMessage = api.TurnOptions;

export interface EventPage extends Omit<api.EventPage, "events"> {
  readonly events: readonly Event[];
}

interface Aborting {
  readonly signal?: AbortSignal;
}

/** All methods throw `Refused` with the server's code and words, or `Unreachable`. */
export class GatewayClient {
  /** For requests that have no verb here. */
  readonly connection: Connection;

  constructor(options: ClientOptions = {}) {
    this.connection = new Connection(options);
  }

  setKey(key: string | undefined): void {
    this.connection.setKey(key);
  }

  // Sessions

  sessions(query: api.SessionsQuery = {}, { signal }: Aborting = {}): Promise<api.SessionPage> {
    return this.connection.ask("GET", "/api/sessions", { query, signal });
  }

  session(session: string): Promise<api.SessionDetails> {
    return this.connection.ask("GET", of(session));
  }

  createSession(body: api.SessionBody = {}): Promise<api.Session> {
    return this.connection.ask("POST", "/api/sessions", { body });
  }

  /** Another title, pinned or not, archived or not. */
  changeSession(session: string, body: api.SessionChanges): Promise<api.Session> {
    return this.connection.ask("PATCH", of(session), { body });
  }

  deleteSession(session: string): Promise<void> {
    return this.connection.ask("DELETE", of(session));
  }

  snapshot(session: string): Promise<api.SnapshotReply> {
    return this.connection.ask("GET", `${of(session)}/snapshot`);
  }

  messages(session: string, query: api.BranchQuery = {}): Promise<api.Messages> {
    return this.connection.ask("GET", `${of(session)}/messages`, { query });
  }

  /** A page of the log: the events after `after`, at most `limit`. */
  async events(session: string, query: api.EventsQuery = {}, { signal }: Aborting = {}): Promise<EventPage> {
    const page = await this.connection.ask<EventPage>("GET", `${of(session)}/events`, { query, signal });
    page.events.forEach((event, place) => share(event, page.events[place - 1]));
    return page;
  }

  /** The newest events before event `first`, in their order, at most `limit`: a page to prepend. Empty where there are
   * none. A number beyond the head is the session's end. */
  async eventsBefore(session: string, first: number, limit = 1000, { signal }: Aborting = {}): Promise<readonly Event[]> {
    for (let before = first; before > 1;) {
      const { events, previous = 1 } = await this.events(session, { before, limit }, { signal });
      if (events.length) return events;
      before = previous;
    }
    return [];
  }

  /** The newest summary of a session. */
  summary(session: string): Promise<api.Summary> {
    return this.connection.ask("GET", `/api/session/summary/${encodeURIComponent(session)}`);
  }

  /** The whole session as a file that can be imported. */
  exportSession(session: string): Promise<File> {
    return this.download(`${of(session)}/export`);
  }

  importSession(file: Blob): Promise<api.Session> {
    return this.upload("/api/sessions/import", file, "application/x-ndjson");
  }

  /** All sessions in one file. */
  exportSessions(): Promise<File> {
    return this.download("/api/export");
  }

  /** Makes the sessions of such a file; what is refused keeps no other out. */
  importSessions(file: Blob): Promise<api.ImportedSessions> {
    return this.upload("/api/import", file, "application/x-ndjson");
  }

  // Turns

  /** Starts a turn, once: what got lost on the way is sent again under the same `client_message_id`. */
  startTurn(session: string, message: TurnMessage | string, options: Aborting = {}): Promise<api.AcceptedTurn> {
    const body = typeof message === "string" ? { message } : message;
    return this.start(`${of(session)}/turns`, body, options);
  }

  /** Asks the message of a turn anew, in a branch of its own; once, as `startTurn`. */
  regenerate(session: string, turn: string, body: api.RegenerateBody = {}, options: Aborting = {}): Promise<api.AcceptedTurn> {
    return this.start(`${of(session)}/turns/${turn}/regenerate`, body, options);
  }

  turn(session: string, turn: string): Promise<api.Turn> {
    return this.connection.ask("GET", `${of(session)}/turns/${turn}`);
  }

  turns(query: api.TurnsQuery = {}): Promise<api.TurnPage> {
    return this.connection.ask("GET", "/api/turns", { query });
  }

  /** What this user's turns used, by model. */
  usage(query: api.UsageQuery = {}, { signal }: Aborting = {}): Promise<api.UsageReply> {
    return this.connection.ask("GET", "/api/usage", { query, signal });
  }

  /** A month of this user, by day, model and chat. */
  usageOfMonth(query: api.MonthQuery = {}, { signal }: Aborting = {}): Promise<api.MonthReply> {
    return this.connection.ask("GET", "/api/usage/month", { query, signal });
  }

  /** The same as a table by day and model, as a CSV file. */
  usageTable(query: api.MonthQuery = {}): Promise<File> {
    return this.download("/api/usage/month", undefined, { ...query, format: "csv" });
  }

  /** The same of another user, for admins; without `tenant` one of their own. */
  usageOfUser(user: string, query: api.UserMonthQuery = {}, { signal }: Aborting = {}): Promise<api.MonthReply> {
    return this.connection.ask("GET", `/api/users/${encodeURIComponent(user)}/usage`, { query, signal });
  }

  usageTableOfUser(user: string, query: api.UserMonthQuery = {}): Promise<File> {
    return this.download(`/api/users/${encodeURIComponent(user)}/usage`, undefined, { ...query, format: "csv" });
  }

  /** A page of the users of an admin, with what they used in a month. */
  users(query: api.UsersQuery = {}, { signal }: Aborting = {}): Promise<api.UserList> {
    return this.connection.ask("GET", "/api/users", { query, signal });
  }

  /** Stops a turn. Once it is over this changes nothing. */
  cancel(session: string, turn: string): Promise<api.Turn> {
    return persist(() => this.connection.ask("POST", `${of(session)}/turns/${turn}/cancel`));
  }

  /** What a person thinks of a turn that is over. */
  giveFeedback(session: string, turn: string, body: api.FeedbackBody): Promise<api.Turn> {
    return this.connection.ask("POST", `${of(session)}/turns/${turn}/feedback`, { body });
  }

  branches(session: string): Promise<api.BranchList> {
    return this.connection.ask("GET", `${of(session)}/branches`);
  }

  activateBranch(session: string, branch: number): Promise<api.BranchList> {
    return this.connection.ask("POST", `${of(session)}/branches/${branch}/activate`);
  }

  // Calls that wait

  approvals(): Promise<api.ApprovalsReply> {
    return this.connection.ask("GET", "/api/approvals");
  }

  approval(session: string, turn: string, call: string): Promise<api.Approval> {
    return this.connection.ask("GET", approvalPath(session, turn, call));
  }

  /** Approves or denies a call. */
  decide(session: string, turn: string, call: string, body: api.DecisionBody): Promise<api.Approval> {
    return persist(() => this.connection.ask("POST", approvalPath(session, turn, call), { body }));
  }

  /** The result of a call that this client ran (`runs_on: client`). */
  giveToolResult(session: string, turn: string, call: string, body: api.ToolResultBody): Promise<api.ToolResultReply> {
    const path = `${of(session)}/turns/${turn}/tool_results/${encodeURIComponent(call)}`;
    return persist(() => this.connection.ask("POST", path, { body }));
  }

  grants(): Promise<api.Grants> {
    return this.connection.ask("GET", "/api/grants");
  }

  revokeGrant(tool: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/grants/${encodeURIComponent(tool)}`);
  }

  // Compressed history

  compress(session: string): Promise<api.CompressionDetails> {
    return this.connection.ask("POST", `${of(session)}/compress`);
  }

  compressions(session: string): Promise<api.CompressionList> {
    return this.connection.ask("GET", `${of(session)}/compressions`);
  }

  compression(session: string, version: number): Promise<api.CompressionDetails> {
    return this.connection.ask("GET", `${of(session)}/compressions/${version}`);
  }

  /** What a version archived, a line for each message. */
  compressionArchive(session: string, version: number): Promise<File> {
    return this.download(`${of(session)}/compressions/${version}/archive`);
  }

  activateCompression(session: string, version: number): Promise<api.CompressionList> {
    return this.connection.ask("POST", `${of(session)}/compressions/${version}/activate`);
  }

  // Webhooks

  /** The caller's, the oldest first. */
  webhooks(): Promise<api.WebhookList> {
    return this.connection.ask("GET", "/api/webhooks");
  }

  /** Its answer alone has the secret. */
  addWebhook(body: api.WebhookBody): Promise<api.NewWebhook> {
    return this.connection.ask("POST", "/api/webhooks", { body });
  }

  changeWebhook(id: string, enabled: boolean): Promise<api.WebhookReply> {
    return this.connection.ask("PATCH", `/api/webhooks/${id}`, { body: { enabled } });
  }

  /** Posts a signed message to it at once. */
  testWebhook(id: string): Promise<api.WebhookTest> {
    return this.connection.ask("POST", `/api/webhooks/${id}/test`);
  }

  /** What it was told and is to be told, the newest first. */
  deliveries(id: string, query: api.DeliveriesQuery = {}): Promise<api.DeliveryList> {
    return this.connection.ask("GET", `/api/webhooks/${id}/deliveries`, { query });
  }

  /** Tries a delivery that ended again, or all that are dead. */
  replayDeliveries(id: string, delivery?: string): Promise<api.Replayed> {
    return this.connection.ask("POST", `/api/webhooks/${id}/replay`, { body: delivery === undefined ? {} : { delivery } });
  }

  deleteWebhook(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/webhooks/${id}`);
  }

  // Projects

  /** Those that the caller is in, in the caller's order. */
  projects(): Promise<api.ProjectList> {
    return this.connection.ask("GET", "/api/projects");
  }

  /** With its members. */
  project(id: string): Promise<api.ProjectDetails> {
    return this.connection.ask("GET", `/api/projects/${id}`);
  }

  createProject(body: api.ProjectBody): Promise<api.ProjectReply> {
    return this.connection.ask("POST", "/api/projects", { body });
  }

  renameProject(id: string, name: string): Promise<api.ProjectReply> {
    return this.changeProject(id, { name });
  }

  /** Another name, other instructions for the sessions that are made in it. */
  changeProject(id: string, body: api.ProjectChanges): Promise<api.ProjectReply> {
    return this.connection.ask("PATCH", `/api/projects/${id}`, { body });
  }

  /** The order of the caller's list. */
  arrangeProjects(ids: readonly string[]): Promise<api.ProjectList> {
    return this.connection.ask("PUT", "/api/projects/order", { body: { projects: ids } });
  }

  /** The prompts and personas that the caller may use. */
  savedPrompts(): Promise<api.SavedPromptList> {
    return this.connection.ask("GET", "/api/saved-prompts");
  }

  /** `forAll`: for all users of the tenant, which is for admins; so below. */
  savePrompt(body: api.OwnSavedPromptBody, forAll = false): Promise<api.SavedPromptReply> {
    return this.connection.ask("POST", savedPrompts(forAll), { body });
  }

  changeSavedPrompt(id: string, body: api.SavedPromptEdits, forAll = false): Promise<api.SavedPromptReply> {
    return this.connection.ask("PATCH", `${savedPrompts(forAll)}/${id}`, { body });
  }

  deleteSavedPrompt(id: string, forAll = false): Promise<void> {
    return this.connection.ask("DELETE", `${savedPrompts(forAll)}/${id}`);
  }

  /** What was shared in it stays with its owners. */
  deleteProject(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/projects/${id}`);
  }

  /** Invites a user of the caller's tenant, or gives a member another role. */
  putMember(id: string, user: string, role: api.RoleBody["role"]): Promise<void> {
    return this.connection.ask("PUT", `/api/projects/${id}/members/${encodeURIComponent(user)}`, { body: { role } });
  }

  /** The projects that the caller is asked into. */
  invitations(): Promise<api.InvitationList> {
    return this.connection.ask("GET", "/api/invitations");
  }

  acceptInvitation(id: string): Promise<api.ProjectReply> {
    return this.connection.ask("POST", `/api/invitations/${id}/accept`);
  }

  declineInvitation(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/invitations/${id}`);
  }

  /** Takes an invitation back as well. */
  removeMember(id: string, user: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/projects/${id}/members/${encodeURIComponent(user)}`);
  }

  // Schedules

  schedules(): Promise<api.ScheduleList> {
    return this.connection.ask("GET", "/api/schedules");
  }

  /** With its next times and its last runs. */
  schedule(id: string): Promise<api.ScheduleDetails> {
    return this.connection.ask("GET", `/api/schedules/${id}`);
  }

  createSchedule(body: api.ScheduleBody): Promise<api.ScheduleReply> {
    return this.connection.ask("POST", "/api/schedules", { body });
  }

  /** When such a schedule would be due. */
  previewSchedule(body: api.TimingBody, { signal }: Aborting = {}): Promise<api.SchedulePreview> {
    return this.connection.ask("POST", "/api/schedules/preview", { body, signal });
  }

  changeSchedule(id: string, status: api.ScheduleChanges["status"]): Promise<api.ScheduleReply> {
    return this.connection.ask("PATCH", `/api/schedules/${id}`, { body: { status } });
  }

  /** Sends its message now, once. */
  runSchedule(id: string): Promise<api.ScheduleReply> {
    return this.connection.ask("POST", `/api/schedules/${id}/run`);
  }

  deleteSchedule(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/schedules/${id}`);
  }

  // Memories: `version` is the one that the change expects (If-Match)

  memories(query: api.MemoriesQuery = {}, { signal }: Aborting = {}): Promise<api.MemoryPage> {
    return this.connection.ask("GET", "/api/memory", { query, signal });
  }

  memory(id: string): Promise<api.MemoryDetails> {
    return this.connection.ask("GET", `/api/memory/${id}`);
  }

  remember(body: api.NewMemoryBody): Promise<api.MemoryItem> {
    return this.connection.ask("POST", "/api/memory", { body });
  }

  changeMemory(id: string, body: api.MemoryPatch, version?: number): Promise<api.MemoryItem> {
    return this.connection.ask("PATCH", `/api/memory/${id}`, { body, headers: ifMatch(version) });
  }

  correctMemory(body: api.CorrectBody, version?: number): Promise<api.MemoryChanges> {
    return this.connection.ask("POST", "/api/memory/correct", { body, headers: ifMatch(version) });
  }

  /** `session`: one whose log tells it, as an event. */
  forget(id: string, version?: number, session?: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/memory/${id}`, { headers: ifMatch(version), query: { session_id: session } });
  }

  /** Brings a deleted memory back, or makes one again what it was at the version `to`. */
  restoreMemory(id: string, to?: number, version?: number, session?: string): Promise<api.MemoryItem> {
    const body: api.RestoreBody = to === undefined ? {} : { to_version: to };
    return this.connection.ask("POST", `/api/memory/${id}/restore`, { body, headers: ifMatch(version), query: { session_id: session } });
  }

  /** All that a memory was, also a deleted one. */
  memoryVersions(id: string): Promise<api.MemoryVersions> {
    return this.connection.ask("GET", `/api/memory/${id}/versions`);
  }

  eraseMemory(id: string, version?: number): Promise<void> {
    return this.connection.ask("POST", `/api/memory/${id}/erase`, { headers: ifMatch(version) });
  }

  confirmMemory(id: string, version?: number, session?: string): Promise<api.MemoryItem> {
    return this.connection.ask("POST", `/api/memory/${id}/confirm`, { headers: ifMatch(version), query: { session_id: session } });
  }

  mergeMemories(body: api.MergeBody): Promise<api.MemoryChanges> {
    return this.connection.ask("POST", "/api/memory/merge", { body });
  }

  /** Pairs of memories of which one can hold only, and of which nobody has said yet which. */
  contradictions(): Promise<api.Contradictions> {
    return this.connection.ask("GET", "/api/memory/contradictions");
  }

  answerContradiction(body: api.AnswerBody): Promise<api.MemoryChanges> {
    return this.connection.ask("POST", "/api/memory/contradictions", { body });
  }

  retrieveMemories(body: api.RetrieveBody): Promise<api.Retrieved> {
    return this.connection.ask("POST", "/api/memory/retrieve", { body });
  }

  exportMemories(): Promise<File> {
    return this.download("/api/memory/export");
  }

  importMemories(file: Blob): Promise<api.Imported> {
    return this.upload("/api/memory/import", file, "application/x-ndjson");
  }

  profiles(): Promise<api.ProfileList> {
    return this.connection.ask("GET", "/api/profiles");
  }

  writeProfile(kind: string, id: string, body: api.ProfileBody, version?: number): Promise<api.ProfileReply> {
    return this.connection.ask("PUT", `/api/profiles/${kind}/${id}`, { body, headers: ifMatch(version) });
  }

  documents(): Promise<api.DocumentList> {
    return this.connection.ask("GET", "/api/documents");
  }

  deprecateDocument(id: string): Promise<api.DocumentRow> {
    return this.connection.ask("POST", `/api/documents/${id}/deprecate`);
  }

  restoreDocument(id: string): Promise<api.DocumentRow> {
    return this.connection.ask("POST", `/api/documents/${id}/restore`);
  }

  // Artifacts

  artifacts(query: api.ArtifactsQuery = {}, { signal }: Aborting = {}): Promise<api.ArtifactPage> {
    return this.connection.ask("GET", "/api/artifacts", { query, signal });
  }

  /** The whole content, with its name and type. */
  artifact(ref: string, { signal }: Aborting = {}): Promise<File> {
    return this.download(`/api/artifacts/${ref}`, signal);
  }

  artifactPart(ref: string, query: api.PartQuery): Promise<api.ArtifactPart> {
    return this.connection.ask("GET", `/api/artifacts/${ref}`, { query });
  }

  artifactCompact(ref: string): Promise<api.ArtifactCompact> {
    return this.connection.ask("GET", `/api/artifacts/${ref}/compact`);
  }

  /** Keeps a file; its reference goes into `attachments` of a message. `onProgress` is told the share that was sent, 0
   * to 1, in browsers. */
  keepArtifact(
    file: Blob, query: api.UploadQuery = {}, { signal, onProgress }: Aborting & { readonly onProgress?: (share: number) => void } = {},
  ): Promise<api.ArtifactCompact> {
    const name = query.name ?? (file instanceof File ? file.name : undefined);
    return this.upload("/api/artifacts", file, file.type || "application/octet-stream", { ...query, name, raw: "1" }, signal, onProgress && watchedFetch(onProgress));
  }

  deleteArtifact(ref: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/artifacts/${ref}`);
  }

  // Skills, prompts, health

  skills(query: api.SkillsQuery = {}): Promise<api.SkillList> {
    return this.connection.ask("GET", "/api/skills", { query });
  }

  refreshSkills(): Promise<api.SkillList> {
    return this.connection.ask("POST", "/api/skills/refresh");
  }

  switchSkill(name: string, enabled: boolean): Promise<api.SkillRow> {
    return this.connection.ask("PATCH", `/api/skills/${encodeURIComponent(name)}`, { body: { enabled } });
  }

  mcpServers(): Promise<api.McpServerList> {
    return this.connection.ask("GET", "/api/mcp/servers");
  }

  /** Prompts that the servers offer; they are asked for them now. */
  mcpPrompts(): Promise<api.McpPromptList> {
    return this.connection.ask("GET", "/api/mcp/prompts");
  }

  /** The text of one, for a draft. */
  fillMcpPrompt(body: api.FillMcpPromptBody): Promise<api.FilledMcpPrompt> {
    return this.connection.ask("POST", "/api/mcp/prompts", { body });
  }

  /** The address at which this browser signs the gateway in to a server; it comes back to the page. */
  beginMcpSignIn(name: string): Promise<api.BegunMcpSignIn> {
    return this.connection.ask("POST", `/api/mcp/servers/${encodeURIComponent(name)}/sign-in`, { body: { redirect_uri: "page" } });
  }

  /** Your links to chats, the newest first. */
  links(): Promise<api.LinkList> {
    return this.connection.ask("GET", "/api/links");
  }

  /** Its answer alone has the path of the link. */
  createLink(body: api.LinkBody): Promise<api.NewLink> {
    return this.connection.ask("POST", "/api/links", { body });
  }

  /** Ends a link for everybody. */
  endLink(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/links/${id}`);
  }

  /** Lets this browser open a link within a minute. */
  openLink(token: string): Promise<void> {
    return this.connection.ask("POST", "/api/links/open", { body: { token } satisfies api.OpenLinkBody });
  }

  /** Forgets the gateway's sign-in to a server. */
  endMcpSignIn(name: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/mcp/servers/${encodeURIComponent(name)}/sign-in`);
  }

  /** Adds a server, or changes one that was added; for the operator, as all that follows. */
  putMcpServer(name: string, body: api.McpServerBody): Promise<api.McpServerRow> {
    return this.connection.ask("PUT", `/api/mcp/servers/${encodeURIComponent(name)}`, { body });
  }

  removeMcpServer(name: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/mcp/servers/${encodeURIComponent(name)}`);
  }

  limitRules(): Promise<api.LimitRules> {
    return this.connection.ask("GET", "/api/limits");
  }

  /** In the place of all that were set so before. */
  setLimitRules(rules: readonly string[]): Promise<api.LimitRules> {
    return this.connection.ask("PUT", "/api/limits", { body: { rules } satisfies api.LimitsBody });
  }

  /** How the process that answers is doing. */
  server(): Promise<api.ServerReply> {
    return this.connection.ask("GET", "/api/server");
  }

  /** Who did what, the newest first; for admins. */
  audit(query: api.AuditPageQuery = {}): Promise<api.AuditPage> {
    return this.connection.ask("GET", "/api/audit", { query });
  }

  /** Your keys, or everybody's for admins, without their secrets. */
  keys(query: api.KeysQuery = {}): Promise<api.KeyList> {
    return this.connection.ask("GET", "/api/keys", { query });
  }

  /** Its answer alone has the key itself. */
  createKey(body: api.KeyBody): Promise<api.NewKey> {
    return this.connection.ask("POST", "/api/keys", { body });
  }

  revokeKey(id: string): Promise<void> {
    return this.connection.ask("DELETE", `/api/keys/${id}`);
  }

  prompts(): Promise<api.PromptReport> {
    return this.connection.ask("GET", "/api/prompts");
  }

  /** What the operator wrote in place of a component's file, the newest first. */
  promptVersions(component: string, query: api.VersionsQuery = {}): Promise<api.PromptVersionList> {
    return this.connection.ask("GET", `/api/prompts/components/${encodeURIComponent(component)}/versions`, { query });
  }

  /** Has a component say something else from the next turn on; without a text its file holds again. */
  changePrompt(component: string, body: api.VersionBody): Promise<api.PromptVersionReply> {
    return this.connection.ask("PUT", `/api/prompts/components/${encodeURIComponent(component)}/versions`, { body });
  }

  /** What the model was sent in a turn, as far as that is known. */
  sentPrompt(session: string, turn: string, { signal }: Aborting = {}): Promise<api.SentPrompt> {
    return this.connection.ask("GET", `${of(session)}/turns/${turn}/prompt`, { signal });
  }

  /** The prompt as it would be if components said something else. */
  previewEdits(body: api.EditsBody): Promise<api.PromptPreview> {
    return this.connection.ask("POST", "/api/prompts/preview", { body });
  }

  promptPreview(query: api.PreviewQuery = {}): Promise<api.PromptPreview> {
    return this.connection.ask("GET", "/api/prompts/preview", { query });
  }

  /** Who this client is for the gateway, and the models that it may choose. */
  me(): Promise<api.Caller> {
    return this.connection.ask("GET", "/api/me");
  }

  /** The models that your turns may choose, the default first, with what is known of each. */
  models(): Promise<api.ChoosableModels> {
    return this.connection.ask("GET", "/api/models");
  }

  /** Everything about you in one zip archive. */
  exportMe(): Promise<File> {
    return this.download("/api/me/export");
  }

  /** Whether you have your own key of the model's provider; nobody is shown it. */
  providerKey(): Promise<api.ProviderKeyReply> {
    return this.connection.ask("GET", "/api/provider-key");
  }

  setProviderKey(key: string): Promise<api.ProviderKeyReply> {
    return this.connection.ask("PUT", "/api/provider-key", { body: { key } satisfies api.ProviderKeyBody });
  }

  removeProviderKey(): Promise<void> {
    return this.connection.ask("DELETE", "/api/provider-key");
  }

  /** The key of the tenant, which serves all who have none of their own; for its admins. */
  tenantProviderKey(): Promise<api.ProviderKeyReply> {
    return this.connection.ask("GET", "/api/tenant/provider-key");
  }

  setTenantProviderKey(key: string): Promise<api.ProviderKeyReply> {
    return this.connection.ask("PUT", "/api/tenant/provider-key", { body: { key } satisfies api.ProviderKeyBody });
  }

  removeTenantProviderKey(): Promise<void> {
    return this.connection.ask("DELETE", "/api/tenant/provider-key");
  }

  /** Ends the sign-in of this browser; the address where it goes now. */
  async signOut(): Promise<string> {
    return (await this.connection.ask<api.SignedOut>("POST", "/auth/sign-out")).url;
  }

  health(): Promise<api.Health> {
    return this.connection.ask("GET", "/healthz");
  }

  private start(path: string, given: { client_message_id?: string }, { signal }: Aborting): Promise<api.AcceptedTurn> {
    const body = { ...given, client_message_id: given.client_message_id ?? randomId() };
    return persist(() => this.connection.ask("POST", path, { body, signal }), signal);
  }

  private async upload<T>(path: string, body: Blob, type: string, query?: object, signal?: AbortSignal, via?: typeof fetch): Promise<T> {
    const headers = { "Content-Type": type, "Accept": "application/json" };
    const init: RequestInit = { method: "POST", headers, body, signal: signal ?? null };
    return await (await this.connection.send(path, init, query as Record<string, string>, via)).json() as T;
  }

  private async download(path: string, signal?: AbortSignal, query?: object): Promise<File> {
    const response = await this.connection.send(path, { signal: signal ?? null }, query as Record<string, string>);
    const [, name = ""] = response.headers.get("Content-Disposition")?.match(/filename="([^"]*)"/) ?? [];
    const content = await response.blob();
    return new File([content], name, { type: content.type });
  }
}

/** Repeats a request that may be repeated while no answer comes, or the server starts or stops. */
async function persist<T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const backoff = new Backoff(FIRST_WAIT_MS);
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const again = error instanceof Unreachable || error instanceof Refused && [502, 503, 504].includes(error.status);
      if (!again || count === TRIES || signal?.aborted) throw error;
      await waitToRetry(backoff.next(), signal);
    }
  }
}

/** 128 random bits; `crypto.randomUUID` is missing where a page came over plain HTTP. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function ifMatch(version?: number): Record<string, string> {
  return version === undefined ? {} : { "If-Match": `"${version}"` };
}

const of = (session: string): string => `/api/sessions/${encodeURIComponent(session)}`;
const savedPrompts = (forAll: boolean): string => forAll ? "/api/tenant/saved-prompts" : "/api/saved-prompts";

function approvalPath(session: string, turn: string, call: string): string {
  return `${of(session)}/turns/${turn}/approvals/${encodeURIComponent(call)}`;
}
