"""Kernels of the ops in `dataflow.ops.special`, vectorized without SciPy.

All are computed in float64 and returned in the dtype of the input. Most are formulas
(`jit.traced_functions`): what is written here for arrays is machine code where arrays are large.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.error_function import erf, erfc, single_erf
from dataflow.kernels.jit.op_table import log1p
from dataflow.kernels.jit.traced_functions import Formula
from dataflow.kernels.jit.tracer import repeated
from dataflow.kernels.normal_quantile import central_and_tail_quantile, horner, normal_quantile
from dataflow.kernels.registry import kernel

#: Bernoulli numbers B2, B4, ... B24.
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
    854513 / 138,
    -236364091 / 2730,
)
#: Of sin(pi x) / x, by powers of x^2, for abs(x) up to 0.5.
_SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12))
#: Of cos(pi x).
_COSINE = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(13))
_SHIFT = 8  # the asymptotic series below are exact to double precision from here on


#: Terms of a series, at most: for numbers up to 10,000.
_MOST_TERMS = 15_200
#: Stands for zero in Lentz's method.
_TINY = 1e-300
#: A factor closer to one than this changes the last digit at most.
_ROUNDING = 4.5e-16


def _wide(xp: Module, *values: Any) -> Any:
    """In double precision: one array, or several of one shape."""
    wide = [xp.asarray(v, dtype=np.float64) for v in values]
    return wide[0] if len(wide) == 1 else xp.broadcast_arrays(*wide)


def _from_nearest(xp: Module, x: Array) -> Any:
    """x less the whole number next to it."""
    return x - xp.rint(x)


def _size_of_sine(xp: Module, x: Array) -> Any:
    """abs(sin(pi x)), exact next to whole numbers."""
    rest = xp.abs(_from_nearest(xp, x))
    return rest * horner(rest * rest, _SINE[::-1])


def _cotangent(xp: Module, x: Array) -> Any:
    """1 / tan(pi x)."""
    rest = _from_nearest(xp, x)
    squared = rest * rest
    return horner(squared, _COSINE[::-1]) / (rest * horner(squared, _SINE[::-1]))


def log_gamma(xp: Module, x: Array) -> Any:
    """log(abs(gamma(x))): moved above 8 by gamma's recurrence, then Stirling's series."""
    reflected = x < 0.5
    z = xp.where(reflected, 1.0 - x, x)
    product = xp.ones_like(z)
    for _ in range(_SHIFT):
        small = z < _SHIFT
        product = xp.where(small, product * z, product)
        z = xp.where(small, z + 1.0, z)
    inverse = 1.0 / z
    squared = inverse * inverse
    series = xp.zeros_like(z)
    for k in range(8, 0, -1):
        series = series * squared + _BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
    stirling = (z - 0.5) * xp.log(z) - z + 0.5 * math.log(2 * math.pi) + series * inverse
    result = stirling - xp.log(product)
    result = xp.where(xp.isinf(x), xp.inf, result)
    flipped = math.log(math.pi) - xp.log(_size_of_sine(xp, x)) - result
    pole = (x <= 0) & (x == xp.floor(x))
    return xp.where(pole, xp.inf, xp.where(reflected, flipped, result))


def digamma(xp: Module, x: Array) -> Any:
    """The derivative of log_gamma, by recurrence and the asymptotic series."""
    reflected = x < 0.5
    z = xp.where(reflected, 1.0 - x, x)
    shift = xp.zeros_like(z)
    for _ in range(_SHIFT):
        small = z < _SHIFT
        shift = xp.where(small, shift + 1.0 / z, shift)
        z = xp.where(small, z + 1.0, z)
    squared = 1.0 / (z * z)
    series = xp.zeros_like(z)
    for k in range(8, 0, -1):
        series = (series + _BERNOULLI[k - 1] / (2 * k)) * squared
    result = xp.log(z) - 0.5 / z - series - shift
    flipped = result - math.pi * _cotangent(xp, x)
    pole = (x <= 0) & (x == xp.floor(x))
    return xp.where(pole, xp.nan, xp.where(reflected, flipped, result))


def hurwitz_zeta(xp: Module, x: Array, q: Any, steps: int = 10) -> Any:
    """The sum of (q + k)**-x by Euler and Maclaurin: terms up to q + k > 9, then the tail.

    Where q is negative, more ``steps`` are needed to get there.
    """
    total = xp.zeros_like(q)
    a = q
    for _ in range(steps):
        total = total + a**-x
        a = a + 1.0
    tail = a**-x
    total = total + tail * a / (x - 1.0) + 0.5 * tail
    factor = tail * x / a
    for j in range(1, 13):
        total = total + factor * (_BERNOULLI[j - 1] / math.factorial(2 * j))
        factor = factor * (x + 2 * j - 1) * (x + 2 * j) / (a * a)
    pole = (q <= 0) & (q == xp.floor(q))
    total = xp.where(pole, xp.inf, total)
    total = xp.where((q <= 0) & (x != xp.floor(x)), xp.nan, total)
    total = xp.where(xp.isinf(x) & (q > 1), 0.0, total)
    return xp.where(x == 1, xp.inf, xp.where(x < 1, xp.nan, total))


def _gamma_series(xp: Module, a: Array, x: Array) -> Any:
    """The sum of x**n / ((a+1)...(a+n)) over n."""

    def step(n: Any, term: Any, total: Any) -> Any:
        term = term * (x / (a + n))
        total = total + term
        return (term, total), term <= 1e-17 * total

    return repeated(xp, step, (xp.ones_like(a), xp.ones_like(a)), _MOST_TERMS)[1]


def _gamma_series_by_a(xp: Module, a: Array, x: Array) -> tuple[Any, Any]:
    """The same sum, and the sum of its terms times -sum of 1 / (a+k)."""

    def step(n: Any, term: Any, harmonic: Any, total: Any, derivative: Any) -> Any:
        inverse = 1.0 / (a + n)
        term = term * (x * inverse)
        harmonic = harmonic - inverse
        total = total + term
        change = term * harmonic
        derivative = derivative + change
        small = (term <= 1e-17 * total) & (xp.abs(change) <= 1e-17 * (1 + xp.abs(derivative)))
        return (term, harmonic, total, derivative), small

    one, zero = xp.ones_like(a), xp.zeros_like(a)
    return repeated(xp, step, (one, zero, one, zero), _MOST_TERMS)[2:]


def _upper_fraction(xp: Module, a: Array, x: Array) -> Any:
    """The continued fraction of the upper incomplete gamma function, by Lentz's method."""

    def step(i: Any, b: Array, c: Any, d: Any, result: Any) -> Any:
        factor = -i * (i - a)
        b = b + 2.0
        d = 1.0 / _not_zero(xp, factor * d + b)
        c = _not_zero(xp, b + factor / c)
        change = c * d
        return (b, c, d, result * change), xp.abs(change - 1.0) < _ROUNDING

    b = x + 1.0 - a
    d = 1.0 / _not_zero(xp, b)
    return repeated(xp, step, (b, xp.full_like(x, 1.0 / _TINY), d, d), 2000)[3]


