"""What a browser asks for beside the API: the page, its files and name, and what makes it an app."""

import asyncio
import html
import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import Scope

from gateway.artifacts.kinds.images import image_size
from gateway.artifacts.kinds.magic import format_of
from gateway.errors import SettingsError
from gateway.http.conditional_requests import is_known
from gateway.http.middleware import CONTENT_POLICY
from gateway.settings import Settings

BUILT = Path(__file__).parent / "ui"
UNBUILT = (
    "The page is not built: `make page` does it, with npm's packages. The API works: see /openapi.json.\n"
)
OPEN_PATHS = ("/", "/assets/", "/logo", "/manifest.webmanifest", "/preview.html", "/service-worker.js")
"""The paths of this module; those that end in a slash are prefixes. Nobody is asked who they are."""
MAX_LOGO_SIZE = 524_288
"""Bytes of a logo: it is kept in memory, and sent to everybody who opens the page."""
MIN_ICON_PIXELS = 144
"""Of the image of an app that can be installed, in each direction (Chrome's own bound)."""
LOGO_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""A logo runs nothing and loads nothing, also where somebody opens its address by itself."""
PREVIEW_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; media-src data: blob:; font-src data:; frame-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
"""The frame in which the page shows what a model wrote: its scripts run, in an origin of their own that has
no cookies and no storage, and reach nothing. `frame-src` keeps what is shown from leaving for elsewhere."""
_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_NAME = b"Chat Gateway"
_ICON = re.compile(rb'<link rel="icon"[^>]*>')
_SETTINGS = b'<meta name="page-settings" content="">'
_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp"})
_SVG = re.compile(  # possessive: whatever a file begins with is looked at once
    rb"\s*+(<\?xml[^>]*+>\s*+)?((?>(<!--.*?-->|<!DOCTYPE svg[^>\[]*+>)\s*+))*+<svg[\s>]", re.DOTALL
)
_SVG_HEAD = 4096  # bytes within which the drawing begins


class PageFiles:
    """The page as one gateway serves it, below whatever prefix a proxy gives it."""

    def __init__(self, settings: Settings) -> None:
        """Raises SettingsError: the logo cannot be read, is too large, or of no kind that is known."""
        self._settings = settings
        self._logo = read_logo(settings.page_logo) if settings.page_logo is not None else None

    def routes(self) -> tuple[BaseRoute, ...]:
        """Those of OPEN_PATHS."""
        return (
            Route("/", self._document),
            Route("/logo", self._logo_file),
            Route("/manifest.webmanifest", self._manifest),
            Route("/preview.html", self._preview),
            Route("/service-worker.js", self._service_worker),
            Mount("/assets", _Assets(directory=BUILT / "assets", check_dir=False)),
        )

    async def _document(self, request: Request) -> Response:
        """Asked for again each time, by its content: two builds differ in names of equal length."""
        return await _built(request, "index.html", "text/html", self._named, page_policy)

    async def _logo_file(self, request: Request) -> Response:
        if self._logo is None:
            return PlainTextResponse("This gateway has no logo of its own.\n", 404)
        content, mime = self._logo
        return _lasting(request, content, mime, {"content-security-policy": LOGO_POLICY})

    async def _manifest(self, request: Request) -> Response:
        return _lasting(request, orjson.dumps(self.manifest()), "application/manifest+json")

    async def _preview(self, request: Request) -> Response:
        return await _built(request, "preview.html", "text/html", policy=lambda _: PREVIEW_POLICY)

    async def _service_worker(self, request: Request) -> Response:
        return await _built(request, "service-worker.js", "text/javascript")

    def about(self) -> dict[str, Any]:
        """What the page is told of itself (`web/app/page-settings.ts`)."""
        settings = self._settings
        return {
            "name": settings.page_name,
            "logo": self._logo is not None,
            "greeting": settings.page_greeting,
            "suggestions": settings.page_suggestions,
            "developer": settings.page_developer == "on",
        }

    def manifest(self) -> dict[str, Any]:
        """The description of the page as an app (W3C Web Application Manifest)."""
        name = self._settings.page_name
        return {
            "id": "./",
            "name": name,
            "short_name": name,
            "start_url": "./",
            "scope": "./",
            "display": "standalone",
            "background_color": "#faf9f6",
            "theme_color": "#faf9f6",
            "icons": self._icons(),
        }

    def _icons(self) -> list[dict[str, str]]:
        """The logo; beside one that is too small for an app, or absent, the page's own."""
        own = [
            {"src": "./assets/app-icon-192.png", "sizes": "192x192", "type": "image/png"},
            {"src": "./assets/app-icon-512.png", "sizes": "512x512", "type": "image/png"},
            {
                "src": "./assets/app-icon-maskable-512.png",
                "sizes": "512x512",
                "type": "image/png",
                "purpose": "maskable",
            },
        ]
        if self._logo is None:
            return own
        content, mime = self._logo
        size = image_size(content)
        logo = {"src": "./logo", "sizes": "any" if size is None else f"{size[0]}x{size[1]}", "type": mime}
        is_enough = size is None or min(size) >= MIN_ICON_PIXELS
        return [logo] if is_enough else [logo, *own]

    def _named(self, page: bytes) -> bytes:
        """The built page with this gateway's name, its icon and what it is told of itself."""
        name = html.escape(self._settings.page_name).encode()
        told = html.escape(orjson.dumps(self.about()).decode()).encode()
        page = page.replace(_NAME, name)
        if self._logo is not None:
            page = _ICON.sub(b'<link rel="icon" href="./logo">', page)
        return page.replace(_SETTINGS, b'<meta name="page-settings" content="%s">' % told)


