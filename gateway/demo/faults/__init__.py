"""The catalogue of faults: what can go wrong between a client and a model, by name.

Not here, because a server that listens cannot play them: a refused connection (use a closed port), a name
that does not resolve, and a failed TLS handshake (say https:// to the demo).
"""

from gateway.demo.faults import content, framing, order, sockets, statuses
from gateway.demo.faults.case import Case, Fault

ALL = (*statuses.FAULTS, *sockets.FAULTS, *framing.FAULTS, *order.FAULTS, *content.FAULTS)
CATALOGUE: dict[str, Fault] = {fault.name: fault for fault in ALL}
"""Every fault by its name."""

__all__ = ["CATALOGUE", "Case", "Fault"]
