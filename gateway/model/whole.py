"""An answer as a whole, for those who ask a model something beside a turn."""

import asyncio
from collections.abc import Callable

from gateway.errors import ModelError
from gateway.messages import Usage
from gateway.model.base import Answer, Model, ModelRequest, Started


async def answer_of(
    model: Model, request: ModelRequest, *, seconds: float, counted: Callable[[Usage], None]
) -> Answer:
    """Asks once. `counted` is given what the endpoint reported, as far as it came, also when this fails.

    Raises:
        ModelError: what the stream raises; it ended without an answer, or took longer than `seconds`.
    """
    used: Usage | None = None
    try:
        async with asyncio.timeout(seconds), model.stream(request) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Started | Answer):
                    used = chunk.usage or used
                if isinstance(chunk, Answer):
                    return chunk
    except TimeoutError:
        raise ModelError("The answer took too long.", code="upstream_timeout", retryable=True) from None
    finally:
        if used is not None:
            counted(used)
    raise ModelError("The stream ended without an answer.", code="upstream_truncated", retryable=True)
