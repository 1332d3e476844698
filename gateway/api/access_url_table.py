"""The routes of who may ask: stored keys."""

from gateway.api import keys_routes as keys
from gateway.api.keys_routes import KeyBody, KeyList, KeysQuery, NewKey
from gateway.http.endpoint import Endpoint

KEYS = "/api/keys"

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
)
