"""The built-in calculator: a small grammar of its own, exact on integers and decimals, and bounded.

    sum     = product (("+" | "-") product)*
    product = sign (("*" | "/" | "//" | "%") sign)*
    sign    = ("+" | "-") sign | power
    power   = atom (("**" | "^") sign)?
    atom    = number | constant | function "(" sum ("," sum)* ")" | "(" sum ")"

Numbers are fractions, so 0.1 + 0.2 is 0.3; only roots, logarithms and the like are floating point.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction

from gateway.errors import ToolError
from gateway.tools.function import tool

Number = Fraction | float

MAX_LENGTH = 500
"""Characters of an expression."""
MAX_DEPTH = 40
"""Brackets, signs and powers inside each other."""
MAX_BITS = 3400
"""Size of a numerator or denominator: about 1000 decimal digits."""

_TOKEN = re.compile(
    r"\s*(?:((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|//|[-+*/%^(),]))"
)
_AS_ASCII = {
    **{0xFF01 + offset: 0x21 + offset for offset in range(94)},  # full width forms: （１＋２）
    **str.maketrans(
        {"×": "*", "∗": "*", "·": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "π": "pi", "\u3000": " "}
    ),
}


@tool(effect="read_only", timeout=5, short="Calculates exactly: + - * / // % **, sqrt, log, sin, round, pi.")
def calculate(expression: str) -> str:
    """Calculates an arithmetic expression exactly. Use it instead of calculating yourself.

    Operators: + - * / // (floor division) % (remainder) ** (power) and brackets. Functions: sqrt, abs,
    round(x, digits; halves away from zero), floor, ceil, min, max, exp, ln, log(x, base; natural without a
    base), log2, log10, sin, cos, tan, asin, acos, atan (radians), radians, degrees. Constants: pi, e.
    A leading ≈ in the result means that it is rounded.

    Args:
        expression: For example "17 * 23", "(1 + 0.05) ** 10" or "sqrt(2)". No thousands separators or units.
    """
    if len(expression) > MAX_LENGTH:
        raise ToolError(f"The expression is too long: {len(expression)} characters, at most {MAX_LENGTH}.")
    try:
        return _written(_Parser(expression.translate(_AS_ASCII)).result())
    except ZeroDivisionError:
        raise ToolError("The expression divides by zero.") from None
    except OverflowError:
        raise _too_large() from None


class _Parser:
    """Evaluates while it parses; raises ToolError with the place where it could not go on."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokenized(text)
        self._place = 0
        self._depth = 0

    def result(self) -> Number:
        value = self._sum()
        if self._next:
            hint = " (write numbers without thousands separators)" if self._next == "," else ""
            raise ToolError(f"Unexpected {self._next!r} after {self._read_so_far()!r}{hint}.")
        return value

    @property
    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, *accepted: str) -> str:
        """The next token if it is one of `accepted`, else ""."""
        token = self._next
        if token not in accepted:
            return ""
        self._place += 1
        return token

    def _expect(self, token: str) -> None:
        if not self._take(token):
            found = repr(self._next) if self._next else "the end"
            raise ToolError(f"Expected {token!r} after {self._read_so_far()!r}, found {found}.")

    def _read_so_far(self) -> str:
        return " ".join(self._tokens[: self._place])[-40:]

    def _sum(self) -> Number:
        value = self._product()
        while operator := self._take("+", "-"):
            value = _bounded(value + self._product() if operator == "+" else value - self._product())
        return value

    def _product(self) -> Number:
        value = self._sign()
        while operator := self._take("*", "/", "//", "%"):
            value = _bounded(_PRODUCTS[operator](value, self._sign()))
        return value

    def _sign(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ToolError(f"The expression is nested too deeply: at most {MAX_DEPTH} levels.")
        operator = self._take("+", "-")
        value = self._sign() if operator else self._power()
        self._depth -= 1
        return -value if operator == "-" else value

    def _power(self) -> Number:
        base = self._atom()
        return _power(base, self._sign()) if self._take("**", "^") else base

    def _atom(self) -> Number:
        word = self._next
        self._place += 1
        if word == "(":
            value = self._sum()
            self._expect(")")
            return value
        if word[:1].isdigit() or word[:1] == ".":
            return _number(word)
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        if word in _FUNCTIONS:
            return self._call(word)
        if word.isidentifier():
            known = ", ".join([*_FUNCTIONS, *_CONSTANTS])
            raise ToolError(f"{word!r} is not known. Known names: {known}.")
        self._place -= 1
        found = f"{word!r}" if word else "the end"
        raise ToolError(f"Expected a number after {self._read_so_far()!r}, found {found}.")

    def _call(self, name: str) -> Number:
        function, least, most = _FUNCTIONS[name]
        self._expect("(")
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._expect(")")
        if not least <= len(values) <= most:
            takes = f"{least}" if least == most else f"{least} or more" if most > 2 else f"{least} or {most}"
            raise ToolError(f"{name} takes {takes} values, got {len(values)}.")
        try:
            return _bounded(function(*values))
        except ValueError:
            shown = ", ".join(map(_written, values))
            raise ToolError(f"{name}({shown}) is not defined for real numbers.") from None


def _tokenized(text: str) -> list[str]:
    found: list[str] = []
    place = 0
    text = text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            rest = text[place:].lstrip()
            raise ToolError(f"{rest[0]!r} at {rest[:20]!r} is not part of an arithmetic expression.")
        found.append(match[match.lastindex or 0])
        place = match.end()
    if not found:
        raise ToolError("The expression is empty.")
    return found


def _number(token: str) -> Fraction:
    _, _, exponent = token.lower().partition("e")
    if exponent and abs(int(exponent)) > 1000:
        raise _too_large()
    return Fraction(token)


def _bounded(value: Number | int) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _too_large()
        return value
    value = Fraction(value)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise _too_large()
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1 and base not in {0, 1, -1}:
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if bits * abs(exponent.numerator) > MAX_BITS:
                raise _too_large()  # before calculating: 9**9**9 would take for ever
        if exponent == Fraction(1, 2) and base >= 0:
            return _sqrt(base)
    result = base**exponent
    if isinstance(result, complex):
        raise ToolError("A negative number has no real power with a fractional exponent.")
    return _bounded(result)


def _sqrt(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _abs(value: Number) -> Number:
    return abs(value)


def _round(value: Number, digits: Number = 0.0) -> Number:
    if digits != int(digits) or abs(digits) > 100:
        raise ToolError("round takes a whole number of digits, at most 100.")
    scale = Fraction(10) ** int(digits)
    scaled = Fraction(value) * scale
    whole = math.floor(abs(scaled) + Fraction(1, 2))
    return Fraction(whole if scaled >= 0 else -whole) / scale


def _least(*values: Number) -> Number:
    return min(values)


def _most(*values: Number) -> Number:
    return max(values)


def _log(value: Number, base: Number | None = None) -> Number:
    return math.log(value) if base is None else math.log(value) / math.log(base)


_PRODUCTS: dict[str, Callable[[Number, Number], Number | int]] = {
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_FUNCTIONS: dict[str, tuple[Callable[..., Number | int], int, int]] = {
    # name: (function, least and most number of values)
    "sqrt": (_sqrt, 1, 1),
    "abs": (_abs, 1, 1),
    "round": (_round, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "min": (_least, 1, MAX_LENGTH),
    "max": (_most, 1, MAX_LENGTH),
    "exp": (math.exp, 1, 1),
    "ln": (math.log, 1, 1),
    "log": (_log, 1, 2),
    "log2": (math.log2, 1, 1),
    "log10": (math.log10, 1, 1),
    "sin": (math.sin, 1, 1),
    "cos": (math.cos, 1, 1),
    "tan": (math.tan, 1, 1),
    "asin": (math.asin, 1, 1),
    "acos": (math.acos, 1, 1),
    "atan": (math.atan, 1, 1),
    "radians": (math.radians, 1, 1),
    "degrees": (math.degrees, 1, 1),
}


def _written(value: Number) -> str:
    if isinstance(value, float):
        return f"≈ {value:.15g}"
    if value.denominator == 1:
        return str(value.numerator)
    exact = _as_decimal(value)
    if exact is not None:
        return exact
    fraction = f" (exactly {value})" if value.denominator < 10**12 and abs(value.numerator) < 10**12 else ""
    return f"≈ {float(value):.15g}{fraction}"


def _as_decimal(value: Fraction) -> str | None:
    """The finite decimal that `value` is, if it is one of at most 100 places."""
    for places in range(1, 101):
        scaled = value * 10**places
        if scaled.denominator == 1:
            digits = str(abs(scaled.numerator)).rjust(places + 1, "0")
            return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return None


def _too_large() -> ToolError:
    return ToolError(
        "The numbers become too large: at most about 1000 digits, or 1e308 for functions like exp."
    )
