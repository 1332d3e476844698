"""All settings: a line each, with its default."""

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from gateway.errors import SettingsError
from gateway.settings.former_settings import WITHOUT_EFFECT
from gateway.settings.value_types import (
    ADAPTERS,
    Adapters,
    DatabaseUrl,
    Greeting,
    Households,
    LimitRules,
    McpServers,
    Names,
    PageName,
    Policy,
    Seconds,
    Suggestions,
    TraceUrl,
    TrustRules,
)

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


def config_file() -> Path:
    """Where the settings file is looked for; it need not exist unless GATEWAY_CONFIG names it."""
    return Path(os.environ.get("GATEWAY_CONFIG") or "gateway.toml")


class Settings(BaseSettings):
    """Settings that an operator can set. Times are in seconds unless the name has another unit, sizes in
    bytes."""

    model_config = SettingsConfigDict(
        env_prefix="GATEWAY_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        populate_by_name=True,
    )

    # Where it listens and keeps things
    host: str = Field(
        "127.0.0.1",
        description="Address to listen on. Other than loopback needs api_keys, oidc_issuer or "
        "trusted_proxies.",
    )
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(
        Path("data"),
        description="Folder that holds the database. Only one process may use it at a time; with PostgreSQL "
        "it holds temporary files alone.",
    )
    database_url: DatabaseUrl = Field(
        None,
        description="Address of the database: sqlite:///PATH, or "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE for several replicas. Absent: gateway.db in data_dir.",
    )
    database_direct_url: DatabaseUrl = Field(
        None,
        description="Address of the same PostgreSQL database without the pooler (such as PgBouncer) that "
        "database_url leads to. Absent: database_url leads to the server itself.",
    )
    database_connections: int = Field(
        8, ge=2, le=100, description="Most connections to PostgreSQL, beside those that append events."
    )
    lease: float = Field(
        10,
        ge=2,
        description="Time after which replicas on the same PostgreSQL database take over the turns of one "
        "that no longer responds; within a third of it if its process has ended.",
    )
    replica: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,40}$",
        description="Name of this process among the replicas; something random is added. Absent: the name of "
        "the host.",
    )
    durability: Literal["synced", "relaxed"] = Field(
        "synced",
        description="How safe an event is when it is shown. synced: it is on the disk. relaxed: text may "
        "still be in memory; a power cut can lose the last pieces, and their numbers are used again.",
    )
    blob_url: str | None = Field(
        None,
        description="Place for archives and artifacts: file:///PATH or s3://BUCKET/PREFIX. Absent: the "
        "folder blobs in data_dir.",
    )
    blobs_shared: bool = Field(
        False, description="Whether all replicas on one PostgreSQL database can reach the folder of blob_url."
    )
    copy_before_migration: bool = Field(
        True,
        description="Whether a SQLite file is copied before its schema is updated, if three times its size "
        "is free on the disk. You may delete the copy.",
    )
    prompts_dir: Path | None = Field(
        None, description="Folder with the components of the prompt. Absent: those of the gateway itself."
    )

    # Who may ask
    api_keys: SecretStr = Field(
        SecretStr(""),
        description="API keys as name:secret,… A client sends its secret as Bearer token or in x-api-key; "
        "the name becomes the user id.",
    )
    delegate_keys: Names = Field(
        (),
        description="Names of api_keys whose holders act for others, such as a frontend with users of its "
        "own. Each of their requests names its user in X-User-Id or X-OpenWebUI-User-Id.",
    )
    oidc_issuer: str | None = Field(
        None,
        description="Address of the identity provider that issues access tokens and sign-ins, exactly as its "
        "tokens give it (`iss`): https, or http on loopback.",
    )
    oidc_audience: Names = Field(
        (),
        description="Audiences (`aud`) of access tokens that are accepted as Bearer tokens. Absent: no "
        "access token is accepted.",
    )
    oidc_jwks_url: str | None = Field(
        None, description="Address of the provider's public keys. Absent: the one in its discovery document."
    )
    oidc_algorithms: Names = Field(
        ("RS256", "ES256"),
        description="Signature algorithms that are accepted: of key pairs only, never none or HS256.",
    )
    oidc_user_claim: str = Field(
        "sub",
        min_length=1,
        description="Claim that contains the user id; an email must be verified by the provider.",
    )
    oidc_tenant_claim: str | None = Field(
        None, description="Claim that contains the user's tenant. Absent: everybody is in the tenant default."
    )
    default_tenant_by_claim: bool = Field(
        False,
        description="Whether the tenant claim, or a proxy's header, may say default. Admins of that tenant "
        "are operators of the gateway: allow it only if nobody else can choose the names of organisations.",
    )
    oidc_roles_claim: str = Field(
        "groups",
        min_length=1,
        description="Claim that contains the user's groups or roles. Dots lead into nested objects: "
        "realm_access.roles.",
    )
    oidc_roles: Names = Field(
        (),
        description="Roles for values of that claim, as value=role,… A user with none of these values is "
        "refused. Absent: every user is a member.",
    )
    oidc_client_id: str | None = Field(
        None,
        min_length=1,
        description="Client id with which people sign in on the page. Absent: they cannot.",
    )
    oidc_client_secret: SecretStr | None = Field(
        None, description="Secret of that client. Absent: it is a public client, which uses PKCE alone."
    )
    oidc_scopes: Names = Field(
        ("profile", "email"), description="Scopes that a sign-in asks for, beside openid."
    )
    page_url: str | None = Field(
        None,
        pattern=r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$",
        description="Address of the page as browsers see it, such as https://chat.example.org. Sign-in on "
        "the page needs it, except on loopback.",
    )
    sign_in_lifetime: float = Field(
        43_200, ge=60, le=31_536_000, description="Time after which a person must sign in again."
    )
    sign_in_idle: float = Field(
        14_400, ge=60, description="Time without a request after which a person must sign in again."
    )
    keep_keys_for: float = Field(
        2_592_000,
        ge=0,
        le=31_536_000,
        description="Time for which a browser may keep an API key in a cookie, if its user wants that; 0: "
        "never. Needs page_url, except on loopback.",
    )
    trusted_proxies: Names = Field(
        (),
        description="Addresses and ranges, such as 10.1.0.0/16, of proxies whose headers are believed: the "
        "user that they have signed in, and X-Forwarded-For. The same headers from elsewhere are ignored.",
    )
    proxy_user_header: str | None = Field(
        None,
        min_length=1,
        description="Header in which such a proxy names the user; `none`: the proxies do not sign people in, "
        "and are believed about addresses alone. Absent: X-Forwarded-User; required if api_keys or "
        "oidc_issuer is set too.",
    )
    proxy_tenant_header: str | None = Field(
        None,
        min_length=1,
        description="Header in which such a proxy names the user's tenant. Absent: all are in default.",
    )
    proxy_roles_header: str | None = Field(
        None,
        min_length=1,
        description="Header in which such a proxy lists the user's groups or roles, separated by commas.",
    )
    proxy_roles: Names = Field(
        (), description="Roles for values of that header, as in oidc_roles. Absent: every user is a member."
    )
    # Encryption at rest
    encryption_keys: SecretStr = Field(
        SecretStr(""),
        description="Keys that encrypt what is stored: 32 bytes each in base64, separated by commas "
        "(`gateway secrets generate` makes one). The first encrypts, all of them decrypt. Absent: provider "
        "keys cannot be stored.",
    )
    encryption_keys_file: Path | None = Field(
        None, description="File with these keys, one per line, instead of encryption_keys."
    )
    encrypt_contents: bool = Field(
        False, description="Whether artifacts, archives and memories are encrypted too. Needs such a key."
    )
    provider_keys: Literal["optional", "required", "off"] = Field(
        "optional",
        description="Whether users and tenants may use a model provider's key of their own. optional: the "
        "gateway's key serves those who have none. required: it serves nobody. off: it serves everybody.",
    )

    cors_origins: Names = Field((), description="Origins of other web pages that may call the API.")
    allowed_hosts: Names = Field(
        (), description="Host names that requests may address, beside those of loopback."
    )

    # Other clients
    adapters: Adapters = Field(
        ADAPTERS,
        description="Dialects of other clients whose routes are served; `none`: only our own. There are: "
        f"{', '.join(ADAPTERS)}.",
    )
    adapter_body_size: int = Field(
        33_554_432,
        ge=1024,
        description="Largest request body on routes whose clients send the whole conversation, with its "
        "images, in every request.",
    )

    # The model
    model: str = Field(
        "claude-sonnet-5-5",
        description="Model that answers unless a request chooses another. Absent: if ANTHROPIC_BASE_URL is "
        "set, the only model that the endpoint lists.",
    )
    allowed_models: Names = Field((), description="Other models that a request may choose.")
    prompt_tokens: int = Field(
        20_000, ge=500, description="Most tokens that all components of the prompt may take together."
    )
    prompt_profile: Literal["auto", "full", "small"] = Field(
        "auto",
        description="Form of prompt and tools. small: short texts, and as many tools as fit with them in a "
        "quarter of the model's window, where that is known. auto: small where the full form takes more "
        "than a quarter of a window of at most 32,768 tokens.",
    )
    instructions_tokens: int = Field(
        8000,
        ge=100,
        description="Most tokens of the instructions that a client application may add to the prompt. The "
        "rest is cut off, and a mark says so.",
    )
    max_tokens: int = Field(
        8192,
        ge=1,
        description="Most output tokens of one model call. Absent: less for a model that writes less, and at "
        "most a quarter of its window.",
    )
    thinking_budget: int | None = Field(
        None,
        ge=1024,
        description="Most tokens that the model may think with, fewer than GATEWAY_MAX_TOKENS. Absent: no "
        "thinking. Models that accept no budget, such as Claude's since Opus 4.7, decide for themselves.",
    )
    temperature: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Temperature of the model, unless a client sends its own. Absent: the endpoint's "
        "default. Sent only with a GATEWAY_MODEL_API_VERSION before 2026-10-21, or to a server that is "
        "known not to be Anthropic's.",
    )
    anthropic_api_key: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "GATEWAY_ANTHROPIC_API_KEY"),
        description="Key of the model's endpoint.",
    )
    anthropic_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("ANTHROPIC_BASE_URL", "GATEWAY_ANTHROPIC_BASE_URL"),
        description="Address of an endpoint that speaks the Anthropic Messages API, instead of Anthropic's.",
    )
    model_api_version: str | None = Field(
        None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="Version of the Messages API that is requested. Absent: 2026-10-21, or 2023-06-01 if the "
        "endpoint refuses that.",
    )
    model_auth: Literal["auto", "bearer", "x-api-key"] = Field(
        "auto",
        description="Header that carries the endpoint's key. auto: Authorization: Bearer, or x-api-key if "
        "the endpoint refuses that.",
    )
    model_proxy: str | None = Field(
        None,
        description="HTTP proxy between the gateway and the endpoint: http://[user:password@]HOST:PORT. "
        "Absent: none, even if HTTPS_PROXY is set.",
    )
    connect_timeout: float = Field(
        5, gt=0, description="Longest time for a connection to the endpoint to be made."
    )
    first_byte_timeout: float = Field(
        60,
        gt=0,
        description="Longest time until an answer begins. An endpoint on this machine or in a private "
        "network gets more: as long as its `/health` answers with 200, and up to 600 s if it has no "
        "`/health` and this is not set.",
    )
    model_slots: int | None = Field(
        None,
        ge=1,
        description="Most requests that this process sends to the endpoint at the same time. Others wait in "
        "line, turns before background calls. Absent: as many as the endpoint says it can answer at once, "
        "or any number if it does not say.",
    )
    model_loading_timeout: float = Field(
        120,
        ge=0,
        description="Longest time to wait for an endpoint that is loading its model (HTTP 503), or that is "
        "on this machine or in a private network and accepts no connection (10 s if it has not answered "
        "before); 0: do not wait.",
    )
    progress_timeout: float = Field(
        90,
        gt=0,
        description="Longest pause within an answer; pings, empty pieces and unknown events do not end it.",
    )
    max_answer_size: int | None = Field(
        None,
        ge=65_536,
        description="Most bytes of one answer: text, thinking and tool arguments together; arguments may "
        "take a quarter. Absent: 64 for each of max_tokens, at least 1048576.",
    )
    model_attempts: int = Field(3, ge=1, description="Most attempts at one model call, including the first.")
    retry_after_cap: float = Field(
        30,
        ge=0,
        description="Longest wait before the next attempt. If the endpoint asks for a longer one, there is "
        "no other attempt.",
    )

    # Skills and tools
    skills_dir: Path = Field(Path("skills"), description="Folder with the project's skills (SKILL.md).")
    user_skills_dir: Path | None = Field(
        None,
        description="Second folder with skills, such as ~/.agents/skills. If both have a skill of one name, "
        "the project's is used.",
    )
    bundled_skills: bool = Field(
        True, description="Whether the skills that come with the gateway are available."
    )
    skill_modules: Names = Field((), description="Python modules with tools that are offered to the model.")
    skill_only_tools: Names = Field(
        (), description="Patterns of tools that may be called only while a skill that allows them is active."
    )
    skills_in_prompt: bool = Field(True, description="Whether the prompt lists the skills.")
    skills_snapshot: bool = Field(True, description="Whether SKILLS_SNAPSHOT.md is written to data_dir.")
    skills_share: float = Field(
        0.01,
        gt=0,
        le=0.5,
        description="Share of the model's window that the list of skills may take in the prompt.",
    )
    tool_policy: Policy = Field(
        (),
        description="Rules for tools by name: pattern=allow, pattern=ask or pattern=deny; the first that "
        "matches counts. Tools without a rule ask a person if they are effectful, and run otherwise.",
    )
    trusted_tools: TrustRules = Field(
        (),
        description="Globs of tools whose output counts as yours, or ! and a glob of such as do not; the "
        "first that fits counts. Without one, all but http_fetch, MCP servers, what reads files, "
        "server_tool (tools that the model's endpoint runs itself), client_instructions, brought_along "
        "(conversations that did not take place here), shared_session (other members), tool_descriptions "
        "(of MCP servers and clients) and client_tool, which stands for all tools of clients.",
    )
    approval_timeout: float = Field(
        86_400, gt=0, le=31_536_000, description="Time after which a call that nobody has approved is denied."
    )
    client_tool_timeout: float = Field(
        3600,
        gt=0,
        le=31_536_000,
        description="Time within which a client must send the result of a tool that it runs.",
    )
    mcp_servers: McpServers = Field(
        {},
        description="MCP servers by name, as JSON or a table: {command, args, env} or {url, headers, oauth}.",
    )
    mcp_hosts: Names = Field(
        (),
        description="Hosts outside the public web at which admins may add MCP servers while the gateway "
        "runs, on any port: names, addresses or ranges. Servers on the public web may always be added.",
    )
    max_added_mcp_servers: int = Field(
        20, ge=0, le=200, description="Most MCP servers that admins may add while the gateway runs; 0: none."
    )
    http_fetch: bool = Field(False, description="Whether the model may fetch public web pages.")
    admins: Names = Field(
        (),
        description="Ids of users who may switch skills on and off, deprecate and restore documents, and try "
        "edits of the prompt. Absent: everybody if there are no keys, or the holder of the only one.",
    )

    public_links: bool = Field(
        False,
        description="Whether a link to a chat may work for anybody who has it. If not, readers sign in.",
    )
    max_links: int = Field(
        100, ge=0, description="Most links to chats that one user may have; 0: nobody can make one."
    )
    audit_days: int = Field(365, ge=0, description="Days for which the audit is kept; 0: for good.")

    # Webhooks
    max_keys: int = Field(
        100, ge=1, description="Most stored API keys that one user may have, without revoked ones."
    )
    max_webhooks: int = Field(
        10, ge=0, description="Most webhooks that one user may have; 0: nobody can add one."
    )
    webhook_hosts: Names = Field(
        (),
        description="Hosts outside the public web that webhooks may post to, on any port and without TLS: "
        "names, addresses, or ranges such as 10.1.0.0/16.",
    )
    webhook_timeout: float = Field(
        15, gt=0, le=60, description="Longest time for the receiver of a webhook to answer one post."
    )
    webhook_retries: Seconds = Field(
        (5, 300, 1800, 7200, 18_000, 36_000, 50_400),
        description="Pauses before a failed delivery is tried again; each may be up to a fifth longer. After "
        "the last try the delivery is dead.",
    )

    # Memory
    memory: bool = Field(True, description="Whether the gateway remembers anything across sessions.")
    memory_limit: int = Field(10_000, ge=1, description="Most memories that one user may have.")
    memory_prompt_tokens: int = Field(
        6000,
        ge=0,
        description="Most tokens that memories may take in the prompt. The most important come first, in "
        "full as far as they fit.",
    )
    memory_turn_tokens: int = Field(
        1000,
        ge=0,
        description="Most tokens of memories that are looked up for one turn, beside those in the prompt.",
    )
    memory_learning: Literal["off", "turns", "sessions"] = Field(
        "off",
        description="When a model reads what the user said and looks for something to remember. off: never. "
        "turns: after each turn. sessions: when a session is archived, or is summarised because it is idle "
        "(archive_after, summary_after).",
    )
    memory_model: str | None = Field(
        None, description="Model that looks for something to remember. Absent: the session's own."
    )
    memory_control_model: str | None = Field(
        None, description="Model that decides whether a message needs memories, when rules cannot."
    )
    documents_dir: Path = Field(
        Path("documents"), description="Folder with the documents: memories that are files."
    )
    documents_per_skill: int | None = Field(
        None,
        ge=1,
        description="Most documents of one skill that are in use; the newest are. Absent: no limit.",
    )
    deprecated_documents_ttl: float | None = Field(
        None,
        gt=0,
        description="Time after which the file of a deprecated document is deleted. Absent: never.",
    )
    households: Households = Field(
        {}, description="Households by name, each with the ids of its members: {name: [user ids]}."
    )
    embeddings_url: str | None = Field(
        None, description="Base address of an embeddings API, with /v1. Absent: words alone find memories."
    )
    embeddings_api: Literal["openai", "voyage"] = Field("openai", description="Kind of that API.")
    embeddings_model: str = Field(
        "text-embedding-3-small", description="Model of that API that makes the vectors."
    )
    embeddings_key: SecretStr | None = Field(None, description="Key of the embeddings API.")
    embeddings_timeout: float = Field(
        2, gt=0, description="Longest time for the vector of a search to be made."
    )

    # Artifacts
    artifact_tokens: int = Field(
        4000,
        ge=500,
        le=8000,
        description="Most tokens (estimated) of a tool result that stays in the conversation. A larger one "
        "becomes an artifact, and the model gets its compact form.",
    )
    artifact_max_size: int = Field(20_971_520, ge=1024, description="Most bytes of one artifact.")
    artifact_quota: int = Field(
        1_073_741_824,
        ge=1024,
        description="Most bytes of all artifacts of one user; each counts as 4096 at least.",
    )
    artifact_tenant_quota: int | None = Field(
        None,
        ge=1024,
        description="Most bytes of all artifacts of a tenant's users together. Absent: no limit.",
    )
    artifact_ttl: float = Field(
        2_592_000,
        gt=0,
        le=315_360_000,
        description="Time after which an artifact that no session refers to is deleted.",
    )
    artifact_summaries: bool = Field(
        False, description="Whether a model summarises an artifact when somebody opens its compact form."
    )

    session_quota: int = Field(
        1_073_741_824,
        ge=8192,
        description="Most bytes of all messages of one user, with tool calls and their results; each session "
        "counts as 4096 more. They take about three times as much on the disk.",
    )

    # Limits
    limits: LimitRules = Field(
        (),
        description="What users, keys, tenants and models may take: WHO[+model]:WHAT=AMOUNT/PERIOD,… as "
        "user:turns=20/minute, tenant:cost=50/month, key:requests=600/minute, "
        "user+model=*opus*:tokens=1M/day. Absent: no limits, but for 30 requests of a user in a second "
        "where people have accounts; a rule user:requests=AMOUNT/second takes its place.",
    )
    limits_when_down: Literal["open", "closed"] = Field(
        "open",
        description="What happens to requests while the counters of the limits cannot be read or written. "
        "open: they are let in. closed: they are refused. No turn begins meanwhile in either case.",
    )
    max_iterations: int = Field(16, ge=1, description="Most model calls in one turn.")
    max_tool_calls: int = Field(
        128,
        ge=1,
        le=1024,
        description="Most tool calls in one message of the model. If a message has more, none of them is run "
        "and the turn ends.",
    )
    turn_timeout: float = Field(900, gt=0, description="Longest time of one turn.")
    turn_token_budget: int | None = Field(
        None, ge=1, description="Most tokens of one turn, input and output together. Absent: no limit."
    )
    max_body_size: int = Field(
        1_048_576, ge=1024, description="Largest request body. It also limits the characters of a message."
    )
    max_connections: int = Field(
        10_000,
        ge=1,
        description="Most connections at the same time, and at most half of the files that the process may "
        "open.",
    )
    max_streams_per_user: int | None = Field(
        None,
        ge=1,
        description="Most requests of one user that keep a connection open at the same time, such as "
        "streams. Absent: 100, and no more than a tenth of max_connections, if people have accounts, "
        "otherwise half of max_connections.",
    )
    max_streams_per_address: int | None = Field(
        None,
        ge=1,
        description="Most such requests of all users at one address, if that is known and people have "
        "accounts. Absent: half of max_connections.",
    )
    header_timeout: float = Field(
        20, gt=0, description="Longest time for a request to begin on an open connection."
    )
    body_timeout: float = Field(
        30,
        gt=0,
        description="Time by which a request body may fall behind body_min_rate; four times as much if it "
        "was faster before.",
    )
    body_min_rate: int = Field(
        16_384, ge=1, description="Bytes of a request body that must arrive per second."
    )
    max_turns_in_flight: int = Field(1000, ge=1, description="Most turns that run at the same time.")
    max_turns_per_user: int | None = Field(
        None,
        ge=1,
        description="Most turns of one user that run at the same time. Absent: a tenth of "
        "max_turns_in_flight if people have accounts, otherwise all of them.",
    )
    max_turns_per_key: int | None = Field(
        None,
        ge=1,
        description="Most turns that run at the same time for one of api_keys, with all users that it acts "
        "for. Absent: no limit.",
    )
    max_queued_turns: int = Field(
        16, ge=0, description="Most turns of one session that wait for the turns before them."
    )
    max_schedules: int = Field(
        100,
        ge=0,
        description="Most schedules that one user may have; 0: none, and the model has no tool for them.",
    )
    schedule_grace: int = Field(
        60,
        ge=5,
        description="Seconds after which a due time counts as late. The schedule says what happens then.",
    )
    retrieval_events: bool = Field(True, description="Whether the stream has retrieval events.")
    heartbeat: float = Field(
        15, gt=0, description="Time after which a comment is sent on a stream that is silent."
    )
    send_timeout: float = Field(
        30, gt=0, description="Time after which a reader that takes nothing is disconnected."
    )
    shutdown_grace: float = Field(
        10, ge=0, description="Time that running turns have to finish when the gateway shuts down."
    )
    recover_attempts: int = Field(3, ge=0, description="Most times that one turn is resumed after a crash.")

    # Long sessions
    context_window: int | None = Field(
        None,
        ge=1000,
        description="Size of the model's window in tokens. Absent: what the endpoint says, what is known "
        "about the model, or 200000.",
    )
    compress_at: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Share of the window at which a session is compressed. Absent: only on request.",
    )
    compress_on_overflow: bool = Field(
        True,
        description="Whether a session is compressed, and the model asked again, when the endpoint says that "
        "the context is too long.",
    )
    use_compressions: bool = Field(
        True, description="Whether the model reads summaries instead of the messages that were compressed."
    )
    titles: bool = Field(
        False,
        description="Whether a model writes a title for each session after its first completed turn. "
        "Otherwise the title is the beginning of the first message. A title that a person wrote stays.",
    )
    title_model: str | None = Field(None, description="Model that writes titles. Absent: the session's own.")
    summary_model: str | None = Field(
        None, description="Model that writes summaries. Absent: the session's own."
    )
    summary_tokens: int = Field(2000, ge=200, description="Most tokens of one summary.")
    session_summaries: bool = Field(True, description="Whether summaries of sessions are made and shown.")
    summary_after: float | None = Field(
        None,
        gt=0,
        description="Time without use after which a session is summarised. Absent: only on request.",
    )
    share_summaries: Literal["role", "project"] = Field(
        "role",
        description="Whose summaries a session is shown. role: only those of its own role. project: within a "
        "project, those of every role.",
    )
    archive_after: float | None = Field(
        None, gt=0, description="Time without use after which a session is archived. Absent: only on request."
    )
    delete_after: float | None = Field(
        None,
        gt=0,
        description="Time without use after which a session is deleted. Absent: never. `gateway retention` "
        "sets other times for tenants and sessions.",
    )
    delete_temporary_after: float = Field(
        86_400.0,
        gt=0,
        le=2_592_000,
        description="Time without use after which a temporary session is deleted.",
    )
    max_import_size: int = Field(
        2_147_483_648, ge=1024, description="Largest file that can be imported, with sessions or memories."
    )

    # The page
    page_name: PageName = Field("Chat Gateway", description="Name of the page.")
    page_logo: Path | None = Field(
        None,
        description="Image shown beside that name, and as the icon of the page when it is installed: a PNG, "
        "JPEG, WebP or SVG of at most 524288 bytes, ideally square.",
    )
    page_greeting: Greeting = Field(
        None,
        description='Greeting of a new chat: one text, or one for each language, `{"en": "…", "zh-Hans": '
        '"…", "zh-Hant": "…"}`. Absent: the page\'s own.',
    )
    page_suggestions: Suggestions = Field(
        None,
        description="Messages that a new chat suggests, in JSON: a list of at most 8, or one list for each "
        "language; `[]`: none. Absent: the page's own.",
    )
    page_developer: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether the page shows developer tools (the inspector, webhooks, cron expressions) to "
        "people who have not chosen. auto: in `gateway dev`, not in `gateway serve`.",
    )

    # What it tells
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Lowest level of lines that are logged."
    )
    log_format: Literal["auto", "json", "pretty"] = Field(
        "auto", description="Format of log lines. auto: pretty on a terminal, json otherwise."
    )
    agent_name: str = Field(
        "gateway", description="Name of the agent on spans and metrics (gen_ai.agent.name)."
    )
    genai_compat: Literal["latest", "dup"] = Field(
        "latest",
        description="Names of telemetry attributes. dup: the older gen_ai.* names as well, for backends that "
        "know only those.",
    )
    trace_ratio: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Share of traces that are kept. Turns that failed, were stopped, were slow or have no "
        "usage are always kept.",
    )
    trace_url: TraceUrl = Field(
        None, description="Address at which a trace is shown, https://…/{trace_id}. Clients get it."
    )
    user_id_salt: SecretStr | None = Field(
        None, description="Secret with which user ids on spans are hashed. Absent: spans have no user id."
    )

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK_HOSTS

    @property
    def has_accounts(self) -> bool:
        """Whether anybody has to say who they are."""
        return bool(
            self.api_keys.get_secret_value()
            or self.oidc_audience
            or self.oidc_client_id
            or self.proxies_name_users
        )

    @property
    def proxies_name_users(self) -> bool:
        """Whether there are proxies that sign people in."""
        return bool(self.trusted_proxies) and self.proxy_user_header != "none"

    @property
    def may_mean_addresses_alone(self) -> bool:
        """Whether there are proxies of which nothing says that they sign people in, where others do: to
        believe them about users could let anybody in who names one."""
        says = (self.proxy_user_header, self.proxy_tenant_header, self.proxy_roles_header, self.proxy_roles)
        others = self.api_keys.get_secret_value() or self.oidc_issuer
        return bool(self.trusted_proxies and others) and not any(says)

    @property
    def is_shared(self) -> bool:
        """Whether several processes may have the database open."""
        return (self.database_url or "").startswith("postgresql:")

    @property
    def database_path(self) -> Path:
        """The SQLite file.

        Raises:
            SettingsError: `database_url` names another engine: look at `is_shared` before.
        """
        if self.database_url is None:
            return self.data_dir / "gateway.db"
        prefix = "sqlite:///"
        if not self.database_url.startswith(prefix):
            raise SettingsError(
                "GATEWAY_DATABASE_URL must be sqlite:///PATH or postgresql://USER:PASSWORD@HOST:PORT/DATABASE."
            )
        return Path(self.database_url.removeprefix(prefix))

    @property
    def scratch_dir(self) -> Path:
        """Where files are that are gone with their request."""
        return self.data_dir if self.is_shared else self.database_path.parent

    @property
    def memory_path(self) -> Path:
        """The SQLite file of the memories, beside the database: other processes may have it open too."""
        return self.database_path.parent / "memory.db"

    @property
    def has_model(self) -> bool:
        """Whether a real endpoint is configured: a key, or the address of one that needs none."""
        return self.anthropic_api_key is not None or self.anthropic_base_url is not None

    @property
    def takes_provider_keys(self) -> bool:
        """Whether calls of the model may be made with keys that users bring along."""
        has_keys = bool(self.encryption_keys.get_secret_value() or self.encryption_keys_file)
        return self.provider_keys == "required" or (self.provider_keys == "optional" and has_keys)

    @property
    def names_model(self) -> bool:
        """Whether `model` was set, and is not the default."""
        return "model" in self.model_fields_set

    def take_model(self, name: str) -> None:
        """Makes it the default model where none was set: what everybody reads who holds these settings. The
        one value that may become known when they are in use."""
        if not self.names_model:
            object.__setattr__(self, "model", name)

    @property
    def models(self) -> tuple[str, ...]:
        """Every model a request may choose, the default first."""
        return (self.model, *(name for name in self.allowed_models if name != self.model))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings, env_settings, _SettingsFile(settings_cls, config_file()))


class _SettingsFile(TomlConfigSettingsSource):
    """The settings file without the names that have no effect any more."""

    def __call__(self) -> dict[str, Any]:
        given = super().__call__()
        return {name: given[name] for name in given if f"GATEWAY_{name.upper()}" not in WITHOUT_EFFECT}
