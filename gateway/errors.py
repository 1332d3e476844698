"""Every failure has a name.

    GatewayError
    ├── RequestRefused         the caller can mend it, or must wait
    │   ├── InvalidRequest     the body, a parameter or an id is not of the right form
    │   ├── CursorAhead        the cursor is beyond the session's last event
    │   ├── NotAuthenticated   no key, or one that is not known
    │   ├── LockedOut              too many attempts with keys that do not hold
    │   ├── ProviderUnavailable    the identity provider cannot be asked, and what is known of it does not do
    │   ├── Forbidden          a browser page of another origin, or a host name that is not ours
    │   │   └── AccessEnded        what was asked with was taken away while it was answered
    │   ├── NotFound           no such thing, or it belongs to somebody else
    │   ├── TurnInProgress     the session already has a turn in flight
    │   ├── Conflict           the same id was used for something else, or somebody else was faster
    │   │   ├── SessionIdTaken     a new session cannot have that id
    │   │   ├── MemoryChanged      a memory is at another version than the caller knows
    │   │   └── DuplicateMemory    the same is remembered already
    │   ├── EncryptionOff      a secret was to be stored, and there is no key to encrypt it with
    │   ├── MemoryFull         a user's store of memories is at its limit
    │   ├── ArtifactsFull      artifacts of a user, or of a tenant, use all of their quota
    │   ├── SessionsFull       the messages in a user's sessions use all of their quota
    │   ├── NothingToCompress  a session's history is too short to be worth it
    │   ├── BadImport          the file to import is damaged, or is no export
    │   ├── TooLarge           the request body is larger than it may be
    │   ├── UnsupportedBody    the request body has a compression or a charset that is not supported
    │   ├── BodyTooSlow        the request body does not arrive, or arrives too slowly
    │   ├── ClientLeft         the client closed the connection before its body was whole
    │   ├── QueueFull          too many turns wait or run already
    │   ├── SearchTooLong      a search was stopped: it would have to look through too much
    │   ├── LimitReached       it would exceed a limit that the operator has set (GATEWAY_LIMITS)
    │   ├── LimitsUnavailable  the counters of the limits cannot be read or written
    │   └── Draining           the server is shutting down
    ├── ModelError             the model's endpoint failed; `code` says how
    │   └── TooManyToolCalls   one message calls more tools than it may
    ├── ToolError              a tool call failed; the model reads the message
    │   ├── UnknownTool
    │   ├── BadArguments
    │   ├── ToolTimedOut
    │   └── ServerUnreachable  the MCP server of a tool is not there
    ├── StorageError           the database refused or failed
    │   ├── TextRefused        a text that no database keeps
    │   ├── TurnLost           another replica has taken the turn over: stop writing
    │   ├── BlobMissing        the blob store has nothing under that path
    │   ├── ArchiveDamaged     an archive is missing or not what was written; the message names it
    │   ├── ArtifactDamaged    likewise, the content of an artifact; the message names its hash
    │   └── DecryptionFailed   stored data cannot be decrypted with the keys, or was changed
    ├── EmbeddingsFailed       the embeddings API gave no usable vectors; memories are found by words alone
    ├── CompressionFailed      there is no usable summary of the history; the old view stays
    │   └── NothingToSummarise     the messages have no content
    ├── LearningFailed         the model gave no usable answer to what is worth remembering
    ├── McpPromptFailed        the MCP server of a prompt gave no text for it; the message says why
    └── SettingsError          a setting is missing or wrong; the message says which and what to do

Exceptions cross only at boundaries: inside a turn a failure becomes an event.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

WORDS = {
    "missing": "must be given",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "set_type": "must be a list",
    "frozen_set_type": "must be a list",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "model_attributes_type": "must be a JSON object",
    "dataclass_type": "must be a JSON object",
    "path_type": "must be a path",
    "none_required": "must be null",
}
"""Kinds of pydantic's errors whose own messages use terms of Python."""
_SHOULD = re.compile(r"^(Input|String|List|Tuple|Value|Dictionary|Number|URL) should")


MAX_WORDED = 1000
"""Problems of one value that are put into words: pydantic does so with all of them at once, some 14 µs each,
and keeps Python's lock meanwhile."""


class Misfit(Protocol):
    """A `ValidationError` of pydantic's."""

    def error_count(self) -> int: ...
    def errors(self, *, include_url: bool, include_context: bool, include_input: bool) -> Sequence[Any]: ...


