"""Artifacts as rows of their table."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from gateway.storage.artifacts import ArtifactRow, Chunk
from gateway.storage.row_codec import Codec, Rows, as_json
from gateway.storage.schema import artifacts


def _chunks_text(chunks: Sequence[Chunk]) -> str:
    return as_json([[*each] for each in chunks])


def _chunks(text: str) -> tuple[Chunk, ...]:
    return tuple(Chunk(*each) for each in orjson.loads(text))


def _metadata_text(metadata: Mapping[str, Any]) -> str:
    return as_json(dict(metadata))


ARTIFACTS = Rows(
    ArtifactRow,
    artifacts,
    chunks=Codec(_chunks_text, _chunks),
    metadata=Codec(_metadata_text, orjson.loads),
)
