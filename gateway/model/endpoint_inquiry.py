"""The endpoint is asked what it is and what its models can do: in the background, in bounded questions, again
when something has changed.

    start, a model that was not known, a success after failures, another model in the answers
      ──▶ GET /v1/models ──▶ GET /v1/models/{id}              what the list does not say of a model
                         └─▶ /props · /api/show, /api/ps · /api/v0/models    servers of one's own
      ──▶ EndpointFacts

An answer that is no use leaves what was known; nothing of this is waited for by a call.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import quote

import structlog

from gateway.bounded_dict import BoundedDict
from gateway.model import facts_reading as reading
from gateway.model.default_model import default_of
from gateway.model.endpoint_facts import ANTHROPIC, NOTHING, EndpointFacts, Listed, ModelFacts
from gateway.model.endpoint_questions import EndpointQuestions

PAUSE = 30.0
"""Seconds between two inquiries, at least."""
FIRST_WAIT, LAST_WAIT = 1.0, 60.0
"""Seconds until an endpoint is asked again that has not said yet which model it has: doubled each time."""
MAX_ASKED = 50
"""Models that are asked about one by one."""

log = structlog.get_logger(__name__)


class EndpointInquiry:
    """Keeps `facts` up to date. `models` are those that requests may choose. `open_default` is the name that
    stands for the default as long as the endpoint has not said which model it has (None: the settings say
    it), `found` is called with the one that it is, `picks` is as in default_model.py."""

    def __init__(
        self,
        questions: EndpointQuestions,
        facts: EndpointFacts,
        *,
        models: Callable[[], Sequence[str]],
        open_default: str | None = None,
        found: Callable[[str], None] = lambda _: None,
        picks: bool = False,
        pause: float = PAUSE,
    ) -> None:
        self.facts = facts
        self._questions, self._models, self._pause = questions, models, pause
        self._open_default, self._found, self._picks = open_default, found, picks
        self._default: str | None = None
        self._more = BoundedDict[str, None](MAX_ASKED)
        self._answered_as = BoundedDict[str, str](MAX_ASKED)
        self._known = set[str]()
        self._unloaded = set[str]()
        self._has_failed = False
        self._is_due = asyncio.Event()

    def name_of(self, model: str) -> str:
        """The name to ask the endpoint for: the default's, where a request was made before that was known."""
        return self._default if self._default is not None and model == self._open_default else model

    def answered(self, model: str, by: str | None) -> None:
        """Notes that a call of `model` was answered, `by` what the endpoint calls it. What that shows of
        something new is asked about in the background."""
        if model not in self._known and model not in self._more:
            self._more[model] = None
            self._is_due.set()
        if by is not None and self._answered_as.get(model) != by:
            if model in self._answered_as:
                self._is_due.set()
            self._answered_as[model] = by
        if self._has_failed or model in self._unloaded:
            self._has_failed = False
            self._is_due.set()

    def failed(self) -> None:
        """Notes that the endpoint could not be reached, or was not ready: the next success asks again."""
        self._has_failed = True

    def refused_tools(self, model: str) -> None:
        """Notes that the endpoint says of a model that it calls no tools."""
        self.facts.models[model] = replace(self.facts.of(model), tools=False)

    async def run(self) -> None:
        """Asks, and again whenever something has changed, until it is cancelled."""
        wait = FIRST_WAIT
        self.facts.is_asking = True
        while True:
            self._is_due.clear()
            try:
                await self.ask()
            finally:
                self.facts.is_asking = False
            if self._is_settled():
                await asyncio.sleep(self._pause)
                await self._is_due.wait()
            else:
                await asyncio.sleep(wait)
                wait = min(2 * wait, LAST_WAIT)

    def _is_settled(self) -> bool:
        is_open = self._open_default is not None and self._default is None
        return self._questions.reached or not is_open

    async def ask(self) -> None:
        """Asks once. Raises nothing."""
        questions = self._questions
        questions.reached = False
        listing = await questions.get("/v1/models?limit=1000" if questions.is_anthropics else "/v1/models")
        if not questions.reached:
            return
        listed = reading.listed_in(listing)
        kind = ANTHROPIC if questions.is_anthropics else reading.kind_in(listing, questions.server)
        if kind == "lm studio":
            # The list of its own API says which models are loaded, and which are none to chat with.
            listed = reading.listed_in(await questions.get("/api/v0/models")) or listed
        self._choose(listed)
        models = self._to_ask(listed)
        known = {each.name: each.facts for each in listed}
        if kind in {None, ANTHROPIC}:
            for model in models:
                known[model] = await self._of_one(model, known.get(model, NOTHING))
        props: reading.Props | None = None
        if kind == "llama.cpp" or self._may_be_local(kind, known, models):
            props = reading.props_in(await questions.get("/props"))
            kind = kind if props is None else "llama.cpp"
        if kind == "ollama" or self._may_be_local(kind, known, models):
            kind = await self._of_ollama(kind, known, models)
        self._keep(kind, listed, known, props)
        sized = (name for name, found in known.items() if found.context_window is not None)
        self._known = {*models, *sized}

    def _keep(
        self,
        kind: str | None,
        listed: Sequence[Listed],
        known: dict[str, ModelFacts],
        props: reading.Props | None,
    ) -> None:
        """What was known before stays where the same server has said nothing of it this time."""
        facts = self.facts
        if kind is not None and kind != facts.kind:
            facts.kind, facts.slots, facts.any_model, facts.models = kind, None, NOTHING, {}
        if listed:
            facts.listed = tuple(each.name for each in listed)
        if props is not None:
            facts.slots = props.slots
            if not props.is_router:
                facts.any_model = props.facts
                known = {name: props.facts.over(found) for name, found in known.items()}
        former = facts.models
        if kind == "llama.cpp" and props is None:  # its list says less
            known = {name: former.get(name, NOTHING).over(found) for name, found in known.items()}
        facts.models = ({} if listed else former) | {
            name: _with_documents(found, facts.kind).over(former.get(name, NOTHING))
            for name, found in known.items()
        }
        log.info("model_endpoint_known", kind=facts.kind, models=len(facts.listed), slots=facts.slots)

    def _may_be_local(self, kind: str | None, known: dict[str, ModelFacts], models: Sequence[str]) -> bool:
        """Whether a server that has not said what it is is asked as those on machines of one's own are."""
        if kind is not None or not self._questions.is_local:
            return False
        return not any(known.get(model, NOTHING).context_window is not None for model in models)

    def _to_ask(self, listed: Sequence[Listed]) -> list[str]:
        """The models that matter: those that may be chosen, and others that were."""
        wanted = [self.name_of(model) for model in self._models()]
        names = [_listed_as(name, listed) for name in dict.fromkeys((*wanted, *self._more))]
        if self._open_default is not None and all(each.name != self._open_default for each in listed):
            names = [name for name in names if name != self._open_default]
        return names[:MAX_ASKED]

    def _choose(self, listed: Sequence[Listed]) -> None:
        """Takes the model that the endpoint has for the default, where the settings leave it open. One that
        was taken stays as long as it is listed: sessions go on with it."""
        if self._open_default is None or any(each.name == self._default for each in listed):
            return
        choice = default_of(listed, self._open_default, picks=self._picks)
        if choice.says is not None and choice.says != self.facts.choice:
            log.warning("model_choice", says=choice.says)
        self.facts.choice = choice.says
        if choice.model is not None:
            self._default = choice.model
            log.info("model_found", model=choice.model)
            self._found(choice.model)

    async def _of_one(self, model: str, known: ModelFacts) -> ModelFacts:
        if known.context_window is not None:
            return known
        return reading.model_facts(await self._questions.get(f"/v1/models/{quote(model, safe='')}")).over(
            known
        )

    async def _of_ollama(
        self, kind: str | None, known: dict[str, ModelFacts], models: Sequence[str]
    ) -> str | None:
        running: dict[str, int | None] | None = None
        for model in models:
            shown = await self._questions.post("/api/show", {"model": model})
            if reading.ollama_facts(shown, None) is None:
                continue
            if running is None:
                kind, running = "ollama", reading.ollama_running(await self._questions.get("/api/ps"))
            name = model if model in running else f"{model}:latest"
            facts = reading.ollama_facts(shown, running.get(name))
            known[model] = facts.over(known.get(model, NOTHING)) if facts is not None else NOTHING
            (self._unloaded.discard if name in running else self._unloaded.add)(model)
        return kind


def _listed_as(model: str, listed: Sequence[Listed]) -> str:
    """The name under which the endpoint lists the model."""
    latest = f"{model}:latest"
    return latest if any(each.name == latest for each in listed) else model


def _with_documents(facts: ModelFacts, kind: str | None) -> ModelFacts:
    takes = reading.takes_documents(kind)
    return facts if takes is None or facts.pdfs is not None else replace(facts, pdfs=takes)
