"""Embeddings of texts, from an endpoint that speaks OpenAI's or Voyage's embeddings API."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import httpx2
import orjson

from gateway.certificates import certificates_named
from gateway.errors import EmbeddingsFailed, SettingsError
from gateway.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Api = Literal["openai", "voyage"]
Kind = Literal["query", "document"]

BATCH = 64
"""Texts of one request. OpenAI takes 2,048, Voyage 1,000."""
BATCH_CHARACTERS = 60_000
"""Characters of one request: at 1.2 tokens for a Chinese one, below the 120,000 tokens that Voyage takes."""
TEXT_CHARACTERS = 6_000
"""What is embedded of one text: below the 8,192 tokens that OpenAI takes, for Chinese too."""
DOCUMENT_TIMEOUT = 30.0
"""Seconds that a batch of documents may take: no turn waits for it."""
MAX_DIMENSIONS = 8_192
MAX_BYTES = 32 * 1024**2
"""Of one answer: twice what a full batch of the largest vectors takes as JSON."""


class Embeddings:
    """One per process, used concurrently. The key is sent only in the header. `asked` counts the requests by
    kind and error code (None: success)."""

    def __init__(
        self, url: str, model: str, *, api: Api = "openai", key: str | None = None, timeout: float = 2
    ) -> None:
        """`url` is the base address, with /v1; `timeout` the longest wait for the vector of a query, in
        seconds. Raises SettingsError when numpy is not installed, or no certificates are where SSL_CERT_FILE
        says."""
        self.model = model
        self.asked = Counter[tuple[str, str | None]]()
        self._np = _numpy()
        self._url = url.rstrip("/") + "/embeddings"
        self._api, self._timeout = api, timeout
        self._http = httpx2.AsyncClient(
            verify=certificates_named() or True,
            headers={"authorization": f"Bearer {key}"} if key else None,
            timeout=httpx2.Timeout(None),  # asyncio.timeout also ends a slow trickle
            limits=httpx2.Limits(max_connections=16, max_keepalive_connections=4),
            follow_redirects=False,  # the key is for this address
            trust_env=False,
        )

    async def query(self, text: str) -> "Vectors":
        """The vector of a search text, of length 1: (dimensions,) float32. Raises EmbeddingsFailed."""
        return (await self._embed([text], "query", self._timeout))[0]

    async def documents(self, texts: Sequence[str]) -> "Vectors":
        """A vector of length 1 for each of `texts`, at most BATCH: (texts, dimensions) float32. Raises
        EmbeddingsFailed."""
        return await self._embed(texts, "document", DOCUMENT_TIMEOUT)

    async def close(self) -> None:
        await self._http.aclose()

    async def _embed(self, texts: Sequence[str], kind: Kind, timeout: float) -> "Vectors":
        try:
            vectors = await self._answered(texts, kind, timeout)
        except EmbeddingsFailed as failed:
            self.asked[kind, failed.code] += 1
            raise
        self.asked[kind, None] += 1
        return vectors

    async def _answered(self, texts: Sequence[str], kind: Kind, timeout: float) -> "Vectors":
        body: dict[str, Any] = {"model": self.model, "input": [text[:TEXT_CHARACTERS] for text in texts]}
        if self._api == "voyage":
            body["input_type"] = kind
        try:
            async with asyncio.timeout(timeout):
                answer = await self._post(orjson.dumps(body))
        except TimeoutError:
            raise EmbeddingsFailed(
                f"The embeddings API did not answer within {timeout:g} seconds.", code="embeddings_timeout"
            ) from None
        except httpx2.HTTPError as error:
            raise EmbeddingsFailed(
                f"The embeddings API cannot be reached: {type(error).__name__}. Check GATEWAY_EMBEDDINGS_URL."
            ) from None
        return await asyncio.to_thread(self._vectors, answer, len(texts))

    async def _post(self, body: bytes) -> bytes:
        headers = {"content-type": "application/json"}
        async with self._http.stream("POST", self._url, content=body, headers=headers) as response:
            status = response.status_code
            if status in {408, 429} or status >= 500:
                raise EmbeddingsFailed(f"The embeddings API answered {status}.")
            if status != 200:
                raise EmbeddingsFailed(
                    f"The embeddings API refused the request with {status}. Check GATEWAY_EMBEDDINGS_URL, "
                    "GATEWAY_EMBEDDINGS_MODEL and GATEWAY_EMBEDDINGS_KEY.",
                    code="embeddings_refused",
                )
            answer = bytearray()
            async for chunk in response.aiter_bytes():
                answer += chunk
                if len(answer) > MAX_BYTES:
                    raise _invalid(f"more than {MAX_BYTES // 1024**2} MB")
            return bytes(answer)

    def _vectors(self, answer: bytes, count: int) -> "Vectors":
        """The answer's vectors in the order of the texts."""
        np = self._np
        try:
            data = orjson.loads(answer)["data"]
            rows = [row["embedding"] for row in sorted(data, key=lambda row: row["index"])]
            numbers = [row["index"] for row in data]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise _invalid("something else") from None
        if sorted(numbers) != list(range(count)):
            raise _invalid(f"{len(rows)} vectors for {count} texts")
        sizes = {len(row) if isinstance(row, list) else 0 for row in rows}
        if len(sizes) != 1 or not 1 <= max(sizes) <= MAX_DIMENSIONS:
            raise _invalid("vectors of no size, or of several")
        if any(type(number) not in (float, int) for row in rows for number in row):
            raise _invalid("vectors of something else than numbers")
        try:
            exact = np.asarray(rows, dtype=np.float64)
        except OverflowError:
            raise _invalid("numbers that are too large") from None
        lengths = np.linalg.norm(exact, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise _invalid("vectors without a direction")
        return (exact / lengths).astype("<f4")


def embeddings_of(settings: Settings) -> Embeddings | None:
    """The configured API; None when there is none. Raises SettingsError when numpy is not installed."""
    if settings.embeddings_url is None:
        return None
    key = settings.embeddings_key
    return Embeddings(
        settings.embeddings_url,
        settings.embeddings_model,
        api=settings.embeddings_api,
        key=key.get_secret_value() if key else None,
        timeout=settings.embeddings_timeout,
    )


def _numpy() -> Any:
    try:
        import numpy as np  # noqa: PLC0415 - an extra, and 0.1 s
    except ImportError:
        raise SettingsError(
            "GATEWAY_EMBEDDINGS_URL is set, but numpy is not installed: pip install 'numpy>=2', "
            "or take the setting away."
        ) from None
    return np


def _invalid(what: str) -> EmbeddingsFailed:
    return EmbeddingsFailed(f"The embeddings API answered with {what}.", code="embeddings_invalid")