def read_logo(path: Path) -> tuple[bytes, str]:
    """The logo and its media type, which its bytes say.

    Raises:
        SettingsError: it cannot be read, is larger than MAX_LOGO_SIZE, or no PNG, JPEG, WebP or SVG.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_LOGO_SIZE + 1)
    except OSError as error:
        raise SettingsError(f"GATEWAY_PAGE_LOGO is {path}, which cannot be read: {error.strerror}.") from None
    if len(content) > MAX_LOGO_SIZE:
        raise SettingsError(f"GATEWAY_PAGE_LOGO is {path}, which is larger than {MAX_LOGO_SIZE:,} bytes.")
    mime = format_of(content).mime
    if mime in _PICTURES and image_size(content) is not None:
        return content, mime
    if _SVG.match(content[:_SVG_HEAD].removeprefix(b"\xef\xbb\xbf")):
        return content, "image/svg+xml"
    raise SettingsError(f"GATEWAY_PAGE_LOGO is {path}, which is no PNG, JPEG, WebP or SVG.")


class _Assets(StaticFiles):
    """The page's files: each name has a hash of the content in it, so that a browser keeps them."""

    async def check_config(self) -> None:
        """Without a build there are none, and that is no fault."""

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Compressed by the build, where a browser takes it so and no proxy has to."""
        packed = Path(f"{full_path}.gz")
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and packed.is_file():
            response = super().file_response(packed, packed.stat(), scope, status_code)
            response.headers["content-encoding"] = "gzip"
            response.headers["content-type"] = f"{guess_type(full_path)[0]}; charset=utf-8"
        else:
            response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(
            {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        )
        return response


async def _built(
    request: Request,
    name: str,
    mime: str,
    made: Callable[[bytes], bytes] | None = None,
    policy: Callable[[bytes], str] | None = None,
) -> Response:
    """A file of the build, or what `made` makes of it; under a policy of its own, which `policy` makes of the
    file as it was built."""
    try:
        content = await asyncio.to_thread((BUILT / name).read_bytes)
    except FileNotFoundError:
        return PlainTextResponse(UNBUILT, 404)
    about = {} if policy is None else {"content-security-policy": policy(content)}
    return _lasting(request, content if made is None else made(content), f"{mime}; charset=utf-8", about)


def page_policy(page: bytes) -> str:
    """CONTENT_POLICY which also allows the scripts that stand in the page itself, each by its hash (CSP 3,
    2.3.1)."""
    digests = (b64encode(sha256(script).digest()).decode() for script in _INLINE.findall(page))
    allowed = " ".join(["script-src 'self'", *(f"'sha256-{digest}'" for digest in digests)])
    return CONTENT_POLICY.replace("script-src 'self'", allowed)


def _lasting(
    request: Request, content: bytes, mime: str, about: Mapping[str, str] = MappingProxyType({})
) -> Response:
    """What a browser may keep and asks about again, by its content."""
    etag = f'"{sha256(content).hexdigest()[:32]}"'
    headers = {"cache-control": "no-cache", "etag": etag, **about}
    if is_known(request.headers, etag):
        return Response(status_code=304, headers=headers)
    return Response(content, 200, headers, mime)
