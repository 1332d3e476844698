"""`gateway memory profile`: the few facts that stand in every prompt of a user or a household."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.memory_options import User, Version
from gateway.cli.options import AsJson

if TYPE_CHECKING:
    from gateway.cli.memory_context import MemoryContext
    from gateway.storage.memories import Profile


def profile(
    *,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A fact from now on; may be given several times."),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A fact no more; may be given several times.")
    ] = None,
    household: Annotated[str | None, typer.Option(help="That of a household of theirs.")] = None,
    version: Version = None,
    user: User = "local",
    as_json: AsJson = False,
) -> None:
    """Show the profile of a user, or of a household of theirs, and change it."""
    from gateway.cli.open_memory import in_context

    facts = dict(_fact(each) for each in set_ or ())
    gone = set(remove or ())
    if both := gone & facts.keys():
        raise typer.BadParameter(f"{', '.join(sorted(both))}: set or removed, not both.")

    async def work(context: "MemoryContext") -> "Profile":
        profiles, scope = context.services.profiles, context.scope
        named = ("household", household) if household else ("user", user)
        known = await profiles.get(scope, *named)
        if not facts and not gone:
            return known
        if unknown := gone - known.fields.keys():
            raise typer.BadParameter(f"{', '.join(sorted(unknown))}: not in the profile.")
        fields = {name: value for name, value in known.fields.items() if name not in gone} | facts
        # At the version that was read, so that no change of others is overwritten.
        return await profiles.put(scope, *named, fields, user, version=version or known.version)

    _show(in_context(user, work, makes=bool(facts)), as_json=as_json)


def _fact(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise typer.BadParameter(f"--set takes NAME=VALUE, not {given[:100]}.")
    return name.strip(), value.strip()


def _show(found: "Profile", *, as_json: bool) -> None:
    from gateway.api.profiles_routes import ProfileReply
    from gateway.cli.terminal import show_table, to_stderr

    if as_json:
        print(ProfileReply.of(found).model_dump_json(exclude_none=True, indent=2))
    elif not found.fields:
        to_stderr(f"The profile of {found.kind} {found.id} is empty: --set NAME=VALUE puts something in it.")
    else:
        show_table(("Name", "Value"), sorted(found.fields.items()))
        to_stderr(f"The profile of {found.kind} {found.id}, version {found.version}.")
