"""`gateway documents`: memories that are files. No gateway has to run; one that does notices."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from gateway.memory.documents.document_sync import Documents
    from gateway.memory.documents.document_transfer import TransferOutcome
    from gateway.memory.documents.folder import FolderContents
    from gateway.memory.documents.selection import DocumentFile
    from gateway.memory.services import MemoryServices

T = TypeVar("T")

Named = Annotated[str, typer.Argument(metavar="ID", help="As `gateway documents list` shows it.")]
User = Annotated[str, typer.Option("--user", help="Whose memories.")]
Here = Annotated[
    Path | None,
    typer.Argument(
        metavar="FOLDER",
        exists=True,
        file_okay=False,
        help="[default: GATEWAY_DOCUMENTS_DIR]",
        show_default=False,
    ),
]


def list_(
    *,
    deprecated: Annotated[
        bool, typer.Option("--deprecated", help="Those out of use, which can be restored.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What GET /api/documents returns, instead of a table.")
    ] = False,
) -> None:
    """Show the documents in use."""
    from gateway.api.documents_routes import DocumentList
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.memory.documents.document import iso

    found, missing = _look(None)
    listed = DocumentList.of(found)
    if as_json:
        print(listed.model_dump_json(exclude_none=True, indent=2))
        return
    for warning in (*missing, *found.warnings):
        to_stderr(f"! {warning}")
    show_table(
        ("Id", "Type", "Skill", "Updated", "Name", "Snippet"),
        [
            (each.id, each.type, each.skill[:30], iso(each.updated_at)[:10], each.name[:30], each.snippet)
            for each in (listed.deprecated if deprecated else listed.documents)
        ],
    )


def check(folder: Here = None) -> None:
    """Check the files of documents, and say what to mend."""
    from gateway.cli.findings import Finding, show_findings

    (found, missing), place = _look(folder), str(folder or "documents")
    findings = [
        Finding("good", filed.file, f"is document {filed.document.id}") for filed in found.documents
    ] + [Finding("bad", place, warning.removesuffix(".")) for warning in found.warnings]
    findings += [Finding("warning", place, says.removesuffix(".")) for says in missing]
    none = Finding(
        "warning", place, "there are none: JSON is read in the folder, Markdown in its references/"
    )
    sys.exit(0 if show_findings(findings or [none]) else 1)


def deprecate(document_id: Named) -> None:
    """Take a document out of use. Its file is kept in .deprecated."""
    _on_documents(lambda documents: documents.deprecate(document_id))


def restore(document_id: Named) -> None:
    """Take a deprecated document into use again."""
    _on_documents(lambda documents: documents.restore(document_id))


def update(
    document_id: Named,
    file: Annotated[Path, typer.Argument(help="The new content as text; - for the standard input.")],
    snippet: Annotated[
        str, typer.Option("--snippet", help="One line on it. [default: the content's beginning]")
    ] = "",
) -> None:
    """Write a document anew with another content."""
    from gateway.errors import GatewayError

    try:
        content = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GatewayError(f"{file} cannot be read: {reason}.") from None
    _on_documents(lambda documents: documents.update(document_id, content, snippet))


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of the files; it is made.")], user: User = "local"
) -> None:
    """Write the memories of type skill and reference that were made at run time to files."""
    from gateway.memory.documents.document_transfer import export_files
    from gateway.storage.memories import AllScopes

    _show(_on_memory(lambda services: export_files(services.memories, AllScopes(user), folder)))


def import_(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with documents.")],
    user: User = "local",
) -> None:
    """Remember what documents say as memories of a user."""
    from gateway.memory.changes import Attribution
    from gateway.memory.documents.document_transfer import import_files
    from gateway.storage.memories import Scope

    by = Attribution(user, "imported from files")
    _show(_on_memory(lambda services: import_files(services.memories, Scope(user), folder, by), makes=True))


def migrate(
    folder: Here = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be changed.")] = False,
) -> None:
    """Bring files of older forms to today's: their names, and the fields in them."""
    from gateway.cli.findings import Finding, show_findings
    from gateway.memory.documents import migration
    from gateway.settings import load_settings

    findings: list[Finding] = []
    for each in migration.migrate(folder or load_settings().documents_dir.expanduser(), dry_run=dry_run):
        if each.problem:
            findings.append(Finding("bad", each.file, f"stays as it is: {each.problem}"))
        elif each.changes:
            done = "would become" if dry_run else "is now"
            findings.append(Finding("good", each.file, f"{done} {each.name}: {', '.join(each.changes)}"))
        else:
            findings.append(Finding("good", each.file, "is in today's form"))
    sys.exit(0 if show_findings(findings) else 1)


def _look(folder: Path | None) -> "tuple[FolderContents, list[str]]":
    """The contents of the folder, and a remark if there is no folder."""
    from gateway.memory.documents.folder import DocumentFolder
    from gateway.settings import load_settings

    settings = load_settings()
    looked_at = folder or settings.documents_dir.expanduser()
    found = DocumentFolder(looked_at, settling=0, most_of_skill=settings.documents_per_skill).scan()
    if looked_at.is_dir():
        return found, []
    return found, [f"The folder {looked_at} does not exist: see GATEWAY_DOCUMENTS_DIR."]


def _on_memory(work: "Callable[[MemoryServices], Awaitable[T]]", *, makes: bool = False) -> T:
    """Returns what `work` returns, done on the store of the settings; `makes` one where there is none."""
    import asyncio

    from gateway import wiring
    from gateway.cli.memory_context import check_there
    from gateway.settings import load_settings
    from gateway.telemetry.lines.logs import configure_logging

    configure_logging("error")
    settings = load_settings()
    check_there(settings, makes=makes)

    async def at_once() -> T:
        async with wiring.open_memory(settings) as services:
            return await work(services)

    return asyncio.run(at_once())


def _on_documents(work: "Callable[[Documents], Awaitable[DocumentFile]]") -> None:
    """Prints the file that `work` has changed. Nothing is stored: that is for the gateway, whose folder may
    be another."""
    import asyncio

    from gateway.memory.documents.document_sync import Documents
    from gateway.settings import load_settings
    from gateway.telemetry.lines.logs import configure_logging

    configure_logging("error")
    folder = load_settings().documents_dir.expanduser()

    async def at_once() -> "DocumentFile":
        return await work(Documents(None, folder, settling=0))

    print(asyncio.run(at_once()).file)


def _show(exchanged: "list[TransferOutcome]") -> None:
    """One line for each; leaves with 1 when one was left out."""
    from gateway.cli.findings import Finding, show_findings

    findings = [
        Finding("bad" if each.outcome == "left out" else "good", each.name, f"{each.outcome}: {each.reason}")
        if each.reason
        else Finding("good", each.name, each.outcome)
        for each in exchanged
    ]
    sys.exit(0 if show_findings(findings) else 1)
