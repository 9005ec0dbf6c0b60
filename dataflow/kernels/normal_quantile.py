"""The normal distribution function and its inverse, vectorized without SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.jit.native_ufunc import NativeUfunc
from dataflow.kernels.jit.tracer import is_recorder

# Wichura: Algorithm AS 241, The percentage points of the normal distribution (1988), PPND16;
# about 16 digits. Coefficients from the highest power down, for `horner`.
_A = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_B = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_C = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_D = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_E = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_F = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


def horner(x: Array, coefficients: tuple[float, ...]) -> Any:
    """The polynomial with these coefficients (highest power first) at x."""
    total = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        total = total * x + c
    return total


def central_and_tail_quantile(xp: Module, q: Any, tail: Any) -> Any:
    """x with ``P(X <= x) = 0.5 + q`` for standard normal X, given ``tail = 0.5 - abs(q)`` as well.

    Both are given so that neither end loses digits.
    """
    central = xp.abs(q) <= 0.425
    if is_recorder(xp):
        return xp.where(central, _middle(xp, q), _outer(xp, q, tail))
    if xp is np and q.size > 1:
        q, tail = np.ascontiguousarray(q), np.ascontiguousarray(tail)
        middle = _middle(np, q)
        outer = np.flatnonzero(~central)  # few, and they take most of the time
        if len(outer):
            q_out, tail_out = q.reshape(-1)[outer], tail.reshape(-1)[outer]
            middle.reshape(-1)[outer] = _outer(np, q_out, tail_out)
        return middle
    middle = _middle(xp, q)
    if bool(central.all()):
        return middle
    return xp.where(central, middle, _outer(xp, q, tail)).astype(q.dtype)


@NativeUfunc
def _middle(xp: Module, q: Any) -> Any:
    r = 0.180625 - q * q
    return q * horner(r, _A) / horner(r, _B)


def _outer(xp: Module, q: Any, tail: Any) -> Any:
    r = xp.sqrt(-xp.log(tail))
    near = horner(r - 1.6, _C) / horner(r - 1.6, _D)
    is_near = r <= 5
    if xp is np and is_near.all():
        return np.copysign(near, q)
    far = horner(r - 5, _E) / horner(r - 5, _F)
    outer = xp.where(is_near, near, far)
    outer = xp.where(xp.isinf(r), xp.inf, outer)
    return xp.copysign(outer, q)


def normal_quantile(xp: Module, p: Any) -> Any:
    """x with ``P(X <= x) = p`` for standard normal X; infinite at 0 and 1, nan outside.

    Computed in the dtype of p (float32 or float64).
    """
    return central_and_tail_quantile(xp, p - 0.5, xp.minimum(p, 1 - p))


def normal_cdf(xp: Any, x: Any) -> Any:
    """``P(X <= x)`` for standard normal X."""
    from dataflow.kernels.error_function import erfc

    return erfc(xp, -x * 0.7071067811865476) * 0.5
