"""The routes of who may ask, and of whom they share with: stored keys, sign-in on the page, projects."""

from gateway.api import keys_routes as keys
from gateway.api import projects_routes as projects
from gateway.api import provider_keys_routes as provider_keys
from gateway.api import secrets_routes as secrets
from gateway.api import sign_in_routes as sign_in
from gateway.api.keys_routes import KeyBody, KeyList, KeysQuery, NewKey
from gateway.api.projects_routes import (
    ProjectBody,
    ProjectChanges,
    ProjectDetails,
    ProjectList,
    ProjectReply,
    RoleBody,
)
from gateway.api.provider_keys_routes import ProviderKeyBody, ProviderKeyReply
from gateway.api.secrets_routes import RotateBody, RotationReply
from gateway.api.sign_in_routes import CALLBACK, CallbackQuery, SignedOut, SignInQuery
from gateway.auth.signed_in import SIGN_IN
from gateway.http.endpoint import OPEN, Endpoint

KEYS = "/api/keys"
PROJECTS = "/api/projects"
PROJECT = PROJECTS + "/{project_id}"
MEMBER = PROJECT + "/members/{user}"
PROVIDER_KEY, TENANTS_PROVIDER_KEY = "/api/provider-key", "/api/tenant/provider-key"

ACCESS = (
    Endpoint(
        "POST",
        KEYS,
        "chat",
        keys.create,
        {201: (NewKey,)},
        KeyBody,
        refusals=(403, 409, 413),
        action="key.create",
    ),
    Endpoint("GET", KEYS, "read", keys.find, {200: (KeyList,)}, query=KeysQuery, refusals=(403,)),
    Endpoint(
        "DELETE",
        KEYS + "/{key_id}",
        "chat",
        keys.revoke,
        {204: (None,)},
        refusals=(404,),
        action="key.revoke",
    ),
    Endpoint("GET", PROVIDER_KEY, "read", provider_keys.show_own, {200: (ProviderKeyReply,)}),
    Endpoint(
        "PUT",
        PROVIDER_KEY,
        "chat",
        provider_keys.put_own,
        {200: (ProviderKeyReply,)},
        ProviderKeyBody,
        refusals=(403, 409, 413),
        action="provider_key.set",
    ),
    Endpoint(
        "DELETE",
        PROVIDER_KEY,
        "chat",
        provider_keys.remove_own,
        {204: (None,)},
        action="provider_key.remove",
    ),
    Endpoint(
        "GET",
        TENANTS_PROVIDER_KEY,
        "admin",
        provider_keys.show_tenants,
        {200: (ProviderKeyReply,)},
        refusals=(403,),
    ),
    Endpoint(
        "PUT",
        TENANTS_PROVIDER_KEY,
        "admin",
        provider_keys.put_tenants,
        {200: (ProviderKeyReply,)},
        ProviderKeyBody,
        refusals=(403, 409, 413),
        action="provider_key.set",
    ),
    Endpoint(
        "DELETE",
        TENANTS_PROVIDER_KEY,
        "admin",
        provider_keys.remove_tenants,
        {204: (None,)},
        refusals=(403,),
        action="provider_key.remove",
    ),
    Endpoint(
        "POST",
        "/api/secrets/rotate",
        "admin",
        secrets.rotate,
        {200: (RotationReply,)},
        RotateBody,
        refusals=(403, 409, 413),
        action="secret.rotate",
    ),
    Endpoint(
        "GET", SIGN_IN, OPEN, sign_in.begin, {303: (None,)}, query=SignInQuery, refusals=(401, 403, 404, 503)
    ),
    Endpoint(
        "GET",
        CALLBACK,
        OPEN,
        sign_in.finish,
        {303: (None,)},
        query=CallbackQuery,
        refusals=(401, 403, 404, 503),
        action="sign_in.create",
    ),
    Endpoint(
        "POST",
        "/auth/sign-out",
        "read",
        sign_in.end,
        {200: (SignedOut,)},
        refusals=(403, 404),
        action="sign_in.end",
    ),
    Endpoint(
        "POST",
        PROJECTS,
        "chat",
        projects.create,
        {201: (ProjectReply,)},
        ProjectBody,
        refusals=(409, 413),
        action="project.create",
    ),
    Endpoint("GET", PROJECTS, "read", projects.find, {200: (ProjectList,)}),
    Endpoint("GET", PROJECT, "read", projects.read, {200: (ProjectDetails,)}, refusals=(404,)),
    Endpoint(
        "PATCH",
        PROJECT,
        "chat",
        projects.rename,
        {200: (ProjectReply,)},
        ProjectChanges,
        refusals=(403, 404, 413),
        action="project.rename",
    ),
    Endpoint(
        "DELETE",
        PROJECT,
        "chat",
        projects.delete,
        {204: (None,)},
        refusals=(403, 404, 409),
        action="project.delete",
    ),
    Endpoint(
        "PUT",
        MEMBER,
        "chat",
        projects.put_member,
        {204: (None,)},
        RoleBody,
        refusals=(403, 404, 409, 413),
        action="project.put_member",
    ),
    Endpoint(
        "DELETE",
        MEMBER,
        "chat",
        projects.remove_member,
        {204: (None,)},
        refusals=(403, 404, 409),
        action="project.remove_member",
    ),
)
