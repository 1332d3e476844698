"""How clients of a dialect want the model to write. What is no usable value is left out: they send numbers as
text, and -1 or null for what they do not care about."""

from math import isfinite

from gateway.messages import Sampling

MAX_STOPS, MAX_STOP = 16, 1000
"""Texts at which the model stops, and characters of each."""


def sampling_of(
    *,
    max_tokens: object = None,
    stop: object = None,
    temperature: object = None,
    top_p: object = None,
    top_k: object = None,
) -> Sampling:
    """Of the values as a client sent them, of whatever type. Never raises."""
    most, best, heat, share = (_number(each) for each in (max_tokens, top_k, temperature, top_p))
    return Sampling(
        max_tokens=_whole(most),
        stop_sequences=_texts(stop),
        temperature=heat if heat is not None and 0 <= heat <= 2 else None,
        top_p=share if share is not None and 0 < share <= 1 else None,
        top_k=_whole(best),
    )


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if isfinite(found) else None


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and 1 <= value < 2**31 else None


def _texts(value: object) -> tuple[str, ...]:
    given: list[object] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    texts = [each for each in given if isinstance(each, str) and each and "\0" not in each]
    return tuple(dict.fromkeys(each for each in texts if len(each) <= MAX_STOP))[:MAX_STOPS]
