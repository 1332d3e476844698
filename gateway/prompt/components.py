"""Prompt components: files in a folder, read again when one has changed, the bundled ones as defaults."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gateway.errors import InvalidRequest, SettingsError
from gateway.files.confined_read import as_text, read_file, state_at
from gateway.lexical import estimate_tokens
from gateway.prompt.manifest import Layer, Manifest, ManifestEntry, read_manifest
from gateway.prompt.text_cleaning import clean

MANIFEST = "manifest.yaml"
MAX_FILE_SIZE = 1_048_576
"""Bytes of a component or the manifest; a larger file is not used."""

SHORT = "small"
"""The folder, in that of the components, with their short variants."""

Source = Literal["file", "default", "edited"]


@dataclass(frozen=True, slots=True)
class Component:
    """A part of the prompt, cleaned but not cut. `digest` is the SHA-256 of `text` in hex, `tokens` its
    estimated size, `fixed` means that it is never cut; `source` is whether it is the folder's own file, the
    one that comes with the gateway, or what the operator has written in its place."""

    name: str
    file: str
    layer: Layer
    text: str
    digest: str
    tokens: int
    priority: int
    min_tokens: int
    max_tokens: int
    fixed: bool
    source: Source


@dataclass(frozen=True, slots=True)
class Components:
    """All components in the order of the manifest, and what an author should know about their files."""

    items: tuple[Component, ...]
    warnings: tuple[str, ...] = ()

    def edited(self, texts: Mapping[str, str]) -> "Components":
        """As if the files of the components with these names had been edited: their texts, cleaned. One
        without text is left out, unless it is one that is never cut: that stays, with a warning.

        Raises:
            InvalidRequest: there is no component of that name.
        """
        return self._edited(texts, None)

    def rewritten(self, texts: Mapping[str, str]) -> "Components":
        """The same for good: the components say that they are `edited`. What is none any more is left out."""
        names = {item.name for item in self.items}
        return self._edited({name: text for name, text in texts.items() if name in names}, "edited")

    def _edited(self, texts: Mapping[str, str], source: "Source | None") -> "Components":
        names = [item.name for item in self.items]
        if unknown := sorted(set(texts) - set(names)):
            raise InvalidRequest(
                f"There is no component {unknown[0][:100]!r} in the prompt.", details={"components": names}
            )
        items: list[Component] = []
        warnings = [*self.warnings]
        for item in self.items:
            text = clean(texts[item.name]) if item.name in texts else item.text
            if not text and item.fixed:
                warnings.append(f"{item.file} cannot be empty, as it must not be cut: it stays as it is.")
                text = item.text
            if text:
                made = replace(item, text=text, digest=_digest(text), tokens=estimate_tokens(text))
                items.append(replace(made, source=source) if source and item.name in texts else made)
        return Components(tuple(items), tuple(warnings))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read, and the state of the files `paths` just before."""

    paths: tuple[str, ...]
    state: tuple[object, ...]
    components: Components


