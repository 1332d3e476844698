"""What is taken for a secret by its look, and what is not."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.telemetry.redaction import REDACTED, redact, redact_text

BODY = "hunter2canaryHUNTER2canary0123456789"
"""In every secret; none of it may be left."""

PEM = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{BODY}\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"use ghp_{BODY}.", f"use {REDACTED}."),
        (f"gho_{BODY} ghs_{BODY}", f"{REDACTED} {REDACTED}"),
        (f"(github_pat_11AB_{BODY})", f"({REDACTED})"),
        ("id AKIAHUNTER2CANARY012 here", f"id {REDACTED} here"),
        (f"sk-proj-{BODY}-x", REDACTED),
        (f"sk-{BODY}", REDACTED),
        ("sk-ant-hunter2", REDACTED),
        (f"jwt eyJhbGciOiJIUzI1NiJ9.eyJ{BODY}.{BODY}-_ end", f"jwt {REDACTED} end"),
        (f"eyJhbGciOiJub25lIn0.eyJ{BODY}.", REDACTED),
        (f"a\n{PEM}-----END RSA PRIVATE KEY-----\nb", f"a\n{REDACTED}\nb"),
        (f"a {PEM}", f"a {REDACTED}"),
        (f"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----\\n", f"{REDACTED}\\n"),
        (f"xoxb-12-{BODY} xoxp-12-{BODY}", f"{REDACTED} {REDACTED}"),
        (f"export DB_PASSWORD={BODY}; ls", f"export DB_PASSWORD={REDACTED} ls"),
        (f'MY_SECRET_2="two words {BODY}" A=1', f"MY_SECRET_2={REDACTED} A=1"),
        (f"STRIPE_KEY={BODY}\nPORT=80", f"STRIPE_KEY={REDACTED}\nPORT=80"),
        (f'{{\\"CI_TOKEN\\": \\"{BODY}\\"}}', f'{{\\"CI_TOKEN\\": {REDACTED}}}'),
        (f"GATEWAY_API_KEYS=ada:{BODY},bob:{BODY} x", f"GATEWAY_API_KEYS={REDACTED} x"),
        (f"GATEWAY_API_KEYS=ada:{BODY}, bob:{BODY}\nx", f"GATEWAY_API_KEYS={REDACTED}\nx"),
        (f"GATEWAY_API_KEYS: 'ada:{BODY}'", f"GATEWAY_API_KEYS: {REDACTED}"),
        (f'{{\\"password\\": \\"{BODY}\\"}}', f'{{\\"password\\": \\"{REDACTED}"}}'),
        ("A_KEY=\nPORT=80", "A_KEY=\nPORT=80"),
        ("risk-taking and desk-research, sk-learn", None),
        ("the keyword eyJ is how a token begins", None),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", None),
        ("PRIMARY KEY (id), sort_key=name, monkey: 1", None),
        ("AKIA and ASIA, e.g. xox-x", None),
        ("您好 https://example.org/a?b=c#d", None),
    ],
)
def test_secrets_are_known_by_their_look(text: str, left: str | None) -> None:
    """Only they go, with the name kept that tells what was there; None stands for: nothing goes."""
    assert redact_text(text) == (text if left is None else left)
    assert redact({"said": [text]}) == {"said": [text if left is None else left]}


@given(st.text(alphabet=string.ascii_letters + ".-_=: \"'", max_size=80))
def test_no_text_with_a_secret_is_passed_over(text: str) -> None:
    """What tells quickly that a text has no secret never says so of one that has."""
    for secret in (f"AKIA{'Z9' * 8}", f"SK-{BODY}", f"Bearer {BODY}", f"X_SECRET={BODY}", f"Cookie: {BODY}"):
        assert REDACTED in redact_text(f"{text} {secret}")


RESEMBLING = ["sk-", "eyJ-", "eyJaaaaaaaaaa.", "KEY", "KEY_", "token\n", "://a:", "KEY=a, "]


@pytest.mark.parametrize("piece", [*RESEMBLING, "-----BEGIN PRIVATE KEY", "-----BEGIN PRIVATE KEY-----"])
def test_texts_that_resemble_secrets_are_read_once(piece: str) -> None:
    """A text of half a million characters is done with: what looks at it again from every beginning is not
    in hours."""
    assert BODY not in redact_text(f"{piece * (500_000 // len(piece))}\n\nghp_{BODY}")
