"""The catalogue of faults: what can go wrong between a client and a model, by name.

docs/demo.md says of each what happens, and what a client must make of it. Not here, because a server that
listens cannot play them: a refused connection (use a closed port), a name that does not resolve, and a failed
TLS handshake (say https:// to the demo).
"""

from gateway.demo.faults import events, transport
from gateway.demo.faults.case import Case, Play

FOR_ALL_REQUESTS = transport.FOR_ALL_REQUESTS
FOR_STREAMS = {**transport.FOR_STREAMS, **events.FOR_STREAMS}
"""Refused for a request that does not stream."""

__all__ = ["FOR_ALL_REQUESTS", "FOR_STREAMS", "Case", "Play"]
