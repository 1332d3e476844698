"""A client of a running gateway, for Python: the verbs of its HTTP API, and sessions that are followed over
as many connections as it takes.

    with GatewayClient("http://127.0.0.1:8000") as client:
        session = client.create_session()["id"]
        turn = client.start_turn(session, "What is 17*23?")
        for frame in client.follow_session(session, after=turn["seq"], turn_id=turn["turn_id"]):
            if frame.event == "text":
                print(frame.load()["data"]["text"], end="")

`AsyncGatewayClient` has the same verbs, awaited, and `async for`. `web/client` is the same in TypeScript.
"""

from .asynchronous import AsyncGatewayClient
from .frames import Frame, FrameReader, read_frames
from .request_failures import Unreachable
from .synchronous import GatewayClient

__all__ = ["AsyncGatewayClient", "Frame", "FrameReader", "GatewayClient", "Unreachable", "read_frames"]