def problems_of(error: Misfit) -> Sequence[Any]:
    """The problems of a value that does not fit its model, with `loc`, `type` and `msg`; of very many a
    single one, with their number."""
    if (count := error.error_count()) > MAX_WORDED:
        return [{"loc": (), "type": "too_many", "msg": f"there are {count:,} problems, too many to name"}]
    return error.errors(include_url=False, include_context=False, include_input=False)


def plain_words(kind: str, message: str, *, unknown: str) -> str:
    """The message of a validation error, without terms of the library: `kind` and `message` are pydantic's
    type and msg, `unknown` is the message for an unknown name."""
    if kind == "extra_forbidden":
        return unknown
    wording = _SHOULD.sub("must", message.removeprefix("Value error, "))
    return WORDS.get(kind) or wording.partition(" after validation")[0]


class GatewayError(Exception):
    """The root. `code` is stable and for machines, `message` is for people, `retryable` says whether the
    same request may succeed later; `details` holds JSON values a client can act on. `cause` is for operators
    alone: what failed underneath, with hosts, buckets and paths. As a string, for logs and the command, it
    has message and cause."""

    code = "internal"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        details: dict[str, Any] | None = None,
        cause: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or type(self).code
        self.retryable = type(self).retryable if retryable is None else retryable
        self.details = details
        self.cause = cause

    def __str__(self) -> str:
        return f"{self.message.removesuffix('.')} ({self.cause})." if self.cause else self.message


class RequestRefused(GatewayError):
    code = "invalid_request"


class InvalidRequest(RequestRefused):
    pass


class CursorAhead(RequestRefused):
    code = "cursor_ahead"


class NotAuthenticated(RequestRefused):
    code = "unauthorized"


class LockedOut(RequestRefused):
    """`details` has `retry_after`, in seconds."""

    code = "locked_out"
    retryable = True


class ProviderUnavailable(RequestRefused):
    code = "identity_provider_unavailable"
    retryable = True


class Forbidden(RequestRefused):
    code = "forbidden"


class AccessEnded(Forbidden):
    """A key was revoked, a sign-in ended, a token expired, a member removed, while what was asked for with it
    was under way."""

    code = "access_ended"


class NotFound(RequestRefused):
    code = "not_found"


class TurnInProgress(RequestRefused):
    code = "turn_in_progress"
    retryable = True


class Conflict(RequestRefused):
    code = "conflict"