class PromptFolder:
    """The folder of component files; None means the ones that come with the gateway."""

    def __init__(self, path: Path | None = None) -> None:
        self._bundled = bundled_folder()
        self._folder = path or self._bundled
        self._path = str(self._folder)
        self._last: dict[bool, _Reading] = {}
        self._instead: Mapping[str, str] = {}
        self._rewritten: dict[bool, tuple[Components, Components]] = {}

    @property
    def path(self) -> Path:
        return self._folder

    def become(self, texts: Mapping[str, str]) -> None:
        """Has these texts hold in place of the files of the components with these names, in both forms of the
        prompt."""
        if texts != self._instead:
            self._instead = dict(texts)
            self._rewritten = {}

    def read(self, *, short: bool = False) -> Components:
        """The components as `files` has them, with what holds in place of some. As cheap."""
        files = self.files(short=short)
        if not self._instead:
            return files
        known = self._rewritten.get(short)
        if known is None or known[0] is not files:
            known = self._rewritten[short] = (files, files.rewritten(self._instead))
        return known[1]

    def files(self, *, short: bool = False) -> Components:
        """The components as their files are now, or their `short` variants: `small/FILE` in the same folder
        as the FILE that is used, where there is one. Cheap while nothing has changed (one stat per file), so
        ask at the start of each turn. What cannot be used becomes a warning, never an exception."""
        # States are taken before the files are read: an edit from then on is seen next time.
        last = self._last.get(short)
        if last is not None and last.state == self._state(last.paths):
            return last.components
        manifest_paths = self._paths(MANIFEST)
        manifest_state = self._state(manifest_paths)
        warnings: list[str] = []
        if not state_at(self._path):
            warnings.append(
                f"The prompts folder {self._folder} does not exist: the bundled components are used."
            )
        manifest = self._read_manifest(warnings)
        files = [entry.file for entry in manifest.components]
        paths = self._paths(*files, *(f"{SHORT}/{file}" for file in files if short))
        state = (*manifest_state, *map(state_at, paths))
        items = [self._component(entry, warnings, short=short) for entry in manifest.components]
        components = Components(tuple(item for item in items if item is not None), tuple(warnings))
        self._last[short] = _Reading((*manifest_paths, *paths), state, components)
        return components

    def instructions(self, file: str) -> str:
        """The text of a file that is no component but the instructions of another call, such as summary.md:
        the folder's own, or the one that comes with the gateway where that cannot be used or is empty.

        Raises:
            SettingsError: there is none at all.
        """
        for folder in (self._folder, self._bundled):
            try:
                if text := clean(_read(folder, file)):
                    return text
            except (OSError, ValueError):
                continue
        raise SettingsError(f"The instructions {file} are missing from {self._bundled}.")

    def _paths(self, *files: str) -> tuple[str, ...]:
        """Where those files may be, as plain strings: they are looked at in every turn."""
        folders = dict.fromkeys((self._folder, self._bundled))
        return tuple(str(folder / name) for folder in folders for name in files)

    def _state(self, paths: Iterable[str]) -> tuple[object, ...]:
        return (not state_at(self._path), *map(state_at, paths))

    def _read_manifest(self, warnings: list[str]) -> Manifest:
        own = self._folder / MANIFEST
        try:
            if own.exists():
                return read_manifest(_read(self._folder, MANIFEST))
        except (OSError, ValueError) as error:
            warnings.append(f"{MANIFEST} cannot be used ({_reason(error)}): the bundled one is used.")
        try:
            return read_manifest(_read(self._bundled, MANIFEST))
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"The bundled prompts in {self._bundled} are damaged: {_reason(error)}"
            ) from None

    def _component(self, entry: ManifestEntry, warnings: list[str], *, short: bool) -> Component | None:
        try:
            text = clean(_read_in(self._folder, entry.file, short=short))
        except FileNotFoundError:
            return self._default(entry, None, warnings, short=short)
        except (OSError, ValueError) as error:
            return self._default(entry, _reason(error), warnings, short=short)
        if text:
            return _made(entry, text, "file")
        if entry.never_cut:
            problem = "it is empty, and it is one that must not be cut"
            return self._default(entry, problem, warnings, short=short)
        return None

    def _default(
        self, entry: ManifestEntry, problem: str | None, warnings: list[str], *, short: bool
    ) -> Component | None:
        """The bundled text; `problem` is why the folder's own is not used, None that there is none."""
        try:
            text = clean(_read_in(self._bundled, entry.file, short=short))
        except (OSError, ValueError):
            text = ""
        if text:
            if problem:
                warnings.append(f"{entry.file} cannot be used ({problem}): the bundled one is used.")
            return _made(entry, text, "default")
        if problem or not entry.optional:
            warnings.append(f"{entry.file} is skipped ({problem or 'there is no such file'}).")
        return None


def bundled_folder() -> Path:
    """Where the components that come with the gateway are: in the package, or in the checkout beside it."""
    installed = Path(__file__).parent / "bundled"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "prompts"


def _made(entry: ManifestEntry, text: str, source: Source) -> Component:
    return Component(
        name=entry.name,
        file=entry.file,
        layer=entry.layer,
        text=text,
        digest=_digest(text),
        tokens=estimate_tokens(text),
        priority=entry.priority,
        min_tokens=entry.min_tokens,
        max_tokens=entry.max_tokens,
        fixed=entry.never_cut,
        source=source,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_in(folder: Path, name: str, *, short: bool) -> str:
    """A component's file, or its short variant where the folder has one beside it. An empty file has none."""
    text = _read(folder, name)
    if not short or not text.strip():
        return text
    try:
        return _read(folder, f"{SHORT}/{name}")
    except FileNotFoundError:
        return text


def _read(folder: Path, name: str) -> str:
    return as_text(read_file(folder, name, MAX_FILE_SIZE).content)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(error)
