"""Projects and their members."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from starlette.responses import Response

from gateway.api.session_bodies import Instructions
from gateway.auth import user_of
from gateway.errors import InvalidRequest
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Id, Line, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.ids import is_user
from gateway.service.projects import MAX_PROJECTS
from gateway.storage.projects import Invitation, Member, Membership, Project, member_handle
from gateway.storage.sessions.access import ProjectRole

Name = Annotated[Line, Field(max_length=100)]
Kind = Annotated[Literal["project"], Field(description="Of all. Clients of earlier versions read it.")]


class ProjectBody(Body):
    """A project to make. You are its first owner."""

    name: Name
    kind: Literal["project", "household"] | None = Field(
        None, description="Without effect. It is taken from clients of earlier versions."
    )


class ProjectChanges(Body):
    """What changes of a project; what is absent stays."""

    name: Name | None = None
    instructions: Instructions | None = Field(
        None,
        description="With which sessions begin that are made in it without any of their own. Empty: none.",
    )

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.name is None and self.instructions is None:
            raise ValueError("must have name or instructions")
        return self


class ProjectOrder(Body):
    """Your projects in the order of your list."""

    projects: list[Id] = Field(max_length=MAX_PROJECTS, description="Their ids; others come behind them.")


class RoleBody(Body):
    role: ProjectRole


class ProjectReply(Reply):
    """A project that you are in."""

    id: str
    kind: Kind = "project"
    name: str
    role: Literal["owner", "editor", "reader"] = Field(description="Yours.")
    created_by: str = Field(description="The user who made it.")
    created_at: int
    instructions: str | None = Field(
        None, description="With which sessions begin that are made in it; absent: with none."
    )

    @classmethod
    def of(cls, found: Membership) -> "ProjectReply":
        project = found.project
        return cls(
            id=project.id,
            name=project.name,
            role=found.role,
            created_by=user_of(project.created_by),
            created_at=project.created_at,
            instructions=project.instructions,
        )


class MemberReply(Reply):
    user: str
    handle: str = Field(description="What stands for them in events of the project's shared sessions (`by`).")
    role: Literal["owner", "editor", "reader"]
    added_by: str
    added_at: int

    @classmethod
    def of(cls, member: Member) -> "MemberReply":
        return cls(
            user=user_of(member.user_id),
            handle=member_handle(member.project_id, member.user_id),
            role=member.role,
            added_by=user_of(member.added_by),
            added_at=member.added_at,
        )


class InvitedReply(Reply):
    """Who was asked in and has not answered yet."""

    user: str
    role: Literal["owner", "editor", "reader"]
    invited_by: str
    invited_at: int


class InvitationReply(Reply):
    """A project that you are asked into. Nothing of it is yours before you accept."""

    project_id: str
    kind: Kind = "project"
    name: str
    role: Literal["owner", "editor", "reader"] = Field(description="That you would have.")
    invited_by: str = Field(description="The user who asks.")
    invited_at: int

    @classmethod
    def of(cls, project: Project, asked: Invitation) -> "InvitationReply":
        return cls(
            project_id=project.id,
            name=project.name,
            role=asked.role,
            invited_by=user_of(asked.invited_by),
            invited_at=asked.invited_at,
        )


class InvitationList(Reply):
    """The oldest first, at most 200."""

    invitations: list[InvitationReply]


class ProjectList(Reply):
    """In the order that you gave them, then the oldest first."""

    projects: list[ProjectReply]


class ProjectDetails(ProjectReply):
    """With all its members, those that were added first in front."""

    members: list[MemberReply]
    invited: list[InvitedReply] = Field(description="Who has not answered yet, the oldest first.")


@endpoint("POST", "/api/projects", "project.create", {201: (ProjectReply,)}, ProjectBody, refusals=(409, 413))
async def create(request: ApiRequest) -> Response:
    """Makes a project, of which you are the owner."""
    asked, projects = await request.read_body(ProjectBody), request.gateway.projects
    project = await projects.create(request.principal, asked.name)
    request.concerns("project", project.id)
    made = ProjectReply.of(Membership(project, "owner"))
    return json_reply(made, 201, headers={"location": f"/api/projects/{project.id}"})


@endpoint("GET", "/api/projects", "project.list", {200: (ProjectList,)})
async def find(request: ApiRequest) -> Response:
    """The projects that you are in."""
    found = await request.gateway.projects.list(request.principal)
    return json_reply(ProjectList(projects=[ProjectReply.of(each) for each in found]))


@endpoint("GET", "/api/projects/{project_id}", "project.read", {200: (ProjectDetails,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """A project that you are in, and its members."""
    projects, project_id = request.gateway.projects, request.path_id("project_id")
    found = ProjectReply.of(await projects.get(request.principal, project_id))
    members = await projects.members(request.principal, project_id)
    invited = [
        InvitedReply(
            user=user_of(each.user_id),
            role=each.role,
            invited_by=user_of(each.invited_by),
            invited_at=each.invited_at,
        )
        for each in await projects.invited(request.principal, project_id)
    ]
    shown = [MemberReply.of(each) for each in members]
    return json_reply(ProjectDetails(**found.model_dump(), members=shown, invited=invited))


@endpoint(
    "PATCH",
    "/api/projects/{project_id}",
    "project.rename",
    {200: (ProjectReply,)},
    ProjectChanges,
    refusals=(403, 404, 409, 413),
)
async def change(request: ApiRequest) -> Response:
    """Gives a project another name, or other instructions for the sessions that are made in it; for its
    owners."""
    asked = await request.read_body(ProjectChanges)
    project = await request.gateway.projects.change(
        request.principal, request.path_id("project_id"), name=asked.name, instructions=asked.instructions
    )
    return json_reply(ProjectReply.of(Membership(project, "owner")))


@endpoint(
    "PUT", "/api/projects/order", "project.arrange", {200: (ProjectList,)}, ProjectOrder, refusals=(413,)
)
async def arrange(request: ApiRequest) -> Response:
    """Puts your projects in an order, which is yours alone."""
    asked = await request.read_body(ProjectOrder)
    found = await request.gateway.projects.arrange(request.principal, asked.projects)
    return json_reply(ProjectList(projects=[ProjectReply.of(each) for each in found]))


@endpoint("DELETE", "/api/projects/{project_id}", "project.delete", {204: (None,)}, refusals=(403, 404, 409))
async def delete(request: ApiRequest) -> Response:
    """Removes a project with what it remembers; for its owners. Sessions that were shared in it stay with
    their owners, and are private again."""
    await request.gateway.projects.delete(request.principal, request.path_id("project_id"))
    return Response(status_code=204)


@endpoint(
    "PUT",
    "/api/projects/{project_id}/members/{user}",
    "project.put_member",
    {204: (None,)},
    RoleBody,
    refusals=(403, 404, 409, 413),
)
async def put_member(request: ApiRequest) -> Response:
    """Invites a user of your tenant, who need not have come yet, or gives a member another role; for owners.
    Who is invited is a member once they accept."""
    asked = await request.read_body(RoleBody)
    await request.gateway.projects.put_member(request.principal, *_member(request), asked.role)
    return Response(status_code=204)


@endpoint(
    "DELETE",
    "/api/projects/{project_id}/members/{user}",
    "project.remove_member",
    {204: (None,)},
    refusals=(403, 404, 409),
)
async def remove_member(request: ApiRequest) -> Response:
    """Removes a member, or takes an invitation back; owners remove anybody, and everybody may leave. Their
    streams of its sessions end, and what they shared is private again."""
    await request.gateway.projects.remove_member(request.principal, *_member(request))
    return Response(status_code=204)


@endpoint("GET", "/api/invitations", "project.list_invitations", {200: (InvitationList,)})
async def find_invitations(request: ApiRequest) -> Response:
    """The projects that you are asked into."""
    found = await request.gateway.projects.invitations(request.principal)
    return json_reply(InvitationList(invitations=[InvitationReply.of(*each) for each in found]))


@endpoint(
    "POST", "/api/invitations/{project_id}/accept", "project.accept", {200: (ProjectReply,)}, refusals=(404,)
)
async def accept(request: ApiRequest) -> Response:
    """Makes you a member of a project that you are asked into."""
    found = await request.gateway.projects.accept(request.principal, request.path_id("project_id"))
    return json_reply(ProjectReply.of(found))


@endpoint("DELETE", "/api/invitations/{project_id}", "project.decline", {204: (None,)}, refusals=(404,))
async def decline(request: ApiRequest) -> Response:
    """Takes an invitation away, as if there had been none."""
    await request.gateway.projects.decline(request.principal, request.path_id("project_id"))
    return Response(status_code=204)


def _member(request: ApiRequest) -> tuple[str, str]:
    """The project and the user of the path, told to the audit."""
    project_id, user = request.path_id("project_id"), request.path_text("user")
    if not is_user(user):
        raise InvalidRequest("user must be the id of a user: 1 to 160 letters, digits, '_', '.' or '-'.")
    request.concerns("member", f"{project_id}/{user}")
    return project_id, user
