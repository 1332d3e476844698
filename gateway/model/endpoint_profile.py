"""The form of requests that an endpoint takes: the API's version, the header of the key, with a temperature
or without, with a budget for thinking or without. What is set stays as it is set. What is not set follows
from the endpoint's refusal: the request is sent once more the other way, and the way that is answered counts
for the rest of the process. Pure: no SDK, no I/O.

Source: platform.claude.com "Migrating to API version 2026-10-21". Since that version the API takes no
sampling parameters, and the SDKs send the key as a bearer token; the API itself takes either header. And
"Thinking": since Claude Opus 4.7 models take no budget, they decide themselves how much to think.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from gateway.errors import ModelError
from gateway.settings import Settings

NEWEST_VERSION = "2026-10-21"
"""What the SDK sends by itself."""
OLDER_VERSION = "2023-06-01"

KeyHeader = Literal["bearer", "x-api-key"]
Thinking = Literal["enabled", "adaptive"]

MAX_MODELS = 1000
"""Models of which is remembered what they do not take."""

_NAMES_THE_KEY = re.compile(r"x-api-key|authorization|bearer", re.IGNORECASE)
_NAMES_THE_VERSION = re.compile(r"anthropic[-_ ]version", re.IGNORECASE)
_NAMES_SAMPLING = re.compile(r"\btemperature\b", re.IGNORECASE)
_NAMES_THINKING = re.compile(r"\bthinking\.type\b", re.IGNORECASE)


def takes_sampling(version: str | None) -> bool:
    """Whether a version of the API (None: the newest) takes temperature, top_p and top_k."""
    return (version or NEWEST_VERSION) < NEWEST_VERSION


def left_out(settings: Settings) -> str | None:
    """The settings that are not sent, in words for the operator."""
    if settings.temperature is None or takes_sampling(settings.model_api_version):
        return None
    return (
        f"GATEWAY_TEMPERATURE is not sent: version {settings.model_api_version or NEWEST_VERSION} of the API "
        "takes no sampling parameters. Remove it, or, where endpoint and model take one, set "
        f"GATEWAY_MODEL_API_VERSION={OLDER_VERSION}"
    )


def refuses_key(failure: ModelError) -> bool:
    """Whether a refusal is about the key or the header that it came in."""
    return failure.code == "upstream_auth" or (
        failure.refused and _NAMES_THE_KEY.search(failure.message) is not None
    )


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask; `temperature` is what is sent of it. `thinking` is how a model is asked to think that
    shall: "enabled", with a budget, or "adaptive", without; None where it shall not."""

    version: str
    key_header: KeyHeader
    temperature: float | None
    thinking: Thinking | None


class EndpointProfile:
    """The knowledge about one endpoint. `version` None and `key_header` "auto" are to be found out; `adapted`
    is given a sentence for the operator whenever something was."""

    def __init__(
        self,
        version: str | None,
        key_header: Literal["auto", "bearer", "x-api-key"],
        *,
        has_key: bool,
        adapted: Callable[[str], None],
    ) -> None:
        self._version_open = version is None
        self._key_open = has_key and key_header == "auto"
        self._version = version or NEWEST_VERSION
        self._key_header: KeyHeader = "bearer" if key_header == "auto" else key_header
        self._without_temperature: set[str] = set()
        self._without_budget: set[str] = set()
        self._adapted = adapted

    def way(self, model: str, temperature: float | None, *, thinks: bool) -> Way:
        """How to ask `model`, as far as is known, at `temperature`; whether it `thinks` before it answers."""
        if not takes_sampling(self._version) or model in self._without_temperature:
            temperature = None
        thinking: Thinking | None = None
        if thinks:
            thinking = "adaptive" if model in self._without_budget else "enabled"
        return Way(self._version, self._key_header, temperature, thinking)

    def other_way(self, way: Way, refusal: ModelError, temperature: float | None) -> Way | None:
        """How to ask once more; None: the refusal is about something that no other way would mend. Each part
        of a way changes once at most, so that asking ends."""
        if self._key_open and way.key_header == "bearer" and refuses_key(refusal):
            return replace(way, key_header="x-api-key")
        if not refusal.refused:
            return None
        if self._version_open and way.version != OLDER_VERSION and _NAMES_THE_VERSION.search(refusal.message):
            return replace(way, version=OLDER_VERSION, temperature=temperature)
        if way.temperature is not None and _NAMES_SAMPLING.search(refusal.message):
            return replace(way, temperature=None)
        if way.thinking == "enabled" and _NAMES_THINKING.search(refusal.message):
            return replace(way, thinking="adaptive")
        return None

    def answered(self, model: str, first: Way, way: Way) -> None:
        """Remembers what `way`, which was answered, has other than the `first` one, which was refused. From
        now on a refusal of the key is no question of its header."""
        self._key_open = False
        if way.key_header != first.key_header:
            self._key_header = way.key_header
            self._adapted("The model's endpoint wants the key as x-api-key: set GATEWAY_MODEL_AUTH=x-api-key")
        if way.version != first.version:
            self._version = way.version
            self._adapted(
                f"The model's endpoint wants version {way.version} of the API: "
                f"set GATEWAY_MODEL_API_VERSION={way.version}"
            )
        if way.temperature is None and first.temperature is not None:
            _remember(self._without_temperature, model)
            self._adapted(f"{model} takes no temperature: GATEWAY_TEMPERATURE is not sent to it")
        if way.thinking != first.thinking:
            _remember(self._without_budget, model)
            self._adapted(
                f"{model} decides itself how much it thinks: GATEWAY_THINKING_BUDGET is sent without a number"
            )


def _remember(models: set[str], model: str) -> None:
    if len(models) >= MAX_MODELS:
        models.clear()
    models.add(model)
