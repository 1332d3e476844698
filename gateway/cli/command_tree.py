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
    from gateway.cli import prompt_commands as prompts
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
    from gateway.cli.contradiction_command import contradictions
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
            "List, rename, archive, share and delete sessions.",
            (sessions.list_, sessions.show, sessions.rename, sessions.archive, sessions.pin),
            (sessions.share, sessions.delete, export),
        ),
        "approvals": (
            "Decide on tool calls that wait for a person.",
            (approvals.list_, approvals.approve, approvals.deny),
        ),
        "schedules": (
            "Send messages at set times.",
            (schedules.list_, schedules.show, schedules.add, schedules.pause, schedules.resume),
            (schedules.run, schedules.delete),
        ),
        "keys": (
            "Create and revoke API keys.",
            (keys.list_, keys.create, keys.revoke),
        ),
        "projects": (
            "Manage projects and their members.",
            (projects.list_, projects.show, projects.create, projects.rename, projects.delete),
            (projects.add, projects.remove, projects.invitations, projects.accept, projects.decline),
        ),
        "users": (
            "Export or erase everything about a user.",
            (users.export, users.erase, users.erasure),
        ),
        "holds": (
            "Place and lift legal holds, which prevent deletion.",
            (users.list_, users.place, users.lift),
        ),
        "retention": (
            "Set when sessions are archived and deleted.",
            (users.show, users.set_, users.preview),
        ),
        "provider-keys": (
            "Set your own key for the model provider.",
            (provider_keys.show, provider_keys.set_, provider_keys.remove),
        ),
        "mcp": (
            "Serve the memory over MCP, sign in to MCP servers.",
            (mcp.serve, mcp_servers.list_, mcp_servers.login, mcp_servers.logout),
        ),
        "secrets": (
            "Manage the keys that encrypt stored data.",
            (secrets.generate, secrets.rotate, secrets.forget),
        ),
        "webhooks": (
            "Manage webhooks and their deliveries.",
            (webhooks.list_, webhooks.add, webhooks.test_, webhooks.enable, webhooks.disable),
            (webhooks.deliveries, webhooks.replay, webhooks.delete),
        ),
        "skills": (
            "List, check and create skills (SKILL.md files).",
            (skills.list_, skills.check, skills.new, skills.snapshot),
        ),
        "prompts": (
            "List the prompt's components, restore a version of one.",
            (prompts.list_, prompts.history, prompts.restore),
        ),
        "tools": ("List tools, run one on its own.", (tools.list_, tools.run)),
        "memory": (
            "List, search, edit and erase memories.",
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
            (profile, contradictions),
        ),
        "documents": (
            "Manage memories that are files.",
            (documents.list_, documents.check, documents.deprecate, documents.restore),
            (documents.update, documents.export, documents.import_, documents.migrate),
        ),
    }
    for name, (says, *commands) in groups.items():
        app.add_typer(_group(name, *(each for several in commands for each in several)), help=says)
    _add(app, "", completion)
    return app


SECTIONS = {
    "Run": ("dev", "serve", "doctor", "config", "completion"),
    "Chat": ("chat", "sessions", "replay", "export", "import", "approvals", "schedules"),
    "Memory and tools": ("memory", "documents", "prompts", "skills", "tools", "mcp", "eval"),
    "People and access": ("keys", "provider-keys", "projects", "users", "holds", "retention"),
    "Connect": ("webhooks", "slack"),
    "Data": ("backup", "restore", "migrate", "move", "secrets"),
}
"""The commands as help lists them, under what they are for."""


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
    """Commands under one name; without one of them, what can be listed is, `gateway mcp` serves, and others
    show their help. They end as others do when nobody reads their output any more."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """All commands of the gateway in their sections, those of one name in one list."""
        if ctx.parent is not None:
            super().format_commands(ctx, formatter)
            return
        width = max(map(len, self.commands))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                helps = [(name, self.commands[name].get_short_help_str(formatter.width)) for name in names]
                formatter.write_dl([(name.ljust(width), says) for name, says in helps])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and "list" not in self.commands and not ctx.resilient_parsing:
            args = ["--help"]
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
