"""The `gateway` command: one file per command. Nothing heavy is imported before a command runs."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, NoReturn

if TYPE_CHECKING:
    import typer


def main() -> NoReturn:
    """The console entry.

    Exit codes: 0 done, 1 a failure, 2 a wrong setting or argument, 130 stopped by Ctrl-C. What went wrong is
    said in one message on stderr.
    """
    import typer

    from gateway import __version__
    from gateway.cli import document_commands as documents
    from gateway.cli import memory_commands as memory
    from gateway.cli import skill_commands as skills
    from gateway.cli import tool_commands as tools
    from gateway.cli.chat import chat
    from gateway.cli.config import config
    from gateway.cli.dev import dev
    from gateway.cli.doctor import doctor
    from gateway.cli.eval import eval_
    from gateway.cli.mcp import mcp
    from gateway.cli.migrate import migrate
    from gateway.cli.move import move
    from gateway.cli.profile_command import profile
    from gateway.cli.replay import replay
    from gateway.cli.serve import serve
    from gateway.cli.session_files import export, import_
    from gateway.errors import GatewayError, SettingsError

    def show_version(asked: bool) -> None:
        if asked:
            print(f"gateway {__version__}")
            raise typer.Exit

    def gateway(
        version: Annotated[
            bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version.")
        ] = False,
    ) -> None:
        """Chat Gateway: a message in, a durable stream of typed events out."""

    app = _group(
        "gateway", dev, serve, chat, replay, export, import_, config, migrate, move, doctor, eval_, mcp
    )
    app.callback()(gateway)
    written = _group("skills", skills.list_, skills.check, skills.new, skills.snapshot)
    app.add_typer(written, help="Skills: list them, check and write SKILL.md files.")
    app.add_typer(_group("tools", tools.list_, tools.run), help="Tools: list them, run one alone.")
    remembered = _group(
        "memory",
        *(memory.list_, memory.search, memory.show, memory.save, memory.edit, memory.delete, memory.erase),
        *(memory.confirm, memory.correct, memory.merge, memory.export, memory.import_, profile),
    )
    app.add_typer(remembered, help="Memory: what is remembered, to look after by hand.")
    written_down = _group(
        "documents",
        *(documents.list_, documents.check, documents.deprecate, documents.restore, documents.update),
        *(documents.export, documents.import_, documents.migrate),
    )
    app.add_typer(written_down, help="Documents: memories that are files.")
    try:
        app()
    except SettingsError as error:
        _leave(error, 2)
    except GatewayError as error:
        _leave(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _group(name: str, *commands: Callable[..., None]) -> "typer.Typer":
    """Commands under one name; each is called like its function."""
    import typer

    group = typer.Typer(
        name=name,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help needs no rich, which would take a third of the time there is
        # typer parses an absent --help with pydantic unless it has a default, which would take all of it
        context_settings={"default_map": {"help": False}},
    )
    for command in commands:
        group.command(command.__name__.rstrip("_"))(command)
    return group


def _leave(error: Exception, code: int) -> NoReturn:
    from gateway.cli.turn_view import printable

    print(printable(f"gateway: {error}"), file=sys.stderr)
    sys.exit(code)
