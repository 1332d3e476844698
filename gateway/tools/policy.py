"""Which tool calls run, which ask a person first, and which never run."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple, cast

from gateway.events.calls import Effect

PolicyVerdict = Literal["allow", "ask", "deny"]


class Ruling(NamedTuple):
    """What holds for a call, and the rule that says so; None when no rule fits and the default holds."""

    verdict: PolicyVerdict
    rule: str | None

    @property
    def reason(self) -> str:
        """For the person who is asked, and for the model when it is denied."""
        if self.rule is not None:
            return f"The rule {self.rule} of this server's tool policy holds for it."
        return "It has effects." if self.verdict == "ask" else "It has no effects."


def verdict_of(rules: Sequence[str], tool: str, effect: Effect) -> Ruling:
    """The first of `rules` whose glob fits the name of the tool, capitals as written; without one, effectful
    tools ask and others run. `rules` are "glob=verdict", checked by settings.values.Policy."""
    for rule in rules:
        glob, _, verdict = rule.partition("=")
        if fnmatchcase(tool, glob):
            return Ruling(cast("PolicyVerdict", verdict), rule)
    return Ruling("ask" if effect == "effectful" else "allow", None)
