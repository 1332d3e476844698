"""Contents that are kept and then read in parts."""

from dataclasses import dataclass

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.content import bytes_content
from gateway.artifacts.reading import MAX_TOKENS, ContentPart, read_part, selector_of
from gateway.artifacts.reading.part import MAX_BYTES, fits
from tests.artifacts.store_folder import ORIGIN
from tests.product import ArtifactRow, InvalidRequest


@dataclass(frozen=True)
class Stored:
    """One content in a store."""

    artifact_store: ArtifactStore
    row: ArtifactRow

    async def read(self, most_tokens: int = MAX_TOKENS, /, **selector: str) -> ContentPart:
        """A part, which is within all bounds."""
        part = await read_part(
            self.artifact_store, self.row, selector_of(**selector), most_tokens=most_tokens
        )
        assert fits(part.text, most_tokens)
        assert len(part.text.encode()) <= MAX_BYTES
        return part

    async def refused(self, **selector: str) -> str:
        """The code and the message of the refusal."""
        try:
            part = await self.read(**selector)
        except InvalidRequest as refused:
            return f"{refused.code}: {refused.message}"
        raise AssertionError(f"not refused, but read: {part}")


async def kept(artifact_store: ArtifactStore, data: bytes | str, name: str | None = None) -> Stored:
    content = bytes_content(data.encode() if isinstance(data, str) else data, name)
    return Stored(artifact_store, await artifact_store.put(content, ORIGIN))


def next_of(part: ContentPart) -> dict[str, str]:
    """The argument that goes on after a part."""
    assert part.next is not None
    name, value = part.next.split("=", 1)
    return {name: value}
