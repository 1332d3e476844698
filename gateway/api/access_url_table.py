"""The routes of who may ask, and of whom they share with: stored keys, sign-in on the page, projects."""

from gateway.api import keys_routes as keys
from gateway.api import mcp_prompts_routes as mcp_prompts
from gateway.api import mcp_servers_routes as mcp_servers
from gateway.api import projects_routes as projects
from gateway.api import provider_keys_routes as provider_keys
from gateway.api import saved_prompts_routes as saved_prompts
from gateway.api import secrets_routes as secrets
from gateway.api import sign_in_routes as sign_in
from gateway.api.keys_routes import KeyBody, KeyList, KeysQuery, NewKey
from gateway.api.mcp_prompts_routes import FilledMcpPrompt, FillMcpPromptBody, McpPromptList
from gateway.api.mcp_servers_routes import (
    COME_BACK,
    BeginMcpSignInBody,
    BegunMcpSignIn,
    FinishMcpSignInBody,
    McpServerBody,
    McpServerList,
    McpServerRow,
    SignedInMcpServer,
)
from gateway.api.projects_routes import (
    InvitationList,
    ProjectBody,
    ProjectChanges,
    ProjectDetails,
    ProjectList,
    ProjectOrder,
    ProjectReply,
    RoleBody,
)
from gateway.api.provider_keys_routes import ProviderKeyBody, ProviderKeyReply
from gateway.api.saved_prompts_routes import (
    OwnSavedPromptBody,
    SavedPromptBody,
    SavedPromptEdits,
    SavedPromptList,
    SavedPromptReply,
)
from gateway.api.secrets_routes import RotateBody, RotationReply
from gateway.api.sign_in_routes import CALLBACK, CallbackQuery, SignedOut, SignInQuery
from gateway.auth.signed_in import SIGN_IN
from gateway.http.endpoint import Cost, Endpoint

KEYS = "/api/keys"
PROJECTS = "/api/projects"
PROJECT = PROJECTS + "/{project_id}"
MEMBER = PROJECT + "/members/{user}"
INVITATIONS = "/api/invitations"
SAVED_PROMPTS, TENANTS_SAVED_PROMPTS = "/api/saved-prompts", "/api/tenant/saved-prompts"
MCP_SERVERS, MCP_SIGN_INS = "/api/mcp/servers", "/api/mcp/sign-ins"
MCP_PROMPTS = "/api/mcp/prompts"
MCP_SIGN_IN = MCP_SERVERS + "/{name}/sign-in"
PROVIDER_KEY, TENANTS_PROVIDER_KEY = "/api/provider-key", "/api/tenant/provider-key"