def _not_zero(xp: Module, v: Any) -> Any:
    return xp.where(xp.abs(v) < _TINY, _TINY, v)


def incomplete_gamma(xp: Module, a: Array, x: Array, upper: bool) -> Any:
    """P(a, x), or 1 - P: the series where x < a + 1, the continued fraction above."""
    valid = (a > 0) & (x >= 0)
    a_safe = xp.where(valid, a, 1.0)
    by_series = x < a_safe + 1.0
    # Where one way is not taken, it is given something that it is soon done with.
    x_low = xp.where(valid & by_series, x, 1e-20)
    is_high = valid & ~by_series & ~xp.isinf(x)
    a_high, x_high = xp.where(is_high, a_safe, 1.0), xp.where(is_high, x, 30.0)
    low = _gamma_series(xp, a_safe, x_low)
    scale_low = xp.exp(a_safe * xp.log(x_low) - x_low - log_gamma(xp, a_safe + 1.0))
    lower = xp.where(x_low == 0, 0.0, low * scale_low)
    scale_high = xp.exp(a_high * xp.log(x_high) - x_high - log_gamma(xp, a_high))
    above = _upper_fraction(xp, a_high, x_high) * scale_high
    above = xp.where(xp.isinf(x), 0.0, above)
    if upper:
        result = xp.where(by_series, 1.0 - lower, above)
    else:
        result = xp.where(by_series, lower, 1.0 - above)
        result = xp.where(x == 0, 0.0, result)
    result = xp.where(xp.isinf(a) & ~xp.isinf(x), float(upper), result)
    return xp.where(valid if upper else valid | (x == 0), result, xp.nan)


def incomplete_gamma_by_a(xp: Module, a: Array, x: Array) -> Any:
    """The derivative of P(a, x) by a: the series, term by term."""
    valid = (a > 0) & (x > 0)
    a_safe, x_safe = xp.where(valid, a, 1.0), xp.where(valid, x, 1.0)
    total, derivative = _gamma_series_by_a(xp, a_safe, x_safe)
    scale = xp.exp(a_safe * xp.log(x_safe) - x_safe - log_gamma(xp, a_safe + 1.0))
    slope = (xp.log(x_safe) - digamma(xp, a_safe + 1.0)) * total + derivative
    return xp.where(valid, scale * slope, xp.where(x == 0, 0.0, xp.nan))


