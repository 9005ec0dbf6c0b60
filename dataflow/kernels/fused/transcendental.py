"""``exp``, ``sigmoid`` and ``tanh`` in steps that every processor has, for loops in machine code.

Single precision, within two units in the last place. The polynomials are those of Moshier's Cephes
library (``expf``, ``tanhf``); NaN, infinity, overflow and the smallest numbers come out as IEEE 754
has them.
"""

from __future__ import annotations

from typing import Any, Protocol

#: They are written here for float32 alone.
OPS = frozenset({"Exp", "Sigmoid", "Tanh"})

_LOWEST, _HIGHEST = -104.0, 89.0  # beyond them the results are 0 and infinity
_LOG2_E = 1.44269504088896341
_MINUS_LN2_HIGH, _MINUS_LN2_LOW = -0.693359375, 2.12194440e-4
_EXP = (
    *(1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3),
    *(4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
)
_TANH = (
    *(-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2),
    *(1.33314422036e-1, -3.33332819422e-1),
)
#: Below this, 1 - 2 / (exp(2 x) + 1) would lose digits; beyond the other it is 1.
_TANH_SMALL, _TANH_LARGE = 0.625, 40.0
_EXPONENT_BIAS, _EXPONENT_SHIFT = 127, 23


class Steps(Protocol):
    """What writes single steps (`native`)."""

    type: str

    def put(self, text: str) -> str: ...
    def step(self, op: str, *x: Any) -> str: ...
    def call(self, name: str, *x: Any) -> str: ...
    def whole(self, number: int) -> str: ...

    @property
    def whole_type(self) -> str: ...


def write(steps: Steps, op: str, x: str) -> str:
    """The name of the result."""
    match op:
        case "Exp":
            return _exp(steps, x)
        case "Sigmoid":
            power = _exp(steps, steps.step("Neg", x))
            return steps.step("RealDiv", 1.0, steps.step("Add", power, 1.0))
        case "Tanh":
            return _tanh(steps, x)
    raise ValueError(f"no machine code for the op type {op!r}")


def _polynomial(steps: Steps, coefficients: tuple[float, ...], x: str) -> str:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = steps.call("fma", total, x, coefficient)
    return total  # type: ignore[no-any-return]


def _exp(steps: Steps, x: str, lowest: float = _LOWEST, highest: float = _HIGHEST) -> str:
    """2^n exp(r) with n a whole number and abs(r) at most half of ln 2."""
    above = steps.step("Select", steps.step("Greater", x, lowest), x, lowest)  # NaN goes, too
    inside = steps.step("Select", steps.step("Less", above, highest), above, highest)
    n = steps.call("rint", steps.step("Mul", inside, _LOG2_E))
    rest = steps.call("fma", n, _MINUS_LN2_HIGH, inside)
    rest = steps.call("fma", n, _MINUS_LN2_LOW, rest)
    square = steps.step("Mul", rest, rest)
    power = steps.call("fma", _polynomial(steps, _EXP, rest), square, rest)
    power = steps.step("Add", power, 1.0)
    whole = steps.put(f"fptosi {steps.type} {n} to {steps.whole_type}")
    parts = [whole]
    if highest == _HIGHEST:  # 2^n may be too large or too small for one factor
        half = steps.put(f"ashr {steps.whole_type} {whole}, {steps.whole(1)}")
        parts = [half, steps.put(f"sub {steps.whole_type} {whole}, {half}")]
    for part in parts:
        raised = steps.put(f"add {steps.whole_type} {part}, {steps.whole(_EXPONENT_BIAS)}")
        bits = steps.put(f"shl {steps.whole_type} {raised}, {steps.whole(_EXPONENT_SHIFT)}")
        factor = steps.put(f"bitcast {steps.whole_type} {bits} to {steps.type}")
        power = steps.step("Mul", power, factor)
    return steps.step("Select", steps.step("NotEqual", x, x), x, power)


def _tanh(steps: Steps, x: str) -> str:
    size = steps.step("Abs", x)
    square = steps.step("Mul", x, x)
    cubed = steps.step("Mul", square, size)
    near = steps.call("fma", _polynomial(steps, _TANH, square), cubed, size)
    power = _exp(steps, steps.step("Add", size, size), 0.0, _TANH_LARGE)
    fraction = steps.step("RealDiv", 2.0, steps.step("Add", power, 1.0))
    far = steps.step("Sub", 1.0, fraction)
    result = steps.step("Select", steps.step("Less", size, _TANH_SMALL), near, far)
    return steps.step("Copysign", result, x)
