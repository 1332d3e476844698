"""Which tool calls run, ask or are denied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateway.events.tool_calls import Effect
from gateway.settings.value_types import VERDICTS, Policy
from gateway.tools.policy import PolicyVerdict, verdict_of

EFFECTS = st.sampled_from(["read_only", "idempotent", "effectful"])
NAMES = st.text("abcz_-09", min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("effect", "verdict"), [("read_only", "allow"), ("idempotent", "allow"), ("effectful", "ask")]
)
def test_without_a_rule_only_effects_are_asked_about(effect: Effect, verdict: PolicyVerdict) -> None:
    """The default names no rule."""
    assert verdict_of((), "send_mail", effect)[:2] == (verdict, None)


@pytest.mark.parametrize(
    ("tool", "verdict", "rule"),
    [
        ("mail_send", "deny", "mail_send=deny"),
        ("mail_read", "allow", "mail_*=allow"),
        ("Mail_read", "ask", "*=ask"),
        ("disk__wipe", "ask", "*=ask"),
        ("x1", "deny", "x[0-9]=deny"),
        ("x", "ask", "*=ask"),
    ],
)
def test_the_first_rule_that_fits_counts(tool: str, verdict: PolicyVerdict, rule: str) -> None:
    """Also when a later one fits as well; capitals are as written."""
    rules = ("mail_send=deny", "mail_*=allow", "x[0-9]=deny", "*=ask", "mail_*=deny")

    assert verdict_of(rules, tool, "read_only")[:2] == (verdict, rule)


@given(st.lists(st.tuples(NAMES, st.sampled_from(VERDICTS)), max_size=6), NAMES, EFFECTS)
def test_names_without_wildcards_fit_only_themselves(
    pairs: list[tuple[str, PolicyVerdict]], tool: str, effect: Effect
) -> None:
    """For all lists of rules: the first of that name, or the default."""
    rules = [f"{name}={verdict}" for name, verdict in pairs]
    default: PolicyVerdict = "ask" if effect == "effectful" else "allow"

    assert verdict_of(rules, tool, effect).verdict == next(
        (verdict for name, verdict in pairs if name == tool), default
    )


def test_the_settings_take_what_is_judged_by() -> None:
    """The environment's commas make several rules."""
    rules = TypeAdapter[tuple[str, ...]](Policy).validate_python("read_*=allow, *=deny")

    assert verdict_of(rules, "read_mail", "effectful").verdict == "allow"
    assert verdict_of(rules, "send_mail", "read_only").verdict == "deny"


def test_a_person_is_told_why() -> None:
    """The rule by its own words, or that the tool has effects."""
    assert verdict_of(["*=ask"], "send", "read_only").reason == (
        "The rule *=ask of this server's tool policy holds for it."
    )
    assert verdict_of([], "send", "effectful").reason == "It has effects."