def _beta_fraction(xp: Module, a: Array, b: Array, x: Array) -> Any:
    """The continued fraction of the incomplete beta function, by Lentz's method."""

    def step(m: Any, c: Any, d: Any, result: Any) -> Any:
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / _not_zero(xp, 1.0 + even * d)
        c = _not_zero(xp, 1.0 + even / c)
        result = result * (d * c)
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _not_zero(xp, 1.0 + odd * d)
        c = _not_zero(xp, 1.0 + odd / c)
        change = d * c
        return (c, d, result * change), xp.abs(change - 1.0) < _ROUNDING

    d = 1.0 / _not_zero(xp, 1.0 - (a + b) * x / (a + 1.0))
    return repeated(xp, step, (xp.ones_like(x), d, d), 1000)[2]


def incomplete_beta(xp: Module, a: Array, b: Array, x: Array) -> Any:
    """I_x(a, b), by its continued fraction on the side where that converges fast."""
    valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    p, q = xp.where(valid, a, 1.0), xp.where(valid, b, 1.0)
    t = xp.where(valid, x, 0.5)
    swapped = t > (p + 1.0) / (p + q + 2.0)
    p, q = xp.where(swapped, q, p), xp.where(swapped, p, q)
    t = xp.where(swapped, 1.0 - t, t)
    log_beta = log_gamma(xp, p) + log_gamma(xp, q) - log_gamma(xp, p + q)
    inner = xp.where(t > 0, t, 0.5)
    front = xp.exp(p * xp.log(inner) + q * log1p(xp, -inner) - log_beta) / p
    result = xp.where(t > 0, front * _beta_fraction(xp, p, q, inner), 0.0)
    return xp.where(valid, xp.where(swapped, 1.0 - result, result), xp.nan)


@functools.cache
def _bessel_coefficients(order: int, far: bool) -> tuple[float, ...]:
    """Chebyshev coefficients of ``exp(-x) * I_n(x) / x**n`` over x in [0, 8], or ``sqrt(x) * exp(-x) *
    I_n(x)`` over 8 / x in [0, 1].

    They are as many as those of Cephes (S. Moshier), which approximates the same functions. Values come
    from the power series, and from the trapezoid rule for the integral over a period.
    """

    def near_value(x: float) -> float:
        terms = (
            (x / 2.0) ** (2 * k) / (math.factorial(k) * math.factorial(k + order))
            for k in range(60)
        )
        return math.exp(-x) * math.fsum(terms) * 0.5**order

    def far_value(x: float) -> float:
        points = 64 + int(8.0 * math.sqrt(x))
        angles = (math.pi * k / points for k in range(1, points))
        terms = (math.exp(x * (math.cos(t) - 1.0)) * math.cos(order * t) for t in angles)
        ends = 0.5 * (1.0 + (-1.0) ** order * math.exp(-2.0 * x))
        return math.sqrt(x) * math.fsum((ends, *terms)) / points

    num = 25 if far else 30
    nodes = [math.pi * (k + 0.5) / num for k in range(num)]
    at = [(1.0 + math.cos(t)) / 2.0 for t in nodes]
    values = [far_value(8.0 / x) if far else near_value(8.0 * x) for x in at]
    found = []
    for i in range(num):
        total = math.fsum(v * math.cos(i * t) for v, t in zip(values, nodes, strict=True))
        found.append((2.0 if i else 1.0) * total / num)
    return tuple(found)


def _chebyshev(coefficients: tuple[float, ...], t: Any) -> Any:
    """The series at ``t``, by Clenshaw's recurrence."""
    later, value = 0.0 * t, 0.0 * t + coefficients[-1]
    for c in coefficients[-2:0:-1]:
        later, value = value, 2.0 * t * value - later + c
    return t * value - later + coefficients[0]


def scaled_bessel_i(xp: Module, x: Array, order: int) -> Any:
    """exp(-abs(x)) * I_n(x) for n = 0, 1: one Chebyshev series up to 8, another beyond."""
    size = xp.abs(x)
    small = xp.minimum(size, 8.0)
    near = _chebyshev(_bessel_coefficients(order, far=False), small * 0.25 - 1.0)
    near = near * small if order else near
    large = xp.maximum(size, 8.0)
    far = _chebyshev(_bessel_coefficients(order, far=True), 16.0 / large - 1.0) / xp.sqrt(large)
    result = xp.where(size <= 8.0, near, far)
    return xp.copysign(result, x) if order else result


# ---- the kernels ---------------------------------------------------------------------------------


_ERF, _SINGLE_ERF, _ERFC = Formula(erf, 1), Formula(single_erf, 1), Formula(erfc, 1)
_LGAMMA, _DIGAMMA = Formula(log_gamma, 1), Formula(digamma, 1)
_ZETA = Formula(hurwitz_zeta, 2)
_IGAMMA = Formula(functools.partial(incomplete_gamma, upper=False), 2)
_IGAMMAC = Formula(functools.partial(incomplete_gamma, upper=True), 2)
_IGAMMA_BY_A = Formula(incomplete_gamma_by_a, 2)
_BETAINC = Formula(incomplete_beta, 3)
_BESSEL = {n: Formula(functools.partial(scaled_bessel_i, order=n), 1) for n in (0, 1)}


