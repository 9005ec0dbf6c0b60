"""Exponentials and logarithms of double precision, for loops in machine code.

Within two units in the last place. The polynomials are the first terms of the power series, as many
as double precision can tell apart; NaN, infinity, overflow and the smallest numbers come out as
IEEE 754 has them. Those of single precision are in `transcendental`.
"""

from __future__ import annotations

import math
import struct

from dataflow.kernels.jit.transcendental import (
    Steps,
    log1p,
    logarithm_at_the_ends,
    polynomial,
)

OPS = frozenset({"Exp", "Log", "Log1p"})

_LOWEST, _HIGHEST = -746.0, 710.0  # beyond them the results are 0 and infinity
_LOG2_E = 1.44269504088896341
#: ln 2 as a double, and what that lacks.
_LN2, _LN2_REST = 0.693147180559945309, 2.319046813846299558e-17
#: Of exp(r) for abs(r) up to half of ln 2.
_EXP = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
#: Of 2 atanh(s) / s - 2, by powers of s^2, for abs(s) up to 0.172.
_ATANH = tuple(2.0 / (2 * k + 1) for k in range(11, 0, -1))
#: A number added to this stands in its last digits.
_MAGIC = 1.5 * 2.0**52
_BIAS, _SHIFT = 1023, 52
_SMALLEST_NORMAL, _RAISE, _RAISED_BITS = 2.0**-1022, 2.0**54, 54.0
_LARGE = 2.0**54  # from here on 1 + x is x


def _bits(number: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", number))[0])


def write(steps: Steps, op: str, x: str) -> str:
    """The name of the result."""
    match op:
        case "Exp":
            return _exp(steps, x)
        case "Log":
            return _log(steps, x)
        case "Log1p":
            return log1p(steps, x, _log, _LARGE)
    raise ValueError(f"no machine code in double precision for the op type {op!r}")


def _exp(steps: Steps, x: str) -> str:
    """2^n exp(r) with n a whole number and abs(r) at most half of ln 2."""
    above = steps.step("Select", steps.step("Greater", x, _LOWEST), x, _LOWEST)  # NaN goes, too
    inside = steps.step("Select", steps.step("Less", above, _HIGHEST), above, _HIGHEST)
    n = steps.call("rint", steps.step("Mul", inside, _LOG2_E))
    rest = steps.call("fma", n, -_LN2, inside)
    rest = steps.call("fma", n, -_LN2_REST, rest)
    power = polynomial(steps, _EXP, rest)
    kind = steps.whole_type
    shifted = _as_whole(steps, steps.step("Add", n, _MAGIC))
    whole = steps.put(f"sub {kind} {shifted}, {steps.whole(_bits(_MAGIC))}")
    half = steps.put(f"ashr {kind} {whole}, {steps.whole(1)}")  # 2^n may be too large for one
    for part in (half, steps.put(f"sub {kind} {whole}, {half}")):
        raised = steps.put(f"add {kind} {part}, {steps.whole(_BIAS)}")
        factor = steps.put(f"shl {kind} {raised}, {steps.whole(_SHIFT)}")
        power = steps.step("Mul", power, _as_number(steps, factor))
    return steps.step("Select", steps.step("NotEqual", x, x), x, power)


def _log(steps: Steps, x: str) -> str:
    """e ln 2 + ln(1 + f) where x is (1 + f) 2^e, and 1 + f lies around 1; with s = f / (2 + f) the
    second is 2 atanh(s), that is f less f^2 / 2 and s times what is left."""
    kind = steps.whole_type
    tiny = steps.step("Less", x, _SMALLEST_NORMAL)
    raised = steps.step("Select", tiny, steps.step("Mul", x, _RAISE), x)
    bits = _as_whole(steps, raised)
    above = steps.put(f"sub {kind} {bits}, {steps.whole(_bits(math.sqrt(0.5)))}")
    exponent = steps.put(f"ashr {kind} {above}, {steps.whole(_SHIFT)}")
    placed = steps.put(f"shl {kind} {exponent}, {steps.whole(_SHIFT)}")
    m = _as_number(steps, steps.put(f"sub {kind} {bits}, {placed}"))
    magic = steps.put(f"add {kind} {exponent}, {steps.whole(_bits(_MAGIC))}")
    e = steps.step("Sub", _as_number(steps, magic), _MAGIC)
    e = steps.step("Sub", e, steps.step("Select", tiny, _RAISED_BITS, 0.0))
    f = steps.step("Sub", m, 1.0)
    s = steps.step("RealDiv", f, steps.step("Add", f, 2.0))
    z = steps.step("Mul", s, s)
    series = steps.step("Mul", polynomial(steps, _ATANH, z), z)
    half = steps.step("Mul", steps.step("Mul", f, 0.5), f)
    rest = steps.call("fma", s, steps.step("Add", half, series), steps.step("Mul", e, _LN2_REST))
    total = steps.step("Sub", f, steps.step("Sub", half, rest))
    return logarithm_at_the_ends(steps, x, steps.call("fma", e, _LN2, total))


def _as_whole(steps: Steps, x: str) -> str:
    return steps.put(f"bitcast {steps.type} {x} to {steps.whole_type}")


def _as_number(steps: Steps, x: str) -> str:
    return steps.put(f"bitcast {steps.whole_type} {x} to {steps.type}")
