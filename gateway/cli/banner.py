"""The lines that a person sees when the server is ready: where everything is, and something to copy."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gateway import __version__
from gateway.cli.config import without_secrets
from gateway.model.endpoint_address import ANTHROPIC_URL, model_is_open
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.model_limits import notices
from gateway.settings import Settings

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - to show an address that can be opened


def page_url(settings: Settings) -> str:
    """The address to open on this machine."""
    host = WILDCARDS.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def show_banner(
    settings: Settings,
    *,
    demo: bool,
    worker_ports: Sequence[int] | None = None,
    endpoint: EndpointFacts | None = None,
) -> None:
    """Prints to stderr, so that stdout keeps to the log; plain when stderr is not a terminal. `worker_ports`
    are those of several workers, if they have ports of their own; `endpoint` is what is known of
    the model's by now."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    url = page_url(settings)
    lines = {
        "Page": Text(url, style="bold cyan"),
        "API": Text(f"{url}/openapi.json"),
        "Metrics": Text(_metrics(settings, url, worker_ports)),
        "Data": Text(_data(settings)),
        "Model": _model(settings, endpoint or EndpointFacts(), demo=demo),
        "Access": Text(_access(settings)),
    }
    console.print(f"\n[bold]Chat Gateway[/] {__version__} is ready. Ctrl-C stops it.\n")
    for name, value in lines.items():
        console.print(Text.assemble((f"{name:<9}", "dim"), value))
    for notice in notices(settings, endpoint) if endpoint is not None else ():
        console.print(Text(f"{'':<9}{notice}", style="yellow"))
    console.print("\n[dim]Try it:[/]")
    console.print(_curl(settings, url) + "\n", markup=False)


def key_count(settings: Settings) -> int:
    """How many API keys are set."""
    return sum(1 for part in settings.api_keys.get_secret_value().split(",") if part.strip())


def _metrics(settings: Settings, url: str, worker_ports: Sequence[int] | None) -> str:
    if worker_ports is None:
        return f"{url}/metrics"
    if not worker_ports:
        return f"{url}/metrics, of one worker at a time; --worker-port gives each an address of its own"
    own = [page_url(settings.model_copy(update={"port": port})) for port in worker_ports]
    return ", ".join(f"{each}/metrics" for each in own)


def _data(settings: Settings) -> str:
    if settings.is_shared:
        return without_secrets(settings.database_url or "")
    return str(settings.database_path.parent.resolve())


def _model(settings: Settings, endpoint: EndpointFacts, *, demo: bool) -> Text:
    if demo:
        return Text.assemble(
            ("DEMO", "bold black on yellow"), "  no real model; export ANTHROPIC_API_KEY=… to use one"
        )
    address = without_secrets(settings.anthropic_base_url or ANTHROPIC_URL)
    if model_is_open(settings) and not endpoint.listed:
        return Text(f"the one that {address} lists; it has not said yet which (GATEWAY_MODEL sets one)")
    size = endpoint.of(settings.model).context_window
    reads = f", which reads {size:,} tokens" if size is not None else ""
    return Text(f"{settings.model} at {address}{reads}")


def _access(settings: Settings) -> str:
    keys = key_count(settings)
    if not keys:
        return "local user, no key needed"
    return f"{keys} API key{'s' if keys > 1 else ''}"


def _curl(settings: Settings, url: str) -> str:
    key = " -H 'authorization: Bearer YOUR_KEY'" if key_count(settings) else ""
    question = '{"message":"How do I resume a stream? And what is 17*23?"}'
    return f"  curl -N {url}/api/chat -H 'content-type: application/json'{key} \\\n    -d '{question}'"