@kernel("Erf")
def erf_kernel(xp: Module, x: Array) -> Any:
    return (_ERF if x.dtype.char == "d" else _SINGLE_ERF)(xp, x)


@kernel("Erfc")
def erfc_kernel(xp: Module, x: Array) -> Any:
    return _ERFC(xp, x)


@kernel("Erfinv")
def erfinv_kernel(xp: Module, x: Array) -> Any:
    wide = _wide(xp, x)
    quantile = central_and_tail_quantile(xp, 0.5 * wide, 0.5 * (1.0 - xp.abs(wide)))
    return (quantile * math.sqrt(0.5)).astype(x.dtype)


@kernel("Ndtri")
def ndtri_kernel(xp: Module, x: Array) -> Any:
    return normal_quantile(xp, _wide(xp, x)).astype(x.dtype)


@kernel("Lgamma")
def lgamma_kernel(xp: Module, x: Array) -> Any:
    return _LGAMMA(xp, x)


@kernel("Digamma")
def digamma_kernel(xp: Module, x: Array) -> Any:
    return _DIGAMMA(xp, x)


@kernel("Polygamma")
def polygamma_kernel(xp: Module, a: Array, x: Array) -> Any:
    order, at = _wide(xp, a, x)
    plus = xp.exp(_LGAMMA(xp, order + 1.0)) * _zeta(xp, order + 1.0, at)
    sign = xp.where(order % 2 == 0, -1.0, 1.0)
    valid = (order >= 0) & (order == xp.floor(order))
    none = order == 0
    result = xp.where(none, _DIGAMMA(xp, at), sign * plus) if none.any() else sign * plus
    return xp.where(valid, result, xp.nan).astype(x.dtype)


@kernel("Zeta")
def zeta_kernel(xp: Module, x: Array, q: Array) -> Any:
    return _zeta(xp, *_wide(xp, x, q)).astype(x.dtype)


def _zeta(xp: Module, x: Array, q: Any) -> Any:
    smallest = float(q.min()) if q.size else 0.0
    if not smallest < 0:
        return _ZETA(xp, x, q)
    return hurwitz_zeta(xp, x, q, 10 + min(int(-smallest) + 1, 1000))


@kernel("Igamma")
def igamma_kernel(xp: Module, a: Array, x: Array) -> Any:
    return _IGAMMA(xp, a, x)


@kernel("Igammac")
def igammac_kernel(xp: Module, a: Array, x: Array) -> Any:
    return _IGAMMAC(xp, a, x)


@kernel("IgammaGradA")
def igamma_grad_a_kernel(xp: Module, a: Array, x: Array) -> Any:
    return _IGAMMA_BY_A(xp, a, x)


@kernel("RandomGammaGrad")
def random_gamma_grad_kernel(xp: Module, alpha: Array, sample: Array) -> Any:
    a, x = _wide(xp, alpha, sample)
    density = xp.exp((a - 1.0) * xp.log(x) - x - _LGAMMA(xp, a))
    return (-_IGAMMA_BY_A(xp, a, x) / density).astype(sample.dtype)


@kernel("Betainc")
def betainc_kernel(xp: Module, a: Array, b: Array, x: Array) -> Any:
    return _BETAINC(xp, a, b, x)


@kernel("Xlogy")
def xlogy_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.where(x == 0, x.dtype.type(0), x * xp.log(y))[()]


@kernel("Xlog1py")
def xlog1py_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.where(x == 0, x.dtype.type(0), x * xp.log1p(y))[()]


@kernel("Xdivy")
def xdivy_kernel(xp: Module, x: Array, y: Array) -> Any:
    return xp.where(x == 0, x.dtype.type(0), x / y)[()]


@kernel("NextAfter")
def next_after_kernel(xp: Module, x1: Array, x2: Array) -> Any:
    return xp.nextafter(x1, x2)


def _bessel(op_type: str, order: int, scaled: bool) -> None:
    @kernel(op_type)
    def bessel_kernel(xp: Module, x: Array) -> Any:
        if scaled:
            return _BESSEL[order](xp, x)
        wide = _wide(xp, x)
        return (_BESSEL[order](xp, wide) * xp.exp(xp.abs(wide))).astype(x.dtype)


for _op_type, _order, _scaled in (
    ("BesselI0", 0, False),
    ("BesselI0e", 0, True),
    ("BesselI1", 1, False),
    ("BesselI1e", 1, True),
):
    _bessel(_op_type, _order, _scaled)
