"""Checks of `gateway doctor`: what the model's endpoint says of itself."""

from gateway.cli.findings import Finding, State
from gateway.cli.skill_catalog import offered
from gateway.errors import GatewayError
from gateway.history.tokens import overhead_of
from gateway.model.default_model import names_of
from gateway.model.endpoint_facts import EndpointFacts, ModelFacts
from gateway.model.model_limits import notices, output_limit, unlisted
from gateway.prompt.components import PromptFolder
from gateway.prompt.system_prompt import PromptLimits, prefix_of
from gateway.settings import Settings


async def check_endpoint(settings: Settings, facts: EndpointFacts, *, answers: bool) -> list[Finding]:
    """Finds what kind of server the endpoint is and what its models can do; which are not listed, are to be
    retired, or read less than the gateway sends. `answers`: a call of the default model was answered."""
    about = facts.of(settings.model)
    found: list[Finding] = []
    if facts.listed or facts.kind is not None:
        found.append(_finding("good", f"{_server(facts)}; {settings.model} {_abilities(about)}"))
    found += [_not_listed(settings, facts, model, answers=answers) for model in unlisted(settings, facts)]
    found += [_finding("warning", says.removesuffix(".")) for says in notices(settings, facts)]
    window = settings.context_window or about.context_window
    if window is not None and window < SMALL_WINDOW:
        found += await _check_window(settings, about, window)
    return found


SMALL_WINDOW = 65_536
"""Tokens from which on any prompt of the gateway's leaves room enough."""


def _not_listed(settings: Settings, facts: EndpointFacts, model: str, *, answers: bool) -> Finding:
    listed = names_of(facts.listed) + (" only" if len(facts.listed) == 1 else "")
    if model != settings.model:
        return _finding("bad", f"the endpoint lists {listed}, not {model} of GATEWAY_ALLOWED_MODELS")
    if answers:
        return _finding("warning", f"the endpoint lists {listed}, and answers to {model} all the same")
    return _finding("bad", f"the endpoint lists {listed}, not {model}: set GATEWAY_MODEL")


async def _check_window(settings: Settings, about: ModelFacts, window: int) -> list[Finding]:
    """Whether what the gateway sends before a conversation leaves room for that."""
    try:
        prompt = await _prompt_tokens(settings, offers_tools=about.tools is not False)
    except GatewayError:
        return []  # which the gateway says by itself when it starts
    answer = output_limit(settings, about).tokens
    left = window - prompt - answer
    if left >= window // 4:
        return []
    says = (
        f"{settings.model} reads {window:,} tokens; prompt and tools take about {prompt:,} of them, "
        f"an answer up to {answer:,}: "
    )
    if left < 0:
        return [_finding("bad", says + "no conversation fits. Give the server a larger context")]
    return [_finding("warning", says + "conversations will be short. Give the server a larger context")]


async def _prompt_tokens(settings: Settings, *, offers_tools: bool) -> int:
    """An estimate of what stands before a new conversation: components, skills, tools."""
    async with offered(settings) as found:
        catalog = found.catalog
    prefix = prefix_of(
        PromptFolder(settings.prompts_dir).read(),
        tools=catalog.tools.specs() if offers_tools else (),
        skills=catalog.snapshot if settings.skills_in_prompt and offers_tools else "",
        limits=PromptLimits(settings.prompt_tokens, settings.instructions_tokens),
    )
    return overhead_of(prefix.system, prefix.tools)


def _server(facts: EndpointFacts) -> str:
    kind = facts.kind or "a server that does not say what it is"
    slots = f", {facts.slots} request{'s' if facts.slots > 1 else ''} at once" if facts.slots else ""
    return f"{kind}{slots}"


def _abilities(about: ModelFacts) -> str:
    said = [f"reads {about.context_window:,} tokens"] if about.context_window else []
    if about.max_output:
        said.append(f"writes up to {about.max_output:,}")
    for name, can in (("images", about.images), ("PDFs", about.pdfs), ("tools", about.tools)):
        if can is not None:
            said.append(name if can else f"no {name}")
    return ", ".join(said) or "is not described"


def _finding(state: State, says: str) -> Finding:
    return Finding(state, "endpoint", says)
