"""All commands under their names, with examples in their help."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from gateway.cli.command_examples import EXAMPLES

BROKEN_PIPE = 141
"""The exit code of a program that SIGPIPE ends, as a shell tells it: 128 + 13."""


def command_tree() -> typer.Typer:
    """The whole command."""
    from gateway.cli import approval_commands as approvals
    from gateway.cli import document_commands as documents
    from gateway.cli import key_commands as keys
    from gateway.cli import mcp
    from gateway.cli import mcp_server_commands as mcp_servers
    from gateway.cli import memory_commands as memory
    from gateway.cli import project_commands as projects
    from gateway.cli import provider_key_commands as provider_keys
    from gateway.cli import schedule_commands as schedules
    from gateway.cli import secret_commands as secrets
    from gateway.cli import session_commands as sessions
    from gateway.cli import skill_commands as skills
    from gateway.cli import tool_commands as tools
    from gateway.cli import user_commands as users
    from gateway.cli import webhook_commands as webhooks
    from gateway.cli.backup_commands import backup, restore
    from gateway.cli.chat import chat
    from gateway.cli.completion import completion
    from gateway.cli.config import config
    from gateway.cli.dev import dev
    from gateway.cli.doctor import doctor
    from gateway.cli.eval import eval_
    from gateway.cli.migrate import migrate
    from gateway.cli.move import move
    from gateway.cli.profile_command import profile
    from gateway.cli.replay import replay
    from gateway.cli.serve import serve
    from gateway.cli.session_files import export, import_
    from gateway.cli.slack import slack

    app = _group(
        "",
        *(
            dev,
            serve,
            chat,
            replay,
            export,
            import_,
            config,
            migrate,
            move,
            backup,
            restore,
            doctor,
            eval_,
            slack,
        ),
    )
    app.callback()(gateway)
    groups = {
        "sessions": (
            "Sessions: list, rename, archive, delete them.",
            (sessions.list_, sessions.show, sessions.rename, sessions.archive, sessions.pin),
            (sessions.share, sessions.delete, export),
        ),
        "approvals": (
            "Approvals: calls that wait for a person.",
            (approvals.list_, approvals.approve, approvals.deny),
        ),
        "schedules": (
            "Schedules: messages that are sent at set times.",
            (schedules.list_, schedules.show, schedules.add, schedules.pause, schedules.resume),
            (schedules.run, schedules.delete),
        ),
        "keys": (
            "Keys: API keys, with which programs and people ask.",
            (keys.list_, keys.create, keys.revoke),
        ),
        "projects": (
            "Projects: who shares sessions with whom.",
            (projects.list_, projects.show, projects.create, projects.rename, projects.delete),
            (projects.add, projects.remove, projects.invitations, projects.accept, projects.decline),
        ),
        "users": (
            "Users: everything about a person, as a file or erased.",
            (users.export, users.erase, users.erasure),
        ),
        "holds": (
            "Legal holds: what must not be deleted.",
            (users.list_, users.place, users.lift),
        ),
        "retention": (
            "Retention: when sessions are archived and deleted.",
            (users.show, users.set_, users.preview),
        ),
        "provider-keys": (
            "Provider keys: your own key of the model's provider.",
            (provider_keys.show, provider_keys.set_, provider_keys.remove),
        ),
        "mcp": (
            "MCP: serve the memory, sign in to servers.",
            (mcp.serve, mcp_servers.list_, mcp_servers.login, mcp_servers.logout),
        ),
        "secrets": (
            "Keys that encrypt what is stored.",
            (secrets.generate, secrets.rotate, secrets.forget),
        ),
        "webhooks": (
            "Webhooks: addresses that are told what happens.",
            (webhooks.list_, webhooks.add, webhooks.test_, webhooks.enable, webhooks.disable),
            (webhooks.deliveries, webhooks.replay, webhooks.delete),
        ),
        "skills": (
            "Skills: list them, check and write SKILL.md files.",
            (skills.list_, skills.check, skills.new, skills.snapshot),
        ),
        "tools": ("Tools: list them, run one alone.", (tools.list_, tools.run)),
        "memory": (
            "Memory: what is remembered, to look after by hand.",
            (memory.list_, memory.search, memory.show, memory.save, memory.edit, memory.delete),
            (
                memory.restore,
                memory.erase,
                memory.confirm,
                memory.correct,
                memory.merge,
                memory.export,
                memory.import_,
            ),
            (profile,),
        ),
        "documents": (
            "Documents: memories that are files.",
            (documents.list_, documents.check, documents.deprecate, documents.restore),
            (documents.update, documents.export, documents.import_, documents.migrate),
        ),
    }
    for name, (says, *commands) in groups.items():
        app.add_typer(_group(name, *(each for several in commands for each in several)), help=says)
    _add(app, "", completion)
    return app


def show_version(asked: bool) -> None:
    """Prints it and leaves, if it was asked for."""
    if asked:
        from gateway import __version__

        print(f"gateway {__version__}")
        raise typer.Exit


def gateway(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version.")
    ] = False,
) -> None:
    """Chat Gateway: a message in, a durable stream of typed events out."""


class Commands(TyperGroup):
    """Commands under one name; without one of them, what can be listed is, and `gateway mcp` serves. They end
    as others do when nobody reads their output any more."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_left_out = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if "list" in self.commands and is_left_out and not ctx.resilient_parsing:
            args = ["serve" if "serve" in self.commands else "list", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())  # what is left would be written at the end, and fail again
            sys.exit(BROKEN_PIPE)
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # rich makes that of it
                sys.exit(BROKEN_PIPE)
            raise


def _group(name: str, *commands: Callable[..., None]) -> typer.Typer:
    """Commands under one name; each is called like its function."""
    group = typer.Typer(
        name=name or "gateway",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help needs no rich, which would take a third of the time there is
        # typer parses an absent --help with pydantic unless it has a default, which would take all of it
        context_settings={"default_map": {"help": False}, "help_option_names": ["-h", "--help"]},
        epilog=_examples(name),
    )
    for command in commands:
        _add(group, name, command)
    return group


def _add(group: typer.Typer, of: str, command: Callable[..., None]) -> None:
    name = command.__name__.rstrip("_")
    group.command(name, epilog=_examples(f"{of} {name}".strip()))(command)


def _examples(path: str) -> str | None:
    """Lines that help shows as they are, which \\b says to click."""
    lines = EXAMPLES.get(path or "gateway")
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None
