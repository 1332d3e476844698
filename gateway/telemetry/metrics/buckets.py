"""The bounds of histograms, as the semantic conventions for generative AI and HTTP advise them."""

from typing import Final

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
AGENT_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
TOKENS: Final = tuple(4.0**power for power in range(14))
COUNTS: Final = tuple(2.0**power for power in range(8))
REQUEST_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
"""Of HTTP requests (semantic conventions for HTTP metrics)."""
SHORT_SECONDS: Final = (0.001, 0.002, 0.004, *SECONDS)
"""For what happens inside the gateway, which takes a millisecond or less unless something is wrong."""

SIZES: Final = tuple(1024.0 * 4**power for power in range(9))
"""Bytes, from 1 KiB to 64 MiB."""

APPROVAL_SECONDS: Final = (1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 8 * 3600, 86_400)
"""From who looks at the page just now to who looks the next day."""
