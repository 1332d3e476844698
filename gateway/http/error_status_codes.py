"""The HTTP status of each error."""

from gateway import errors
from gateway.errors import GatewayError

STATUS: tuple[tuple[type[GatewayError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.TurnInProgress, 409),
    (errors.MemoryChanged, 412),
    (errors.EncryptionOff, 409),
    (errors.MemoryFull, 409),
    (errors.ArtifactsFull, 409),
    (errors.Conflict, 409),
    (errors.NothingToCompress, 409),
    (errors.TooLarge, 413),
    (errors.UnsupportedBody, 415),
    (errors.SessionsFull, 413),
    (errors.BodyTooSlow, 408),
    (
        errors.ClientLeft,
        499,
    ),  # nobody reads it: the status is for metrics and spans (nginx has made it common)
    (errors.LockedOut, 429),
    (errors.QueueFull, 429),
    (errors.LimitReached, 429),
    (errors.LimitsUnavailable, 503),
    (errors.Draining, 503),
    (errors.ProviderUnavailable, 503),
    (errors.McpSignInFailed, 409),
    (errors.McpPromptFailed, 502),
    (errors.RequestRefused, 400),
    (errors.ArchiveDamaged, 500),
    (errors.ArtifactDamaged, 500),
    (errors.DecryptionFailed, 500),
    (errors.TextRefused, 400),
    (errors.StorageError, 503),
    (errors.NothingToSummarise, 409),
    (errors.CompressionFailed, 502),
    (errors.LearningFailed, 502),
    (errors.ModelError, 502),
    (GatewayError, 500),
)


def status_of(error: GatewayError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))
