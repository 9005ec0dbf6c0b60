"""Exponentials and logarithms by elementary instructions, for loops in machine code.

Single precision. ``exp`` and ``log`` are computed as NumPy computes them on x86-64 processors with
fused multiply-add (its ``loops_exponent_log``: the same range reduction, rational approximation and
order of operations), so that they give the same bits there; `compiler.inlined` checks this. NaN,
infinity, overflow and subnormal numbers follow IEEE 754.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataflow.kernels.jit.step_codegen import StepWriter

#: exp(x) is 0 below the first, and infinity above the second.
_LOWEST, _HIGHEST = -103.97208404541015625, 88.72283935546875
_LOG2_E = 1.44269504088896341
#: -ln 2 in two parts, and exp(r) as a quotient of polynomials, from the highest power of r on.
_EXP_LN2 = (-6.93145752e-1, -1.42860677e-6)
_EXP_ABOVE = (
    *(5.082762527590693718096e-04, 6.757896990527504603057e-03, 5.114512081637298353406e-02),
    *(2.473615434895520810817e-01, 7.257664613233124478488e-01, 9.999999999980870924916e-01),
)
_EXP_BELOW = (2.159509375685829852307e-02, -2.742335390411667452936e-01, 1.0)
#: ln(1 + r), likewise.
_LOG_ABOVE = (
    *(2.589979117907922693523e-02, 3.808837741388407920751e-01, 1.480000633576506585156e00),
    *(2.112677543073053063722e00, 9.999999999999998702752e-01, 0.0),
)
_LOG_BELOW = (
    *(5.875095403124574342950e-03, 1.546476374983906719538e-01, 9.864942958519418960339e-01),
    *(2.453006071784736363091e00, 2.612677543073109236779e00, 1.0),
)
_LN2 = 0.693147180559945309
#: Adding this and subtracting it again rounds to an integer.
_MAGIC, _MAGIC_BITS = 1.5 * 2.0**23, 0x4B400000
_SQRT_HALF = 0.707106781186547524
_SMALLEST_NORMAL, _RAISE, _RAISED_BITS = 2.0**-126, 2.0**23, 23.0
_EXPONENT_BIAS, _EXPONENT_SHIFT = 127, 23
#: The mantissa bits of a number, and the exponent bits of numbers in [0.5, 1).
_DIGITS, _HALF_BITS = 0x007FFFFF, 0x3F000000


def write(steps: StepWriter, op: str, x: str) -> str:
    """Writes the steps of ``op`` on ``x`` and returns the name of the result."""
    match op:
        case "Exp":
            return _exp(steps, x)
        case "Log":
            return _log(steps, x)
    raise ValueError(f"no machine code for the op type {op!r}")


def _polynomial(steps: StepWriter, coefficients: tuple[float, ...], x: str) -> str:
    total: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        total = steps.call("fma", total, x, coefficient)
    return total  # type: ignore[no-any-return]


def _power_of_two(steps: StepWriter, whole: str) -> str:
    raised = steps.put(f"add {steps.whole_type} {whole}, {steps.whole(_EXPONENT_BIAS)}")
    bits = steps.put(f"shl {steps.whole_type} {raised}, {steps.whole(_EXPONENT_SHIFT)}")
    return steps.put(f"bitcast {steps.whole_type} {bits} to {steps.type}")


def _exp(steps: StepWriter, x: str) -> str:
    """2^n exp(r), where n is an integer and abs(r) <= ln(2) / 2."""
    shifted = steps.step("Add", steps.step("Mul", x, _LOG2_E), _MAGIC)
    n = steps.step("Sub", shifted, _MAGIC)
    rest = steps.call("fma", n, _EXP_LN2[0], x)
    rest = steps.call("fma", n, _EXP_LN2[1], rest)
    above, below = _polynomial(steps, _EXP_ABOVE, rest), _polynomial(steps, _EXP_BELOW, rest)
    power = steps.step("RealDiv", above, below)
    bits = steps.put(f"bitcast {steps.type} {shifted} to {steps.whole_type}")
    whole = steps.put(f"sub {steps.whole_type} {bits}, {steps.whole(_MAGIC_BITS)}")
    # 2^n may be too large or too small for one factor; the first product is exact.
    half = steps.put(f"ashr {steps.whole_type} {whole}, {steps.whole(1)}")
    for part in (half, steps.put(f"sub {steps.whole_type} {whole}, {half}")):
        power = steps.step("Mul", power, _power_of_two(steps, part))
    ordinary = steps.step("Less", x, _HIGHEST)
    power = steps.step("Select", ordinary, power, steps.step("Add", x, float("inf")))  # and NaN
    return steps.step("Select", steps.step("LessEqual", x, _LOWEST), 0.0, power)


def _log(steps: StepWriter, x: str) -> str:
    """e ln 2 + ln(m), where x = m 2^e and m is near 1."""
    tiny = steps.step("Less", x, _SMALLEST_NORMAL)
    raised = steps.step("Select", tiny, steps.step("Mul", x, _RAISE), x)
    bits = steps.put(f"bitcast {steps.type} {raised} to {steps.whole_type}")
    shifted = steps.put(f"lshr {steps.whole_type} {bits}, {steps.whole(_EXPONENT_SHIFT)}")
    whole = steps.put(f"sub {steps.whole_type} {shifted}, {steps.whole(_EXPONENT_BIAS - 1)}")
    e = steps.put(f"sitofp {steps.whole_type} {whole} to {steps.type}")
    e = steps.step("Sub", e, steps.step("Select", tiny, _RAISED_BITS, 0.0))
    digits = steps.put(f"and {steps.whole_type} {bits}, {steps.whole(_DIGITS)}")
    halved = steps.put(f"or {steps.whole_type} {digits}, {steps.whole(_HALF_BITS)}")
    m = steps.put(f"bitcast {steps.whole_type} {halved} to {steps.type}")
    low = steps.step("LessEqual", m, _SQRT_HALF)
    e = steps.step("Sub", e, steps.step("Select", low, 1.0, 0.0))
    r = steps.step("Sub", steps.step("Select", low, steps.step("Add", m, m), m), 1.0)
    above, below = _polynomial(steps, _LOG_ABOVE, r), _polynomial(steps, _LOG_BELOW, r)
    total = steps.call("fma", e, _LN2, steps.step("RealDiv", above, below))
    return _logarithm_at_the_ends(steps, x, total)


def _logarithm_at_the_ends(steps: StepWriter, x: str, total: str) -> str:
    """The logarithm ``total``, corrected for infinity, NaN, zero and negative numbers."""
    infinity = float("inf")
    total = steps.step("Select", steps.step("Less", x, infinity), total, x)  # and NaN
    total = steps.step("Select", steps.step("Equal", x, 0.0), -infinity, total)
    return steps.step("Select", steps.step("Less", x, 0.0), float("nan"), total)
