"""`gateway eval`: how well models work with the memory, shown by conversations that are held with them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.cli.evaluation.conversations import ScriptedConversation
    from gateway.cli.evaluation.results import ModelResult


def eval_(  # noqa: PLR0917 - each is given by its name, MODEL aside
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL[@URL[#VARIABLE]]",
            help="Models, each at the configured endpoint or at a URL, whose key is in a variable of the "
            "environment; `demo` is built in. [default: the configured model, or demo]",
            show_default=False,
        ),
    ] = None,
    conversations: Annotated[
        Path | None,
        typer.Option("--conversations", help="YAML with your own. [default: those that come along]"),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only the conversations with this in their names; repeatable.")
    ] = None,
    turn_timeout: Annotated[float, typer.Option(min=1, help="Seconds of one turn.")] = 120,
    model_timeout: Annotated[float, typer.Option(min=1, help="Seconds of all turns of one model.")] = 3600,
    as_json: Annotated[bool, typer.Option("--json", help="JSON with every turn, not a table.")] = False,
) -> None:
    """Test how well a model uses the memory. Conversations in English and Chinese are held with a gateway and
    data of their own. Exit code 1: a model did not pass; the demo model cannot. Your provider bills you."""
    from gateway.cli.evaluation.conversations import BUNDLED, load_conversations
    from gateway.errors import SettingsError

    path = conversations or BUNDLED
    chosen = [
        each
        for each in load_conversations(path)
        if not only or any(part.casefold() in each.name.casefold() for part in only)
    ]
    if not chosen:
        raise SettingsError(f"No conversation in {path} has a name with {' or '.join(only or ())} in it.")
    results: list[ModelResult] = []
    try:
        _evaluate(models or [], chosen, turn_timeout, model_timeout, results)
    finally:  # what there is, also when Ctrl-C has ended it
        if results:
            _show(results, "bundled" if path == BUNDLED else str(path), as_json=as_json)
    sys.exit(0 if all(each.passed for each in results) else 1)


def _evaluate(
    models: "Sequence[str]",
    conversations: "Sequence[ScriptedConversation]",
    turn_timeout: float,
    model_timeout: float,
    results: "list[ModelResult]",
) -> None:
    """Puts a result for each model into `results`, in which it grows turn by turn."""
    import asyncio
    import logging
    from collections import Counter

    from gateway.cli.evaluation.answer_checks import Kind, missed
    from gateway.cli.evaluation.conversation_run import EvaluationTimeouts, converse
    from gateway.cli.evaluation.endpoints import DEMO, check_askable, default_model, endpoint_of, shown
    from gateway.cli.evaluation.results import ModelResult, TurnFailure, progress
    from gateway.cli.terminal import to_stderr
    from gateway.settings import load_settings

    settings = load_settings()
    messages = [message for each in conversations for message in each.messages]
    wanted = Counter[Kind](check.kind for message in messages for check in missed(message))
    usual = asyncio.run(default_model(settings)) if settings.has_model and not models else DEMO
    endpoints = [endpoint_of(each) for each in models or [usual]]
    for endpoint in endpoints:
        check_askable(endpoint, settings)
    timeouts = EvaluationTimeouts(turn_timeout, model_timeout)
    for endpoint in endpoints:
        result = ModelResult(endpoint.model, shown(endpoint, settings), wanted)
        results.append(result)

        def on_turn(result: ModelResult = result) -> None:
            to_stderr(progress(result, len(messages)))

        logging.disable()  # what a gateway logs of a failure is told by the table
        try:
            asyncio.run(
                converse(conversations, endpoint, settings, timeouts=timeouts, result=result, on_turn=on_turn)
            )
        except KeyboardInterrupt:
            result.given_up = TurnFailure("interrupted", "It was stopped by Ctrl-C.")
            raise
        finally:
            logging.disable(logging.NOTSET)


def _show(results: "Sequence[ModelResult]", source: str, *, as_json: bool) -> None:
    from gateway.cli.evaluation.endpoints import DEMO
    from gateway.cli.evaluation.results import described, remarks, table
    from gateway.cli.terminal import show_table, to_stderr

    if as_json:
        import orjson

        sys.stdout.write(orjson.dumps(described(results, source), option=orjson.OPT_INDENT_2).decode() + "\n")
        return
    show_table(*table(results))
    if any(each.model == DEMO and not each.passed for each in results):
        to_stderr(
            "The demo model follows fixed rules and cannot pass. Set ANTHROPIC_API_KEY or "
            "ANTHROPIC_BASE_URL, or name a model: gateway eval MODEL@URL."
        )
    for result in results:
        for line in remarks(result):
            to_stderr(line)
