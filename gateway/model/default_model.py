"""Which model is the default where the settings name none, and the endpoint is not Anthropic's: the one that
it lists. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from gateway.model.endpoint_facts import Listed

MAX_NAMED = 8
"""Models that a sentence names."""


class Choice(NamedTuple):
    """The default model (None: what it was), and a sentence for the operator, if there is something to
    say."""

    model: str | None
    says: str | None = None


def default_of(listed: Sequence[Listed], default: str, *, picks: bool) -> Choice:
    """The default among the models that an endpoint lists. `default` is what it is otherwise: a proxy that
    lists it is asked for it. Of several the first that is loaded, or the first, is taken with `picks`;
    without, the operator is told to choose."""
    chatting = [each for each in listed if each.chats]
    if any(each.name == default for each in chatting):
        return Choice(None)
    if len(chatting) == 1:
        return Choice(chatting[0].name)
    if not chatting:
        return Choice(None, "The model's endpoint lists no model: set GATEWAY_MODEL, or load one there.")
    named = names_of([each.name for each in chatting])
    if not picks:
        return Choice(None, f"The model's endpoint lists {named}: set GATEWAY_MODEL to one of them.")
    taken = next((each for each in chatting if each.is_loaded), chatting[0]).name
    return Choice(taken, f"The model's endpoint lists {named}: {taken} is taken; GATEWAY_MODEL sets another.")


def names_of(names: Sequence[str]) -> str:
    """The names in words, of many the first ones."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