class SessionIdTaken(Conflict):
    """The caller has one of that id, or may read it."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"The session id {session_id} cannot be used: choose another one, or leave it out.")
        self.session_id = session_id


class MemoryChanged(Conflict):
    code = "memory_changed"
    retryable = True


class DuplicateMemory(Conflict):
    code = "memory_duplicate"


class McpSignInFailed(RequestRefused):
    """A sign-in to an MCP server came to nothing; the message says why, without secrets."""

    code = "mcp_sign_in_failed"


class EncryptionOff(RequestRefused):
    code = "encryption_off"

    def __init__(
        self,
        message: str = "The gateway cannot store secrets, as it has no encryption key. Its operator can set "
        "GATEWAY_ENCRYPTION_KEYS (docs/operations.md).",
    ) -> None:
        super().__init__(message)


class MemoryFull(RequestRefused):
    code = "memory_full"


class ArtifactsFull(RequestRefused):
    code = "artifacts_full"


class NothingToCompress(RequestRefused):
    code = "nothing_to_compress"


class BadImport(RequestRefused):
    code = "bad_import"


class TooLarge(RequestRefused):
    code = "payload_too_large"


class UnsupportedBody(RequestRefused):
    code = "unsupported_media_type"


class BodyTooSlow(RequestRefused):
    code = "request_timeout"
    retryable = True


class ClientLeft(RequestRefused):
    code = "client_closed_request"


class SessionsFull(RequestRefused):
    """`details` has `quota`, what is `used` of it and what was `wanted`, in bytes."""

    code = "sessions_full"


class QueueFull(RequestRefused):
    code = "queue_full"
    retryable = True


class SearchTooLong(RequestRefused):
    code = "search_too_long"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The search was stopped after {seconds:g} seconds. Search for more words, or for rarer ones."
        )


class LimitReached(RequestRefused):
    """`code` is rate_limited (requests, turns, turns at the same time) or budget_exhausted (tokens, cost);
    `details` has `retry_after`, in seconds. `standing` is how the
    limit stands (`storage.limits.Standing`)."""

    code = "rate_limited"
    retryable = True

    def __init__(
        self, message: str, *, code: str, retryable: bool, details: dict[str, Any], standing: object
    ) -> None:
        super().__init__(message, code=code, retryable=retryable, details=details)
        self.standing = standing


class LimitsUnavailable(RequestRefused):
    code = "limits_unavailable"
    retryable = True


class Draining(RequestRefused):
    code = "draining"
    retryable = True


class Overflow(NamedTuple):
    """A prompt that is too long; tokens as the endpoint told them, None: it did not. `window` is how much the
    model reads, `prompt` how long this prompt is, `output` how much was asked for beside it."""

    window: int | None = None
    prompt: int | None = None
    output: int | None = None

    @property
    def room(self) -> int | None:
        """Tokens that are left for an answer where the prompt by itself fits; None where it does not, or
        nobody can tell."""
        if self.window is None or self.prompt is None:
            return None
        left = self.window - self.prompt
        return left if left > 0 else None


class ModelError(GatewayError):
    """The model's endpoint failed. `code` is one of the in-stream codes of docs/events.md (upstream_*,
    context_overflow, content_refused). `retry_after` is what the endpoint asked for, in seconds; `refused`
    says that it would refuse the same request again (HTTP 400). `overflow` has the numbers that the endpoint
    told of a prompt that is too long, `starts_within` the seconds in which a server that loads is likely to
    answer."""

    code = "upstream_error"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retryable: bool,
        retry_after: float | None = None,
        refused: bool = False,
        overflow: Overflow | None = None,
    ) -> None:
        super().__init__(message, code=code, retryable=retryable)
        self.retry_after = retry_after
        self.refused = refused
        self.overflow = overflow
        self.starts_within: float | None = None


class TooManyToolCalls(ModelError):
    """One message calls more than `most` tools: the turn ends as limit_reached. `name` is the tool that it
    called most often, as far as it was read, and `times` how often that was."""

    def __init__(self, most: int, name: str | None = None, times: int = 0) -> None:
        often = f" {times} of the calls were of {name}." if name is not None else ""
        super().__init__(
            f"The model called more than {most} tools in one message (GATEWAY_MAX_TOOL_CALLS). None of them "
            f"was run, and the turn ended.{often}",
            code="max_tool_calls",
            retryable=False,
        )


class ToolError(GatewayError):
    """A tool call failed; the message is written for the model, which reads it as the call's result."""

    code = "tool_failed"


class UnknownTool(ToolError):
    pass


class BadArguments(ToolError):
    pass


class ToolTimedOut(ToolError):
    code = "tool_timeout"


class ServerUnreachable(ToolError):
    pass


class StorageError(GatewayError):
    code = "storage_unavailable"
    retryable = True


class TextRefused(StorageError):
    """A text that no database keeps, as one with NUL characters."""

    code = "invalid_request"
    retryable = False


class TurnLost(StorageError):
    code = "turn_lost"
    retryable = False


class BlobMissing(StorageError):
    code = "blob_missing"
    retryable = False


class ArchiveDamaged(StorageError):
    code = "archive_damaged"
    retryable = False


class ArtifactDamaged(StorageError):
    code = "artifact_damaged"
    retryable = False


class DecryptionFailed(StorageError):
    code = "decryption_failed"
    retryable = False


class EmbeddingsFailed(GatewayError):
    """`code` is one of embeddings_unreachable, embeddings_timeout, embeddings_refused (they cannot be had as
    asked for) and embeddings_invalid (what came is no set of vectors)."""

    code = "embeddings_unreachable"
    retryable = True


class CompressionFailed(GatewayError):
    """A compression came to nothing. `code` is one of summary_empty, summary_invalid, summary_too_long,
    summary_refused, summary_truncated, summary_no_room, or the code of the failure underneath."""

    code = "compression_failed"
    retryable = True


class NothingToSummarise(CompressionFailed):
    """The messages have no content that could be told."""

    code = "summary_empty"


class LearningFailed(GatewayError):
    """Nothing was learned from a conversation. `code` is learning_failed when the model's answer cannot be
    used, or that of the failure underneath."""

    code = "learning_failed"
    retryable = True


class McpPromptFailed(GatewayError):
    """An MCP server gives no text for a prompt; the message says why, without secrets."""

    code = "mcp_prompt_failed"
    retryable = True


class SettingsError(GatewayError):
    code = "settings"
