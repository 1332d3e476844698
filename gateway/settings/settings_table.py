"""What can be set: a line each, with its default."""

import os
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from gateway.errors import SettingsError
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
    """What an operator can set. Times are in seconds unless the name has another unit, sizes in bytes."""

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
        description="Address to listen on. Other than loopback needs api_keys, oidc_issuer "
        "or trusted_proxies.",
    )
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    data_dir: Path = Field(
        Path("data"),
        description="Folder of the database. One process at a time; with PostgreSQL it is scratch.",
    )
    database_url: DatabaseUrl = Field(
        None,
        description="sqlite:///PATH, or postgresql://USER:PASSWORD@HOST:PORT/DATABASE for several replicas; "
        "default is gateway.db in data_dir.",
    )
    database_direct_url: DatabaseUrl = Field(
        None,
        description="The same PostgreSQL database past a pooler such as PgBouncer, for what needs a "
        "connection of its own; absent: database_url leads to the server itself.",
    )
    database_connections: int = Field(
        8, ge=2, le=100, description="Connections to PostgreSQL for what is not an append, at most."
    )
    lease: float = Field(
        10,
        ge=2,
        description="Time after which the turns of a replica that stands still are taken over, where "
        "others share its PostgreSQL database; of one that died they are within a third of it.",
    )
    replica: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_.-]{1,40}$",
        description="Name of this process among the replicas; something random is added. Absent: the host's.",
    )
    durability: Literal["synced", "relaxed"] = Field(
        "synced",
        description="synced: every event is on the disk before it is shown. relaxed: pieces of text are left "
        "to the operating system; a power cut may lose what was shown last, and its numbers are used again.",
    )
    blob_url: str | None = Field(
        None,
        description="Where archives and artifacts are kept: file:///PATH or s3://BUCKET/PREFIX; default is "
        "data_dir.",
    )
    blobs_shared: bool = Field(
        False, description="With PostgreSQL: every replica has the folder that blob_url names."
    )
    copy_before_migration: bool = Field(
        True,
        description="A SQLite file is copied beside itself before it is brought to a newer schema, where "
        "three times its size is free. The copy is yours to remove.",
    )
    prompts_dir: Path | None = Field(
        None, description="Folder of prompt components; default is the bundled one."
    )

    # Who may ask
    api_keys: SecretStr = Field(
        SecretStr(""), description="name:secret,… Sent as Bearer or x-api-key; name is the user id."
    )
    delegate_keys: Names = Field(
        (),
        description="Names in api_keys whose keys act for others, as a frontend with users of its own does: "
        "each request names its user in X-User-Id or X-OpenWebUI-User-Id.",
    )
    oidc_issuer: str | None = Field(
        None,
        description="Identity provider of access tokens and sign-ins, as its tokens name it: https, or http "
        "on loopback.",
    )
    oidc_audience: Names = Field(
        (),
        description="Audiences of the provider's access tokens that are taken as Bearer; absent: none are.",
    )
    oidc_jwks_url: str | None = Field(
        None, description="Address of the provider's keys; absent: from its discovery document."
    )
    oidc_algorithms: Names = Field(
        ("RS256", "ES256"), description="Signatures that are taken: of key pairs alone, never none or HS256."
    )
    oidc_user_claim: str = Field(
        "sub", min_length=1, description="Claim that names the user; email must be verified."
    )
    oidc_tenant_claim: str | None = Field(
        None, description="Claim that names the user's tenant; absent: all are in the tenant default."
    )
    default_tenant_by_claim: bool = Field(
        False,
        description="Whether the tenant's claim, or a proxy's header, may say default. Admins there are the "
        "operator's: only where nobody but you names the organisations.",
    )
    oidc_roles_claim: str = Field(
        "groups",
        min_length=1,
        description="Claim with the user's groups or roles; dots lead into objects: realm_access.roles.",
    )
    oidc_roles: Names = Field(
        (),
        description="value=role,… for values of that claim; who has none of them is refused. Absent: "
        "everybody is a member.",
    )
    oidc_client_id: str | None = Field(
        None, min_length=1, description="Client by which people sign in on the page; absent: they do not."
    )
    oidc_client_secret: SecretStr | None = Field(
        None, description="That client's secret; absent: it is a public one, with PKCE alone."
    )
    oidc_scopes: Names = Field(("profile", "email"), description="Asked for at a sign-in, beside openid.")
    page_url: str | None = Field(
        None,
        pattern=r"^https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?$",
        description="Address of the page as browsers see it, https://chat.example.org; sign-in needs it, but "
        "on loopback.",
    )
    sign_in_lifetime: float = Field(
        43_200, ge=60, le=31_536_000, description="Time after which somebody signs in anew."
    )
    sign_in_idle: float = Field(14_400, ge=60, description="Idle time after which they do.")
    keep_keys_for: float = Field(
        2_592_000,
        ge=0,
        le=31_536_000,
        description="Time for which a browser keeps an API key, in a cookie that ends with it, for who wants "
        "that; 0: in none. Needs the address of the page, but on loopback.",
    )
    trusted_proxies: Names = Field(
        (),
        description="Addresses and ranges, as 10.1.0.0/16, of proxies that sign people in and name them in "
        "headers, and whose X-Forwarded-For is believed; from others these are ignored.",
    )
    proxy_user_header: str | None = Field(
        None,
        min_length=1,
        description="Header in which such a proxy names the user; `none`: they name nobody, and are believed "
        "about addresses alone. Absent: X-Forwarded-User; beside api_keys or oidc_issuer one has to say.",
    )
    proxy_tenant_header: str | None = Field(
        None, min_length=1, description="That of the user's tenant; absent: all are in the tenant default."
    )
    proxy_roles_header: str | None = Field(
        None, min_length=1, description="That of the user's groups or roles, with commas."
    )
    proxy_roles: Names = Field(
        (), description="value=role,… for values of that header, as oidc_roles; absent: members."
    )
    # Encryption at rest
    encryption_keys: SecretStr = Field(
        SecretStr(""),
        description="Keys of 32 bytes in base64, with commas (`gateway secrets generate` makes one): the "
        "first encrypts stored secrets, all of them decrypt. Absent: provider keys cannot be stored.",
    )
    encryption_keys_file: Path | None = Field(
        None, description="A file with these keys, one a line, in place of encryption_keys."
    )
    encrypt_contents: bool = Field(
        False, description="Whether artifacts, archives and memories are encrypted too; needs such a key."
    )
    provider_keys: Literal["optional", "required", "off"] = Field(
        "optional",
        description="Whether users and tenants may bring a key of the model's provider along. optional: the "
        "gateway's serves who has none; required: it does not; off: it serves everybody.",
    )

    cors_origins: Names = Field((), description="Origins of other pages that may call the API.")
    allowed_hosts: Names = Field((), description="Host names accepted besides the loopback ones.")

    # Other clients
    adapters: Adapters = Field(
        ADAPTERS,
        description="Dialects of other clients whose routes are served; `none`: only our own. There are: "
        f"{', '.join(ADAPTERS)}.",
    )
    adapter_body_size: int = Field(
        33_554_432,
        ge=1024,
        description="Largest request body where clients send the whole conversation, with its images, each "
        "time.",
    )

    # The model
    model: str = Field(
        "claude-sonnet-5-5",
        description="Used unless a request chooses another. Absent: where ANTHROPIC_BASE_URL is set, the one "
        "model that the endpoint lists.",
    )
    allowed_models: Names = Field((), description="Further models that a request may choose.")
    prompt_tokens: int = Field(20_000, ge=500, description="Most tokens of all prompt components together.")
    prompt_profile: Literal["auto", "full", "small"] = Field(
        "auto",
        description="Form of prompt and tools. small: short texts, and as many tools as fit with them in a "
        "quarter of the model's window, where that is known. auto: small where the full form takes more than "
        "a quarter of a window of at most 32,768 tokens.",
    )
    instructions_tokens: int = Field(
        8000,
        ge=100,
        description="Most tokens in the prompt of the instructions that a client application sends; more is "
        "cut, with a mark.",
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
        description="Thinking tokens, fewer than GATEWAY_MAX_TOKENS; absent means no thinking. Models that "
        "take no budget, as Claude's since Opus 4.7, decide themselves.",
    )
    temperature: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Absent leaves the endpoint's default; a client's own goes before it. Sent only with a "
        "GATEWAY_MODEL_API_VERSION before 2026-10-21, or to a server that is known not to be Anthropic's.",
    )
    anthropic_api_key: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("ANTHROPIC_API_KEY", "GATEWAY_ANTHROPIC_API_KEY"),
        description="Key of the model's endpoint.",
    )
    anthropic_base_url: str | None = Field(
        None,
        validation_alias=AliasChoices("ANTHROPIC_BASE_URL", "GATEWAY_ANTHROPIC_BASE_URL"),
        description="Another endpoint that speaks the Anthropic Messages API.",
    )
    model_api_version: str | None = Field(
        None,
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        description="Version of the Messages API to ask for; absent: 2026-10-21, or 2023-06-01 where the "
        "endpoint refuses that.",
    )
    model_auth: Literal["auto", "bearer", "x-api-key"] = Field(
        "auto",
        description="Header of the endpoint's key; auto: Authorization: Bearer, or x-api-key where the "
        "endpoint refuses that.",
    )
    model_proxy: str | None = Field(
        None,
        description="HTTP proxy on the way to the endpoint, http://[user:password@]HOST:PORT; absent: none, "
        "with any HTTPS_PROXY.",
    )
    connect_timeout: float = Field(5, gt=0, description="Longest wait for a connection to the endpoint.")
    first_byte_timeout: float = Field(
        60,
        gt=0,
        description="Longest wait for an answer to begin. An endpoint on this machine or in a private "
        "network is waited for longer: while its `/health` answers with 200, and up to 600 s where it has "
        "none and this is not set.",
    )
    model_slots: int | None = Field(
        None,
        ge=1,
        description="Requests that the endpoint is sent at the same time by this process; the others wait in "
        "line, turns before background calls. Absent: as many as the endpoint says that it answers at once, "
        "and any number where it says nothing.",
    )
    model_loading_timeout: float = Field(
        120,
        ge=0,
        description="Longest wait for an endpoint that says that it loads its model (HTTP 503), or that is "
        "on this machine or in a private network and takes no connection (10 s where nothing has answered "
        "there yet); 0: none.",
    )
    progress_timeout: float = Field(
        90,
        gt=0,
        description="Longest silence inside an answer; pings, empty pieces and unknown events do not count "
        "as progress.",
    )
    max_answer_size: int | None = Field(
        None,
        ge=65_536,
        description="Most bytes of one answer, text, thinking and arguments together; arguments may take a "
        "quarter. Absent: 64 for each of max_tokens, at least 1048576.",
    )
    model_attempts: int = Field(3, ge=1, description="Attempts of one model call, the first included.")
    retry_after_cap: float = Field(
        30,
        ge=0,
        description="Longest wait before the next attempt; an endpoint that asks for more is not waited for.",
    )

    # Skills and tools
    skills_dir: Path = Field(Path("skills"), description="Folder of the project's SKILL.md skills.")
    user_skills_dir: Path | None = Field(
        None, description="A further folder of skills, such as ~/.agents/skills; the project's win over it."
    )
    bundled_skills: bool = Field(True, description="Whether the skills that come with the gateway are there.")
    skill_modules: Names = Field((), description="Python modules whose tools are offered.")
    skill_only_tools: Names = Field(
        (), description="Globs of tools that may be called only while a skill that allows them is active."
    )
    skills_in_prompt: bool = Field(True, description="Whether the prompt has the list of skills.")
    skills_snapshot: bool = Field(True, description="Whether SKILLS_SNAPSHOT.md is written to data_dir.")
    skills_share: float = Field(
        0.01, gt=0, le=0.5, description="Share of the model's window that the catalog may take in the prompt."
    )
    tool_policy: Policy = Field(
        (),
        description="glob=allow, glob=ask or glob=deny for tool names; the first that fits counts. Without "
        "one, effectful tools ask and others run.",
    )
    trusted_tools: TrustRules = Field(
        (),
        description="Globs of tools whose output counts as yours, or ! and a glob of such as do not; the "
        "first that fits counts. Without one, all but http_fetch, MCP servers, what reads files, server_tool "
        "(tools that the model's endpoint runs itself), "
        "client_instructions, brought_along (conversations that did not take place here), shared_session "
        "(other members), tool_descriptions (of MCP servers and clients) and client_tool, which stands for "
        "all tools of clients.",
    )
    approval_timeout: float = Field(
        86_400, gt=0, le=31_536_000, description="Time after which an approval that nobody gave is a denial."
    )
    client_tool_timeout: float = Field(
        3600, gt=0, le=31_536_000, description="Time that a client has to give the result of its own tool."
    )
    mcp_servers: McpServers = Field(
        {}, description="MCP servers by name: {command, args, env} or {url, headers, oauth}; JSON or a table."
    )
    mcp_hosts: Names = Field(
        (),
        description="Hosts at which admins may add MCP servers while the gateway runs though they are not on "
        "the public web, with any port: names, addresses or ranges. On the public web they may always.",
    )
    max_added_mcp_servers: int = Field(
        20, ge=0, le=200, description="Most MCP servers that are added while it runs; 0: none may be."
    )
    http_fetch: bool = Field(False, description="Whether the model may fetch public web pages.")
    admins: Names = Field(
        (),
        description="User ids who may switch skills on and off, take documents out of use and back, and try "
        "edits of the prompt; absent: whoever asks without keys, or with the only one.",
    )

    public_links: bool = Field(
        False, description="Whether links to chats may be for anybody who has them; otherwise one signs in."
    )
    max_links: int = Field(100, ge=0, description="Most links to chats of one user; 0: nobody may make one.")
    audit_days: int = Field(365, ge=0, description="Days that the audit is kept; 0: for good.")

    # Webhooks
    max_keys: int = Field(100, ge=1, description="Most stored API keys of one user that are not revoked.")
    max_webhooks: int = Field(10, ge=0, description="Most webhooks of one user; 0: nobody may add one.")
    webhook_hosts: Names = Field(
        (),
        description="Hosts that webhooks may be at though they are not on the public web, with any port and "
        "without TLS: names, addresses, ranges of addresses such as 10.1.0.0/16.",
    )
    webhook_timeout: float = Field(15, gt=0, le=60, description="Longest wait for the answer to one post.")
    webhook_retries: Seconds = Field(
        (5, 300, 1800, 7200, 18_000, 36_000, 50_400),
        description="Pauses before a delivery that failed is tried again, up to a fifth longer each; after "
        "the last try it is dead.",
    )

    # Memory
    memory: bool = Field(True, description="Whether anything is remembered across sessions and recalled.")
    memory_limit: int = Field(10_000, ge=1, description="Most memories of one user.")
    memory_prompt_tokens: int = Field(
        6000,
        ge=0,
        description="Most tokens of memories in the prompt: by priority, in full as far as they fit.",
    )
    memory_full_count: int | None = Field(
        None, description="Without effect since memory_prompt_tokens; the next version refuses it."
    )
    memory_full_characters: int | None = Field(
        None, description="Without effect since memory_prompt_tokens; the next version refuses it."
    )
    memory_turn_tokens: int = Field(
        1000, ge=0, description="Most tokens of memories for one turn beside those of the prompt."
    )
    memory_learning: Literal["off", "turns", "sessions"] = Field(
        "off",
        description="When a model looks for what to remember in what the user said: never, after each turn, "
        "or when a session is archived, or summarised because it is idle (archive_after, summary_after).",
    )
    memory_model: str | None = Field(
        None, description="Looks for what to remember; absent: the session's own model."
    )
    memory_control_model: str | None = Field(
        None, description="The model of the memory control, asked when rules do not decide; absent: none."
    )
    documents_dir: Path = Field(Path("documents"), description="Folder of the documents: memories in files.")
    documents_per_skill: int | None = Field(
        None, ge=1, description="Documents of one skill that are in use, the newest; absent: no limit."
    )
    deprecated_documents_ttl: float | None = Field(
        None, gt=0, description="Time after which a deprecated document's file is removed; absent: never."
    )
    households: Households = Field({}, description="Members of households by name: {name: [user ids]}.")
    embeddings_url: str | None = Field(
        None, description="Base address, with /v1, of an embeddings API; absent: memories are found by words."
    )
    embeddings_api: Literal["openai", "voyage"] = Field("openai", description="Which API that is.")
    embeddings_model: str = Field("text-embedding-3-small", description="Makes the vectors.")
    embeddings_key: SecretStr | None = Field(None, description="Key of the embeddings API.")
    embeddings_timeout: float = Field(2, gt=0, description="Longest wait for the vector of a query.")

    # Artifacts
    artifact_tokens: int = Field(
        4000,
        ge=500,
        le=8000,
        description="A tool result with more tokens (estimated) is offloaded to an artifact, and the model "
        "gets its compact form.",
    )
    artifact_max_size: int = Field(20_971_520, ge=1024, description="Bytes of one artifact.")
    artifact_quota: int = Field(
        1_073_741_824, ge=1024, description="Bytes of all artifacts of one user; each counts 4096 at least."
    )
    artifact_tenant_quota: int | None = Field(
        None,
        ge=1024,
        description="Bytes of all artifacts of all users of a tenant together; absent: only those of each "
        "user are bounded.",
    )
    artifact_ttl: float = Field(
        2_592_000,
        gt=0,
        le=315_360_000,
        description="Time after which an artifact is removed that no session refers to.",
    )
    artifact_summaries: bool = Field(
        False, description="Whether a model summarises an artifact when somebody looks at its compact form."
    )

    session_quota: int = Field(
        1_073_741_824,
        ge=8192,
        description="Bytes of what was said in all sessions of one user: messages with tool calls and their "
        "results; each session counts 4096 besides. On the disk they take about three times that.",
    )

    # Limits
    limits: LimitRules = Field(
        (),
        description="What users, keys, tenants and models may take: WHO[+model]:WHAT=AMOUNT/PERIOD,… as "
        "user:turns=20/minute, tenant:cost=50/month, key:requests=600/minute, "
        "user+model=*opus*:tokens=1M/day. Absent: no limits, but for 30 requests of a user in a second where "
        "people have accounts; a rule user:requests=AMOUNT/second takes its place.",
    )
    limits_when_down: Literal["open", "closed"] = Field(
        "open",
        description="What becomes of requests while what is counted cannot be read or written: open lets "
        "them in, closed refuses them. No turn begins meanwhile, either way.",
    )
    max_iterations: int = Field(16, ge=1, description="Model calls in one turn.")
    max_tool_calls: int = Field(
        128,
        ge=1,
        le=1024,
        description="Tool calls of one message of the model; a turn with more in one ends, and none of them "
        "is run.",
    )
    turn_timeout: float = Field(900, gt=0, description="Longest time of one turn.")
    turn_token_budget: int | None = Field(None, ge=1, description="Tokens, in and out, of one turn.")
    max_body_size: int = Field(
        1_048_576, ge=1024, description="Largest request body; and most characters of any message."
    )
    max_connections: int = Field(
        10_000,
        ge=1,
        description="Connections at the same time; at most half of the open files that the process may "
        "have beside its own.",
    )
    max_streams_per_user: int | None = Field(
        None,
        ge=1,
        description="Requests of one user that hold a connection at the same time, as streams do; absent: "
        "100, and at most a tenth of max_connections, where people have accounts, else half of them.",
    )
    max_streams_per_address: int | None = Field(
        None,
        ge=1,
        description="The same of all users at one address, where that is known and people have accounts; "
        "absent: half of max_connections.",
    )
    header_timeout: float = Field(20, gt=0, description="Longest wait for a request on a connection.")
    body_timeout: float = Field(
        30,
        gt=0,
        description="Seconds by which a body may fall behind body_min_rate bytes a second; four times as "
        "many where it was faster before.",
    )
    body_min_rate: int = Field(16_384, ge=1, description="Bytes a second.")
    max_turns_in_flight: int = Field(1000, ge=1, description="Turns running at the same time.")
    max_turns_per_user: int | None = Field(
        None,
        ge=1,
        description="Turns of one user running at the same time; absent: a tenth of max_turns_in_flight "
        "where people have accounts, else all.",
    )
    max_turns_per_key: int | None = Field(
        None, ge=1, description="The same of one of api_keys, with all users that it acts for."
    )
    max_queued_turns: int = Field(16, ge=0, description="Waiting turns of one session.")
    max_schedules: int = Field(
        100,
        ge=0,
        description="Schedules of one user; 0: none can be made, and the model has no tool for them.",
    )
    schedule_min_interval: int = Field(
        60, ge=60, description="Seconds between two due times of a schedule, at least."
    )
    schedule_grace: int = Field(
        60,
        ge=5,
        description="Seconds after which a due time is late: the schedule's rule for that holds then.",
    )
    retrieval_events: bool = Field(True, description="Whether retrieval events are emitted.")
    heartbeat: float = Field(15, gt=0, description="Comment on a silent stream.")
    send_timeout: float = Field(30, gt=0, description="A reader that takes nothing for so long is dropped.")
    shutdown_grace: float = Field(10, ge=0, description="Time running turns get at shutdown.")
    recover_attempts: int = Field(3, ge=0, description="How often a turn is resumed after a crash.")

    # Long sessions
    context_window: int | None = Field(
        None,
        ge=1000,
        description="The model's window in tokens; absent: as the endpoint says, as known for the model, or "
        "200000.",
    )
    compress_at: float | None = Field(
        None, gt=0, lt=1, description="Share of the window that starts a compression; absent: only by hand."
    )
    compress_on_overflow: bool = Field(
        True, description="Compress once and ask again when the endpoint says that the context is too long."
    )
    use_compressions: bool = Field(
        True, description="false sends every message again, as if nothing had been compressed."
    )
    titles: bool = Field(
        False,
        description="Whether a model makes each session's title, once, after its first completed turn, in "
        "place of the beginning of its first message; never of what a person wrote.",
    )
    title_model: str | None = Field(None, description="Makes titles; absent: the session's own model.")
    summary_model: str | None = Field(None, description="Writes summaries; absent: the session's own model.")
    summary_tokens: int = Field(2000, ge=200, description="Most tokens of one summary.")
    session_summaries: bool = Field(True, description="false makes and shows no summaries of sessions.")
    summary_after: float | None = Field(
        None, gt=0, description="Idle time after which a session is summarised; absent: only by hand."
    )
    carried_summaries: int = Field(
        3,
        ge=0,
        le=20,
        description="Summaries of a user's former sessions that one in the same project and role is shown.",
    )
    share_summaries: Literal["role", "project"] = Field(
        "role",
        description="Whether a session is shown summaries of its own role alone, or, in a project, of every "
        "role in it.",
    )
    archive_after: float | None = Field(
        None, gt=0, description="Idle time after which a session's rows move to its archive."
    )
    delete_after: float | None = Field(
        None,
        gt=0,
        description="Idle time after which a session is deleted; absent: never. Tenants and sessions may "
        "have another one: `gateway retention`.",
    )
    delete_temporary_after: float = Field(
        86_400.0, gt=0, le=2_592_000, description="Idle time after which a temporary session is deleted."
    )
    max_import_size: int = Field(
        2_147_483_648, ge=1024, description="Largest file that can be imported: a session, or memories."
    )

    # The page
    page_name: PageName = Field("Chat Gateway", description="What the page is called.")
    page_logo: Path | None = Field(
        None,
        description="Image beside that name, and of the page as an app: a PNG, JPEG, WebP or SVG of at most "
        "524288 bytes, best a square.",
    )
    page_greeting: Greeting = Field(
        None,
        description="What a new chat greets with: a text, or one for each language, "
        '`{"en": "…", "zh-Hans": "…", "zh-Hant": "…"}`. Absent: the page\'s own words.',
    )
    page_suggestions: Suggestions = Field(
        None,
        description="Messages that a new chat suggests, in JSON: a list of at most 8, or one for each "
        "language; `[]`: none. Absent: the page's own.",
    )
    page_developer: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Whether the page shows developer tools to who has not chosen: the inspector, webhooks, "
        "cron expressions. auto: in `gateway dev`, and not in `gateway serve`.",
    )

    # What it tells
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe line to log."
    )
    log_format: Literal["auto", "json", "pretty"] = Field(
        "auto", description="auto is pretty on a terminal and json elsewhere."
    )
    agent_name: str = Field("gateway", description="gen_ai.agent.name on spans and metrics.")
    genai_compat: Literal["latest", "dup"] = Field(
        "latest", description="dup also emits the older gen_ai.* names, for backends that know only those."
    )
    trace_ratio: float = Field(
        1.0,
        ge=0,
        le=1,
        description="Share of the traces that are kept; turns that failed, were stopped, were slow or have "
        "no usage are kept always.",
    )
    trace_slow_seconds: float = Field(30, gt=0, description="A turn that takes longer is slow.")
    trace_slow_first_seconds: float = Field(
        5, gt=0, description="A turn with a model call that took longer to its first content is slow."
    )
    trace_content_limit: int = Field(
        32_768,
        ge=256,
        description="Most characters of one attribute with content, where OTEL_INSTRUMENTATION_GENAI_"
        "CAPTURE_MESSAGE_CONTENT asks for content.",
    )
    trace_url: TraceUrl = Field(
        None, description="Where people look at a trace: https://…/{trace_id}. Clients get it."
    )
    user_id_salt: SecretStr | None = Field(
        None, description="Spans carry the user's id hashed with it; absent: no user's id at all."
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
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file()))
