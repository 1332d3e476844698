"""Where to sign in to a server: what it says of itself (RFC 9728), and what its authorization server says of
itself (RFC 8414, OpenID Connect Discovery)."""

from dataclasses import dataclass

from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    get_client_metadata_scopes,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import ValidationError

from gateway.errors import McpSignInFailed
from gateway.settings.value_types import McpServer
from gateway.tools.mcp.oauth_requests import OAuthRequests

_MAX_SCOPE = 2000  # characters


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a server said when it asked for a token (`WWW-Authenticate`)."""

    resource_metadata: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class SignInPlace:
    """`resource` is what a token is asked for (RFC 8707), `scope` what it is to allow."""

    metadata: OAuthMetadata
    resource: str
    scope: str | None

    @property
    def issuer(self) -> str:
        return str(self.metadata.issuer)


async def discover(server: McpServer, requests: OAuthRequests, challenge: Challenge) -> SignInPlace:
    """Raises McpSignInFailed, of which NotAnswering."""
    url = server.url or ""
    resource = resource_url_from_server_url(url)
    described = await _resource(url, resource, requests, challenge)
    if described is not None:
        resource = str(described.resource)
    wanted = server.oauth.issuer if server.oauth is not None else None
    listed = [str(each) for each in described.authorization_servers] if described is not None else []
    chosen = next((each for each in listed if wanted is None or issuers_match(each, wanted)), wanted)
    metadata = await _metadata(chosen, url, requests)
    if wanted is not None and not issuers_match(str(metadata.issuer), wanted):
        raise McpSignInFailed(
            "The server leads to another authorization server than its setting oauth.issuer."
        )
    methods = metadata.code_challenge_methods_supported
    if methods is not None and "S256" not in methods:
        raise McpSignInFailed(
            "The authorization server does not take PKCE with S256, without which a code is not safe."
        )
    return SignInPlace(metadata, resource, _scope(server, challenge, described, metadata))


def _scope(
    server: McpServer,
    challenge: Challenge,
    described: ProtectedResourceMetadata | None,
    metadata: OAuthMetadata,
) -> str | None:
    """That of the settings, else by the MCP specification, "Scope Selection Strategy"."""
    if server.oauth is not None and server.oauth.scopes:
        return " ".join(server.oauth.scopes)
    found = get_client_metadata_scopes(
        challenge.scope, described, metadata, ["authorization_code", "refresh_token"]
    )
    return found[:_MAX_SCOPE] if found else None


async def _resource(
    url: str, resource: str, requests: OAuthRequests, challenge: Challenge
) -> ProtectedResourceMetadata | None:
    for place in build_protected_resource_metadata_discovery_urls(challenge.resource_metadata, url):
        answer = await requests.get(place)
        if answer.status >= 500 or answer.status == 429:
            raise McpSignInFailed(f"The server does not say where to sign in ({answer.words}).")
        if answer.status != 200:
            continue
        try:
            found = ProtectedResourceMetadata.model_validate(dict(answer.body))
        except ValidationError:
            continue
        if not check_resource_allowed(requested_resource=resource, configured_resource=str(found.resource)):
            raise McpSignInFailed("The server asks for a token of another resource (RFC 9728, 3.3).")
        return found
    return None


async def _metadata(issuer: str | None, url: str, requests: OAuthRequests) -> OAuthMetadata:
    """Of the server that the resource names; where it names none, of the server itself (MCP specification of
    2025-03-26)."""
    reason = ""
    for place in build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        answer = await requests.get(place)
        if answer.status != 200:
            reason = reason or answer.words
            if answer.status >= 500:
                break
            continue
        try:
            found = OAuthMetadata.model_validate(dict(answer.body))
        except ValidationError:
            reason = reason or "its metadata cannot be read"
            continue
        if issuer is not None and not issuers_match(str(found.issuer), issuer):
            raise McpSignInFailed("The authorization server's metadata names another issuer (RFC 8414, 3.3).")
        for endpoint in (found.authorization_endpoint, found.token_endpoint, found.registration_endpoint):
            if endpoint is not None:
                requests.check(str(endpoint))
        return found
    raise McpSignInFailed(f"The authorization server does not say how to sign in: {reason}.")
