"""Writing and moving the files of documents: whole or not at all, and never over another one."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from gateway.errors import Conflict, StorageError
from gateway.files.replacement import replacing
from gateway.memory.documents.document import Document, as_bytes
from gateway.memory.documents.folder import DEPRECATED, MAX_FILES, REFERENCE, REFERENCES, numbered, unnumbered


def write(root: Path, file: str, document: Document) -> None:
    """Writes `document` to `file`. Raises errors.StorageError."""
    with _done(file, "written"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        with replacing(root / file) as written:
            written.write(as_bytes(document))


def remove(root: Path, file: str) -> None:
    """Raises errors.StorageError."""
    with _done(file, "removed"):
        (root / file).unlink(missing_ok=True)


def deprecate(root: Path, file: str) -> str:
    """Moves a file to DEPRECATED, and returns its path there: beside one of the same name under a number.

    Raises:
        errors.StorageError: it cannot be moved, or is gone.
    """
    for number in range(1, MAX_FILES + 1):
        aside = f"{DEPRECATED}/{numbered(Path(file).name, number)}"
        if _move(root, file, aside):
            return aside
    raise StorageError(f"{DEPRECATED} is full of files like {file}: delete some.", retryable=False)


def remove_deprecated(root: Path, files: Iterable[str], before: int) -> list[str]:
    """Removes those of the files of DEPRECATED that were put there, or changed last, before a time in Unix
    milliseconds; which those were. One that cannot be looked at or removed waits for another time."""
    removed: list[str] = []
    for file in files:
        with suppress(OSError):
            if (root / file).lstat().st_ctime_ns < before * 1_000_000:
                (root / file).unlink()
                removed.append(file)
    return removed


def restore(root: Path, file: str) -> str:
    """Moves a file of DEPRECATED back to the folder of its kind, and returns its path there.

    Raises:
        errors.Conflict: a file of its name is in use.
        errors.StorageError: it cannot be moved, or is gone.
    """
    name = unnumbered(Path(file).name)
    back = f"{REFERENCES}/{name}" if name.endswith(REFERENCE) else name
    if not _move(root, file, back):
        raise Conflict(f"{back} is in use. Deprecate that one first.")
    return back


def _move(root: Path, file: str, to: str) -> bool:
    """False when there is another file `to`. The file gets its second name before it loses its first one, so
    that it is there whenever this ends; one that has both names is moved on the next try."""
    source, target = root / file, root / to
    with _done(to, "written"):
        target.parent.mkdir(exist_ok=True)
        if target.parent.resolve() != root.resolve() / Path(to).parent:
            raise StorageError(f"{Path(to).parent} is a link: nothing is moved there.", retryable=False)
    with _done(file, "moved"):
        return _renamed(source, target)


def _renamed(source: Path, target: Path) -> bool:
    try:
        target.hardlink_to(source)
    except FileExistsError:
        if not target.samefile(source):
            return False
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links, where another process may take the name in between
        if target.exists():
            return False
        source.rename(target)
        return True
    source.unlink(missing_ok=True)
    return True


@contextmanager
def _done(file: str, what: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{file} cannot be {what}: {error.strerror or 'the disk failed'}.") from None
