"""`gateway projects`: who shares sessions with whom, on a running gateway."""

from typing import Annotated, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

ProjectId = Annotated[str, typer.Argument(metavar="ID", help="As `gateway projects list` shows it.")]
User = Annotated[str, typer.Argument(help="The id of a user of your tenant, who need not have come yet.")]


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the projects that you are in."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.projects()
    rows = [(each["id"], each["name"], each["role"]) for each in found["projects"]]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Name", "You are"), rows)
    else:
        to_stderr(f"You are in no project at {url}.")


def show(project_id: ProjectId, *, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show a project and its members."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.project(project_id)
    if as_json:
        print_json(found)
        return
    to_stderr(f"{found['name']} ({found['id']})")
    rows = [(each["user"], each["role"]) for each in found["members"]]
    rows += [(each["user"], f"{each['role']}, invited") for each in found["invited"]]
    show_table(("User", "Role"), rows)


def create(
    name: Annotated[str, typer.Argument(help="A few words by which people know it.")],
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Make a project, of which you are the owner. Prints its id."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(client.create_project(name)["id"])


def rename(
    project_id: ProjectId,
    name: Annotated[str, typer.Argument(help="Its new name.")],
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Give a project another name."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.rename_project(project_id, name)
    print(f"{project_id} is called {name} now.")


def delete(project_id: ProjectId, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove a project. Sessions that were shared in it stay with their owners, and are private again."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.delete_project(project_id)
    print(f"{project_id} is deleted.")


def add(
    project_id: ProjectId,
    user: User,
    *,
    role: Annotated[Literal["owner", "editor", "reader"], typer.Option(help="What they may do.")] = "reader",
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Invite a user into a project, or give a member another role."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.put_member(project_id, user, role)
    print(f"{user} is {role} of {project_id}, if they are new once they accept.")


def invitations(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the projects that you are asked into."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.invitations()
    rows = [
        (each["project_id"], each["name"], each["role"], each["invited_by"]) for each in found["invitations"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Name", "As", "By"), rows)
    else:
        to_stderr(f"Nobody asks you into a project at {url}.")


def accept(project_id: ProjectId, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Become a member of a project that you are asked into."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.accept_invitation(project_id)
    print(f"You are {found['role']} of {found['name']}.")


def decline(project_id: ProjectId, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Say no to an invitation."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.decline_invitation(project_id)
    print(f"The invitation to {project_id} is gone.")


def remove(project_id: ProjectId, user: User, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove a user from a project, take an invitation back, or leave it yourself."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.remove_member(project_id, user)
    print(f"{user} is no member of {project_id} any more.")
