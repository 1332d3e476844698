"""Which components there are, in which order and with which limits: `manifest.yaml`."""

from functools import lru_cache
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gateway.errors import plain_words
from gateway.prompt.truncation import smallest

Layer = Literal["SYSTEM", "MEMORY", "USER", "TOOL INSTRUCTIONS"]


class ManifestEntry(BaseModel):
    """One component; prompts/manifest.yaml explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str = Field(min_length=4, max_length=200, pattern=r"\.md$")
    layer: Layer
    priority: int = Field(default=50, ge=0, le=100)
    min_tokens: int = Field(default=0, ge=0)
    max_tokens: int = Field(default=4000, ge=64)
    never_cut: bool = False
    optional: bool = False

    @property
    def name(self) -> str:
        return self.file.removesuffix(".md")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if smallest(self.max_tokens + 1, self.min_tokens) > self.max_tokens:
            raise ValueError("max_tokens leaves no room for min_tokens and the mark of a cut")
        return self


class Manifest(BaseModel):
    """The components in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    components: tuple[ManifestEntry, ...] = Field(min_length=1, max_length=64)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len({entry.name for entry in self.components}) < len(self.components):
            raise ValueError("a file is listed twice")
        return self


@lru_cache(maxsize=2)
def read_manifest(text: str) -> Manifest:
    """The manifest written in `text`, remembered: while components are edited it stays as it is, and reading
    YAML takes milliseconds.

    Raises:
        ValueError: it is not YAML or not of the right form; the message has the place, on one line.
    """
    try:
        return Manifest.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'it'}: "
            f"{plain_words(each['type'], each['msg'], unknown='unknown name')}"
            for each in error.errors()[:3]
        ]
        raise ValueError("; ".join(problems)) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:300]) from None
