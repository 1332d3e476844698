"""The distribution of a request's tokens over a session's messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.history.tokens import TokenMeter, message_tokens, tokens_of
from gateway.history.transcript import view, without_thinking
from gateway.storage.messages import History


@dataclass(frozen=True, slots=True)
class Weights:
    """`before` are the tokens of a request with the present view, `fixed` those of them that are of no
    message: system prompt and tools; `added` are of tools that come with the compression. `sizes` are the
    estimates of each of the history's messages as it is sent after a compression, without its thinking; an
    estimate counts `scale` tokens."""

    before: int
    fixed: int
    scale: float
    sizes: Sequence[int]
    added: int = 0

    def after(self, history: History) -> int:
        """The tokens of a request with the view of `history`, estimated on the same scale."""
        return self.fixed + self.added + round(self.scale * tokens_of(view(history)))

    def estimated(self, tokens: int) -> int:
        """The tokens, as an estimate, that messages may have in a request of `tokens`; 0 when the rest alone
        is more."""
        return max(0, int((tokens - self.fixed - self.added) / self.scale))


def weigh(meter: TokenMeter, model: str, history: History, overhead: int, added: int = 0) -> Weights:
    """Weighs what `model` is sent for `history`; `overhead` as for `TokenMeter.size`, `added` the estimate of
    what a compression adds to it.

    The total is the meter's, which is mostly exact where the endpoint has reported usage: if the messages are
    estimated at more, they count less, and the remainder is that of prompt and tools."""
    before = meter.size(model, history, overhead=overhead)
    messages = tokens_of(view(history))
    scale = meter.factor(model)
    if messages * scale > before:
        scale = before / messages
    sizes = [message_tokens(without_thinking(item.message)) for item in history.messages]
    fixed = max(0, before - round(messages * scale))
    return Weights(before, fixed, scale, sizes, round(added * meter.factor(model)))
