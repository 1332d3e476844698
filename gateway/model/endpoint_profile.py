"""The form of requests that an endpoint takes: the API's version, the header of the key, and the parts of a
body that not all take: sampling parameters, stop sequences, cache points, a budget for thinking. What is set
stays as it is set. What is not set follows from the endpoint's refusal: the request is sent once more the
other way, and the way that is answered counts for the rest of the process. Pure: no SDK, no I/O.

Source: platform.claude.com "Migrating to API version 2026-10-21". Since that version the API takes no
sampling parameters, and the SDKs send the key as a bearer token; the API itself takes either header. And
"Thinking": since Claude Opus 4.7 models take no budget, they decide themselves how much to think.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gateway.bounded_dict import BoundedDict
from gateway.errors import ModelError
from gateway.model.endpoint_facts import ANTHROPIC, EndpointFacts
from gateway.settings import Settings

NEWEST_VERSION = "2026-10-21"
"""What the SDK sends by itself."""
OLDER_VERSION = "2023-06-01"

KeyHeader = Literal["bearer", "x-api-key"]
Thinking = Literal["enabled", "adaptive"]
Stops = Literal["all", "visible", "none"]
SAMPLING = ("temperature", "top_p", "top_k")

MAX_MODELS = 1000
"""Models of which is remembered what they do not take."""
MAX_TEMPERATURE = 1.0
"""The highest temperature of the API (Messages API, "temperature"); other servers take more."""

_NAMES_THE_KEY = re.compile(r"x-api-key|authorization|bearer", re.IGNORECASE)
_NAMES_THE_VERSION = re.compile(r"anthropic[-_ ]version", re.IGNORECASE)
_NAMES_SAMPLING = re.compile(r"\b(temperature|top_p|top_k)\b", re.IGNORECASE)
_NAMES_STOPS = re.compile(r"stop[_ ]sequences?\b", re.IGNORECASE)
_NAMES_WHITE_SPACE = re.compile(r"white[- ]?space|blank|empty", re.IGNORECASE)
_NAMES_CACHE_POINTS = re.compile(r"\bcache_control\b", re.IGNORECASE)
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
        "takes no sampling parameters (a server that turns out to be another one gets it). "
        "Remove it, or, where endpoint and model take one, set "
        f"GATEWAY_MODEL_API_VERSION={OLDER_VERSION}"
    )


def refuses_key(failure: ModelError) -> bool:
    """Whether a refusal is about the key or the header that it came in."""
    return failure.code == "upstream_auth" or (
        failure.refused and _NAMES_THE_KEY.search(failure.message) is not None
    )


@dataclass(frozen=True, slots=True)
class Way:
    """One way to ask. `sampling` are the names of the sampling parameters that are sent; `thinking` is how a
    model is asked to think that shall: "enabled", with a budget, or "adaptive", without; None where it shall
    not. `stops` says which stop sequences are sent (the "visible" are those of more than white space),
    `cache_points` whether marks of the prompt cache are."""

    version: str
    key_header: KeyHeader
    sampling: frozenset[str] = frozenset()
    thinking: Thinking | None = None
    stops: Stops = "all"
    cache_points: bool = True


@dataclass(slots=True)
class _Refused:
    """What a model does not take: the sampling parameters by name, and whether it takes but one of them at a
    time; a budget, cache points; `stops` are the stop sequences that it takes."""

    sampling: frozenset[str] = frozenset()
    several: bool = False
    budget: bool = False
    stops: Stops = "all"
    cache_points: bool = False


_TAKES_ALL = _Refused()


class EndpointProfile:
    """The knowledge about one endpoint. `version` None and `key_header` "auto" are to be found out; `adapted`
    is given a sentence for the operator whenever something was. `facts` are what the endpoint says itself."""

    def __init__(
        self,
        version: str | None,
        key_header: Literal["auto", "bearer", "x-api-key"],
        *,
        has_key: bool,
        adapted: Callable[[str], None],
        facts: EndpointFacts | None = None,
    ) -> None:
        self._version_open = version is None
        self._key_open = has_key and key_header == "auto"
        self._version = version or NEWEST_VERSION
        self._key_header: KeyHeader = "bearer" if key_header == "auto" else key_header
        self._refused = BoundedDict[str, _Refused](MAX_MODELS)
        self._facts = facts or EndpointFacts()
        self._adapted = adapted

    def way(self, model: str, sampling: Mapping[str, float], *, thinks: bool) -> Way:
        """How to ask `model`, as far as is known, with these sampling parameters; whether it `thinks` before
        it answers."""
        refused = self._refused.get(model, _TAKES_ALL)
        return Way(
            self._version,
            self._key_header,
            self._taken(sampling, refused, self._version),
            self._thinking(model, refused) if thinks else None,
            stops=refused.stops,
            cache_points=not refused.cache_points,
        )

    def _taken(self, sampling: Mapping[str, float], refused: _Refused, version: str) -> frozenset[str]:
        """Which parameters are sent. The newest version of Anthropic's API takes none; other servers have
        no versions."""
        is_other = self._version_open and self._facts.kind not in {None, ANTHROPIC}
        if not sampling or not (is_other or takes_sampling(version)):
            return frozenset()
        taken = sampling.keys() - refused.sampling
        return frozenset(_one_of(taken) if refused.several else taken)

    def _thinking(self, model: str, refused: _Refused) -> Thinking | None:
        known = self._facts.of(model).thinking
        if refused.budget or (known is not None and "enabled" not in known and "adaptive" in known):
            return "adaptive"
        return "enabled" if known is None or "enabled" in known else None

    def other_way(self, way: Way, refusal: ModelError, sampling: Mapping[str, float]) -> Way | None:
        """How to ask once more; None: the refusal is about something that no other way would mend. Each part
        of a way changes once at most (sampling parameters: each one), so that asking ends."""
        if self._key_open and way.key_header == "bearer" and refuses_key(refusal):
            return replace(way, key_header="x-api-key")
        if not refusal.refused:
            return None
        words = refusal.message
        if self._version_open and way.version != OLDER_VERSION and _NAMES_THE_VERSION.search(words):
            taken = self._taken(sampling, _TAKES_ALL, OLDER_VERSION)
            return replace(way, version=OLDER_VERSION, sampling=taken)
        return _without(way, words)

    def answered(self, model: str, first: Way, way: Way, sampling: Mapping[str, float]) -> None:
        """Remembers what `way`, which was answered, has other than the `first` one, which was refused. From
        now on a refusal of the key is no question of its header."""
        self._key_open = False
        if way == first:
            return
        if way.key_header != first.key_header:
            self._key_header = way.key_header
            self._adapted("The model's endpoint wants the key as x-api-key: set GATEWAY_MODEL_AUTH=x-api-key")
        if way.version != first.version:
            self._version = way.version
            self._adapted(
                f"The model's endpoint wants version {way.version} of the API: "
                f"set GATEWAY_MODEL_API_VERSION={way.version}"
            )
        known = self._refused.get(model, _TAKES_ALL)
        found = replace(
            known,
            budget=known.budget or way.thinking != first.thinking,
            stops=way.stops,
            cache_points=not way.cache_points,
        )
        if (gone := first.sampling - way.sampling) and way.sampling:
            found.several = True
        elif sampling.get("temperature", 0) <= MAX_TEMPERATURE:  # a higher one may be what was refused
            found.sampling = known.sampling | gone
        if found != known:
            self._refused[model] = found
            self._tell(model, known, found)

    def _tell(self, model: str, known: _Refused, found: _Refused) -> None:
        if names := sorted(found.sampling - known.sampling):
            named = "GATEWAY_TEMPERATURE is" if names == ["temperature"] else "they are"
            self._adapted(f"{model} takes no {', '.join(names)}: {named} not sent to it")
        if found.several and not known.several:
            self._adapted(f"{model} takes one sampling parameter at a time: of several one is sent")
        if found.budget and not known.budget:
            self._adapted(
                f"{model} decides itself how much it thinks: GATEWAY_THINKING_BUDGET is sent without a number"
            )
        if found.cache_points and not known.cache_points:
            self._adapted(f"{model} takes no cache_control at this endpoint: cache points are not sent to it")
        if found.stops != known.stops:
            which = "stop sequences" if found.stops == "none" else "stop sequences of white space"
            self._adapted(f"{model} takes no {which} at this endpoint: those of clients are not sent to it")


def _without(way: Way, words: str) -> Way | None:
    """The way without that part of it which a refusal names."""
    if named := way.sampling & {name.lower() for name in _NAMES_SAMPLING.findall(words)}:
        kept = _one_of(named) if len(named) > 1 else frozenset[str]()
        return replace(way, sampling=way.sampling - named | kept)
    if way.thinking == "enabled" and _NAMES_THINKING.search(words):
        return replace(way, thinking="adaptive")
    if way.cache_points and _NAMES_CACHE_POINTS.search(words):
        return replace(way, cache_points=False)
    if way.stops != "none" and _NAMES_STOPS.search(words):
        is_blank = way.stops == "all" and _NAMES_WHITE_SPACE.search(words)
        return replace(way, stops="visible" if is_blank else "none")
    return None


def _one_of(names: Collection[str]) -> frozenset[str]:
    """The one of several sampling parameters that is kept where a model takes but one."""
    return frozenset([name for name in SAMPLING if name in names][:1])
