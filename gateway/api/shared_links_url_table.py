"""The routes of links to chats."""

from gateway.api import shared_links_routes as links
from gateway.api.shared_links_routes import HTML, PAGES, LinkBody, LinkList, NewLink, OpenLinkBody
from gateway.http.endpoint import Cost, Endpoint

LINKS = "/api/links"

SHARED_LINKS = (
    Endpoint(
        "POST",
        LINKS,
        "link.create",
        links.create,
        {201: (NewLink,)},
        LinkBody,
        refusals=(403, 404, 409, 413),
    ),
    Endpoint("GET", LINKS, "link.list", links.find, {200: (LinkList,)}),
    Endpoint("DELETE", LINKS + "/{link_id}", "link.end", links.end, {204: (None,)}, refusals=(404,)),
    Endpoint(
        "POST", LINKS + "/open", "link.open", links.open_, {204: (None,)}, OpenLinkBody, refusals=(404, 413)
    ),
    Endpoint(
        "GET",
        PAGES,
        "link.read",
        links.read,
        {200: (HTML,), 303: (None,)},
        refusals=(404,),
        cost=Cost("copy"),
    ),
)
