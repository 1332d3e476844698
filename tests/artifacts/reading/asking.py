"""Contents that are kept and then read in parts."""

from dataclasses import dataclass

from gateway.artifacts.content import bytes_content
from gateway.artifacts.reading import MAX_TOKENS, Part, read_part, wanted_of
from gateway.artifacts.reading.part import MAX_BYTES, fits
from gateway.artifacts.shelf import Shelf
from gateway.errors import InvalidRequest
from gateway.storage.artifacts import ArtifactRow
from tests.artifacts.shelving import ORIGIN


@dataclass(frozen=True)
class Kept:
    """One content on a shelf."""

    shelf: Shelf
    row: ArtifactRow

    async def read(self, most_tokens: int = MAX_TOKENS, /, **wanted: str) -> Part:
        """A part, which is within all bounds."""
        part = await read_part(self.shelf, self.row, wanted_of(**wanted), most_tokens=most_tokens)
        assert fits(part.text, most_tokens)
        assert len(part.text.encode()) <= MAX_BYTES
        return part

    async def refused(self, **wanted: str) -> str:
        """The code and the message of the refusal."""
        try:
            part = await self.read(**wanted)
        except InvalidRequest as refused:
            return f"{refused.code}: {refused.message}"
        raise AssertionError(f"not refused, but read: {part}")


async def kept(shelf: Shelf, data: bytes | str, name: str | None = None) -> Kept:
    content = bytes_content(data.encode() if isinstance(data, str) else data, name)
    return Kept(shelf, await shelf.keep(content, ORIGIN))


def next_of(part: Part) -> dict[str, str]:
    """The argument that goes on after a part."""
    assert part.next is not None
    name, value = part.next.split("=", 1)
    return {name: value}
