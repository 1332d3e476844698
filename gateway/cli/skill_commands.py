"""`gateway skills`: what the model may use, and SKILL.md files of one's own. No gateway has to run."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

Servers = Annotated[bool, typer.Option("--mcp", help="Start the MCP servers too, for their tools.")]


def list_(
    *,
    kind: Annotated[
        Literal["function", "markdown", "mcp"] | None, typer.Option("--type", help="Only these.")
    ] = None,
    mcp: Servers = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="What GET /api/skills returns, instead of a table.")
    ] = False,
) -> None:
    """Show all skills: functions, SKILL.md folders and, with --mcp, the tools of MCP servers."""
    from gateway.cli.skill_catalog import look
    from gateway.cli.terminal import show_table

    found = look(mcp=mcp, hint=kind in {None, "mcp"})
    skills = [skill for skill in found.catalog.skills if kind in {None, skill.type}]
    if as_json:
        import orjson

        listed = {"skills": skills, "warnings": found.warnings}
        print(orjson.dumps(listed, default=dict, option=orjson.OPT_INDENT_2).decode())
        return
    show_table(
        ("Name", "Type", "Source", "On", "Description"),
        [
            (each.name, each.type, each.source, "on" if each.enabled else "off", each.description)
            for each in skills
        ],
    )


def snapshot(*, mcp: Servers = False) -> None:
    """Print SKILLS_SNAPSHOT.md: what the prompt tells the model of all skills."""
    from gateway.cli.skill_catalog import look
    from gateway.cli.terminal import to_stderr
    from gateway.lexical import estimate_tokens
    from gateway.settings import load_settings

    text = look(mcp=mcp, purpose="prompt").catalog.snapshot
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.write(b"\n" if sys.stdout.isatty() else b"")
    sys.stdout.buffer.flush()
    if text:
        to_stderr(f"About {estimate_tokens(text)} tokens.")
    else:
        to_stderr("It is empty: no written skill is on, or GATEWAY_SKILLS_SHARE leaves no room.")
    if not load_settings().skills_in_prompt:
        to_stderr("The model is not told it: GATEWAY_SKILLS_IN_PROMPT is false.")


def check(
    path: Annotated[
        Path, typer.Argument(exists=True, help="A skill's folder, its SKILL.md, or a folder of skills.")
    ],
    lenient: Annotated[
        bool, typer.Option("--lenient", help="For skills from elsewhere: fail only for what cannot be used.")
    ] = False,
) -> None:
    """Check SKILL.md files against the specification, and say what to mend."""
    from gateway.cli.findings import show_findings
    from gateway.cli.skill_checks import check_skills
    from gateway.settings import load_settings

    sys.exit(0 if show_findings(check_skills(path, load_settings(), lenient=lenient)) else 1)


def new(
    name: Annotated[str, typer.Argument(help="Lower case, with hyphens: check-invoice, 核对发票.")],
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Where skills are. [default: GATEWAY_SKILLS_DIR]")
    ] = None,
) -> None:
    """Write the SKILL.md of a new skill, to be filled in."""
    import unicodedata

    from gateway.errors import GatewayError
    from gateway.settings import load_settings
    from gateway.skills.definition import SKILL_FILE
    from gateway.skills.template import template

    try:
        text = template(name)
    except ValueError as error:
        raise typer.BadParameter(f"{error}.") from None
    place = (folder or load_settings().skills_dir.expanduser()) / unicodedata.normalize("NFKC", name)
    try:
        place.mkdir(parents=True)
        (place / SKILL_FILE).write_text(text, encoding="utf-8")
    except FileExistsError:
        raise GatewayError(f"{place} is there already. Choose another name, or edit what is there.") from None
    except OSError as error:
        raise GatewayError(f"{place} cannot be written: {error.strerror}.") from None
    print(place / SKILL_FILE)
    print("Write its description first: the model knows no more of it before it reads it.", file=sys.stderr)
    print(f"Then check it: gateway skills check {place}", file=sys.stderr)
