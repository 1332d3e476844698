"""The `gateway` command: one file per command. Nothing heavy is imported before a command runs."""

import sys
from typing import Annotated, NoReturn


def main() -> NoReturn:
    """The console entry.

    Exit codes: 0 done, 1 a failure, 2 a wrong setting or argument, 130 stopped by Ctrl-C. What went wrong is
    said in one message on stderr.
    """
    import typer

    from gateway import __version__
    from gateway.cli.chat import chat
    from gateway.cli.config import config
    from gateway.cli.dev import dev
    from gateway.cli.doctor import doctor
    from gateway.cli.files import export, import_
    from gateway.cli.migrate import migrate
    from gateway.cli.replay import replay
    from gateway.cli.serve import serve
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

    app = typer.Typer(
        name="gateway",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help needs no rich, which would take a third of the time there is
        # typer parses an absent --help with pydantic unless it has a default, which would take all of it
        context_settings={"default_map": {"help": False}},
    )
    app.callback()(gateway)
    for command in (dev, serve, chat, replay, export):
        app.command()(command)
    app.command("import")(import_)
    for command in (config, migrate, doctor):
        app.command()(command)
    try:
        app()
    except SettingsError as error:
        _leave(error, 2)
    except GatewayError as error:
        _leave(error, 1)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)


def _leave(error: Exception, code: int) -> NoReturn:
    print(f"gateway: {error}", file=sys.stderr)
    sys.exit(code)