ACCESS = (
    Endpoint(
        "POST",
        KEYS,
        "key.create",
        keys.create,
        {201: (NewKey,)},
        KeyBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "GET",
        KEYS,
        "key.list",
        keys.find,
        {200: (KeyList,)},
        query=KeysQuery,
        refusals=(403,),
        carries=("key.list_all",),
    ),
    Endpoint(
        "DELETE",
        KEYS + "/{key_id}",
        "key.revoke",
        keys.revoke,
        {204: (None,)},
        refusals=(404,),
    ),
    Endpoint(
        "GET", MCP_SERVERS, "mcp_server.list", mcp_servers.find, {200: (McpServerList,)}, refusals=(403,)
    ),
    Endpoint(
        "PUT",
        MCP_SERVERS + "/{name}",
        "mcp_server.put",
        mcp_servers.put,
        {200: (McpServerRow,)},
        McpServerBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "DELETE",
        MCP_SERVERS + "/{name}",
        "mcp_server.remove",
        mcp_servers.remove,
        {204: (None,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "POST",
        MCP_SIGN_IN,
        "mcp_server.sign_in",
        mcp_servers.begin,
        {200: (BegunMcpSignIn,)},
        BeginMcpSignInBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        MCP_SIGN_IN,
        "mcp_server.sign_out",
        mcp_servers.sign_out,
        {204: (None,)},
        refusals=(403, 404),
    ),
    Endpoint(
        "GET", MCP_PROMPTS, "mcp_prompt.list", mcp_prompts.find, {200: (McpPromptList,)}, cost=Cost("model")
    ),
    Endpoint(
        "POST",
        MCP_PROMPTS,
        "mcp_prompt.fill",
        mcp_prompts.fill,
        {200: (FilledMcpPrompt,)},
        FillMcpPromptBody,
        refusals=(404, 413, 502),
        cost=Cost("model"),
    ),
    Endpoint(
        "POST",
        MCP_SIGN_INS,
        "mcp_server.sign_in",
        mcp_servers.finish,
        {200: (SignedInMcpServer,)},
        FinishMcpSignInBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "GET",
        COME_BACK,
        "mcp_server.come_back",
        mcp_servers.come_back,
        {303: (None,), 409: ("text/html",)},
        query=CallbackQuery,
        refusals=(403,),
    ),
    Endpoint("GET", PROVIDER_KEY, "provider_key.read", provider_keys.show_own, {200: (ProviderKeyReply,)}),
    Endpoint(
        "PUT",
        PROVIDER_KEY,
        "provider_key.set",
        provider_keys.put_own,
        {200: (ProviderKeyReply,)},
        ProviderKeyBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "DELETE",
        PROVIDER_KEY,
        "provider_key.remove",
        provider_keys.remove_own,
        {204: (None,)},
    ),
    Endpoint(
        "GET",
        TENANTS_PROVIDER_KEY,
        "tenant_provider_key.read",
        provider_keys.show_tenants,
        {200: (ProviderKeyReply,)},
        refusals=(403,),
    ),
    Endpoint(
        "PUT",
        TENANTS_PROVIDER_KEY,
        "tenant_provider_key.set",
        provider_keys.put_tenants,
        {200: (ProviderKeyReply,)},
        ProviderKeyBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "DELETE",
        TENANTS_PROVIDER_KEY,
        "tenant_provider_key.remove",
        provider_keys.remove_tenants,
        {204: (None,)},
        refusals=(403,),
    ),
    Endpoint(
        "POST",
        "/api/secrets/rotate",
        "secret.rotate",
        secrets.rotate,
        {200: (RotationReply,)},
        RotateBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "GET",
        SIGN_IN,
        "sign_in.begin",
        sign_in.begin,
        {303: (None,)},
        query=SignInQuery,
        refusals=(401, 403, 404, 503),
    ),
    Endpoint(
        "GET",
        CALLBACK,
        "sign_in.create",
        sign_in.finish,
        {303: (None,)},
        query=CallbackQuery,
        refusals=(401, 403, 404, 503),
    ),
    Endpoint(
        "POST",
        "/auth/keep-key",
        "sign_in.keep",
        sign_in.keep,
        {204: (None,)},
        refusals=(403,),
    ),
    Endpoint(
        "POST",
        "/auth/sign-out",
        "sign_in.end",
        sign_in.end,
        {200: (SignedOut,)},
        refusals=(403, 404),
    ),
    Endpoint(
        "POST",
        PROJECTS,
        "project.create",
        projects.create,
        {201: (ProjectReply,)},
        ProjectBody,
        refusals=(409, 413),
    ),
    Endpoint("GET", PROJECTS, "project.list", projects.find, {200: (ProjectList,)}),
    Endpoint(
        "PUT",
        PROJECTS + "/order",
        "project.arrange",
        projects.arrange,
        {200: (ProjectList,)},
        ProjectOrder,
        refusals=(413,),
    ),
    Endpoint("GET", PROJECT, "project.read", projects.read, {200: (ProjectDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        PROJECT,
        "project.rename",
        projects.change,
        {200: (ProjectReply,)},
        ProjectChanges,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        PROJECT,
        "project.delete",
        projects.delete,
        {204: (None,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "PUT",
        MEMBER,
        "project.put_member",
        projects.put_member,
        {204: (None,)},
        RoleBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        MEMBER,
        "project.remove_member",
        projects.remove_member,
        {204: (None,)},
        refusals=(403, 404, 409),
    ),
    Endpoint("GET", SAVED_PROMPTS, "saved_prompt.list", saved_prompts.find, {200: (SavedPromptList,)}),
    Endpoint(
        "POST",
        SAVED_PROMPTS,
        "saved_prompt.create",
        saved_prompts.create,
        {201: (SavedPromptReply,)},
        OwnSavedPromptBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "PATCH",
        SAVED_PROMPTS + "/{saved_prompt_id}",
        "saved_prompt.change",
        saved_prompts.change,
        {200: (SavedPromptReply,)},
        SavedPromptEdits,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        SAVED_PROMPTS + "/{saved_prompt_id}",
        "saved_prompt.delete",
        saved_prompts.delete,
        {204: (None,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "POST",
        TENANTS_SAVED_PROMPTS,
        "tenant_saved_prompt.create",
        saved_prompts.create_for_all,
        {201: (SavedPromptReply,)},
        SavedPromptBody,
        refusals=(403, 409, 413),
    ),
    Endpoint(
        "PATCH",
        TENANTS_SAVED_PROMPTS + "/{shared_prompt_id}",
        "tenant_saved_prompt.change",
        saved_prompts.change_for_all,
        {200: (SavedPromptReply,)},
        SavedPromptEdits,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint(
        "DELETE",
        TENANTS_SAVED_PROMPTS + "/{shared_prompt_id}",
        "tenant_saved_prompt.delete",
        saved_prompts.delete_for_all,
        {204: (None,)},
        refusals=(403, 404, 409),
    ),
    Endpoint(
        "GET", INVITATIONS, "project.list_invitations", projects.find_invitations, {200: (InvitationList,)}
    ),
    Endpoint(
        "POST",
        INVITATIONS + "/{project_id}/accept",
        "project.accept",
        projects.accept,
        {200: (ProjectReply,)},
        refusals=(404,),
    ),
    Endpoint(
        "DELETE",
        INVITATIONS + "/{project_id}",
        "project.decline",
        projects.decline,
        {204: (None,)},
        refusals=(404,),
    ),
)
