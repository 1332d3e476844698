"""A client of Chat Gateway for Python, without the server: `gateway.client` under a name of its own.

The wheel holds the sources of `gateway/client` as `chat_gateway_client.client`, and of `gateway/errors.py` as
`chat_gateway_client.errors`.
"""

from chat_gateway_client.client import (
    AsyncGatewayClient,
    Frame,
    FrameReader,
    GatewayClient,
    Unreachable,
    read_frames,
)
from chat_gateway_client.errors import GatewayError, NotAuthenticated, RequestRefused

__all__ = [
    "AsyncGatewayClient",
    "Frame",
    "FrameReader",
    "GatewayClient",
    "GatewayError",
    "NotAuthenticated",
    "RequestRefused",
    "Unreachable",
    "read_frames",
]
