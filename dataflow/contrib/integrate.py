"""``tf.contrib.integrate``: ordinary differential equations dy/dt = func(y, t), solved in the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import (
    abs_,
    add_n,
    cast,
    ceil,
    greater,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    reduce_all,
    reduce_mean,
    sqrt,
    square,
)
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import TensorShape

__all__ = ["odeint", "odeint_fixed"]

#: Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980): times, stages, result.
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_FOURTH_ORDER = (1951 / 21600, 0.0, 22642 / 50085, 451 / 720, -12231 / 42400, 649 / 6300, 1 / 60)
#: Shampine, "Some practical Runge-Kutta formulas" (1986): the result at the middle of a step.
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)
_OPTIONS = {
    "first_step": None,
    "safety": 0.9,
    "ifactor": 10.0,
    "dfactor": 0.2,
    "max_num_steps": 1000,
}


def _checked(y0: TensorLike, t: TensorLike) -> tuple[Tensor, Tensor]:
    y0 = convert_to_tensor(y0, name="y0")
    if not (y0.dtype.is_floating or y0.dtype.is_complex):
        raise TypeError("`y0` must have a floating point or complex floating point dtype.")
    t = convert_to_tensor(t, preferred_dtype=dtypes.float64, name="t")
    if not t.dtype.is_floating:
        raise TypeError("`t` must have a floating point dtype.")
    if t.dims is not None and len(t.dims) != 1:
        raise ValueError(f"`t` must be a vector, got shape {t.get_shape()}.")
    rising = Assert(reduce_all(greater(t[1:], t[:-1])), ["`t` must be monotonic increasing"])
    with control_dependencies([rising]):
        return y0, array.identity(t)


def _weighed(factors: Any, parts: Any, dt: Tensor) -> Tensor:
    """dt times the sum of ``parts``, each with its factor."""
    kept = [p * cast(f * dt, p.dtype) for f, p in zip(factors, parts, strict=False) if f]
    return add_n(kept)


def _stage(
    func: Callable[..., Any], y: Tensor, slope: Tensor, t: Tensor, dt: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """One step: the value after it, the estimated error and the seven slopes."""
    slopes = [slope]
    for fraction, factors in zip(_TIMES, _STAGES, strict=True):
        after = y + _weighed(factors, slopes, dt)
        slopes.append(_slope(func, after, t + fraction * dt))
    differences = [a - b for a, b in zip((*_STAGES[-1], 0.0), _FOURTH_ORDER, strict=True)]
    return after, _weighed(differences, slopes, dt), slopes


def _slope(func: Callable[..., Any], y: Tensor, t: Tensor) -> Tensor:
    slope = convert_to_tensor(func(y, t), dtype=y.dtype)
    slope.set_shape(y.get_shape())
    return slope


def _quartic(y: Tensor, after: Tensor, slopes: Any, dt: Tensor) -> list[Tensor]:
    """The polynomial of the step, lowest power first: both ends, both slopes, and the middle."""
    first, last = (s * cast(dt, s.dtype) for s in (slopes[0], slopes[-1]))
    middle = y + _weighed(_MIDDLE, slopes, dt)
    return [
        y,
        first,
        -4 * first + last - 11 * y - 5 * after + 16 * middle,
        5 * first - 3 * last + 18 * y + 14 * after - 32 * middle,
        -2 * first + 2 * last - 8 * y - 8 * after + 16 * middle,
    ]


def _at(polynomial: list[Tensor], begin: Tensor, end: Tensor, t: Tensor) -> Tensor:
    x = cast((t - begin) / (end - begin), polynomial[0].dtype)
    value = polynomial[-1]
    for coefficient in polynomial[-2::-1]:
        value = value * x + coefficient
    return value


def odeint(
    func: Callable[..., Any],
    y0: TensorLike,
    t: TensorLike,
    rtol: float = 1e-6,
    atol: float = 1e-12,
    method: str | None = None,
    options: dict[str, Any] | None = None,
    full_output: bool = False,
    name: str | None = None,
) -> Any:
    """The solution [times, ...] of dy/dt = ``func(y, t)``, with ``y0`` at the first of the times ``t``.

    Dormand and Prince's method of order 5, whose step follows from the error: at most
    ``atol + rtol * abs(y)``. ``options``: first_step, safety, ifactor, dfactor, max_num_steps.
    With ``full_output`` also a dict of num_func_evals, integrate_points and error_ratio.

    Raises `TypeError` for values or times that are no floats, `ValueError` for another method, for
    unknown options, and for options without a method; in a run `InvalidArgumentError` for times
    that do not rise, for too many steps and for a step that became too small.
    """
    if method is None and options is not None:
        raise ValueError("cannot supply `options` without specifying `method`")
    if method not in (None, "dopri5"):
        raise ValueError(f"method {method!r} is not known: use 'dopri5', or odeint_fixed.")
    unknown = set(options or {}) - set(_OPTIONS)
    if unknown:
        raise ValueError(f"unknown options: {sorted(unknown)}; choose from {sorted(_OPTIONS)}")
    with name_scope(name, "odeint", [y0, t]):
        y0, t = _checked(y0, t)
        solver = _Adaptive(func, t, rtol, atol, {**_OPTIONS, **(options or {})})
        solution, info = solver.solve(y0)
        return (solution, info) if full_output else solution


def _first_step(
    func: Callable[..., Any], y0: Tensor, slope0: Tensor, start: Tensor, rtol: Any, atol: Any
) -> Tensor:
    """The first step's size: Hairer, Norsett and Wanner, "Solving Ordinary Differential Equations I", II.4."""
    of_error = y0.dtype.real_dtype
    scale = cast(atol, of_error) + cast(rtol, of_error) * abs_(y0)
    size0, size1 = (sqrt(reduce_mean(square(abs_(v) / scale))) for v in (y0, slope0))
    sizable = logical_and(greater(size0, 1e-5), greater(size1, 1e-5))
    guess = array.where(sizable, 0.01 * size0 / size1, array.ones_like(size0) * 1e-6)
    ahead = y0 + cast(guess, y0.dtype) * slope0
    bend = _slope(func, ahead, start + cast(guess, start.dtype)) - slope0
    size2 = sqrt(reduce_mean(square(abs_(bend) / scale))) / guess
    largest = maximum(size1, size2)
    chosen = array.where(
        less_equal(largest, 1e-15),
        maximum(guess * 1e-3, cast(1e-6, of_error)),
        (0.01 / largest) ** 0.2,
    )
    return cast(minimum(100 * guess, chosen), start.dtype)  # type: ignore[no-any-return]


def _growth(relative: Tensor, accepted: Tensor, options: dict[str, Any]) -> Any:
    """What the next step's size is multiplied by, after one whose error was ``relative`` to that allowed."""
    growth = options["safety"] / cast(relative, dtypes.float64) ** 0.2
    # A step that failed only becomes smaller, by dfactor at most.
    lowest = array.where(
        accepted, cast(1.0, dtypes.float64), cast(options["dfactor"], dtypes.float64)
    )
    return minimum(cast(options["ifactor"], dtypes.float64), maximum(lowest, growth))


#: The number of steps; the value, its slope, the times before and after the last step and the size of the next;
#: the polynomial of the last step; and what `odeint` tells of the solution.
_State = tuple[Any, ...]


class _Adaptive:
    """Steps whose size follows from their error, until a time is passed; values by the last one's polynomial."""

    def __init__(
        self, func: Callable[..., Any], times: Tensor, rtol: Any, atol: Any, options: dict[str, Any]
    ) -> None:
        self.func, self.times, self.rtol, self.atol = func, times, rtol, atol
        self.options = options
        self.kind = times.dtype.base_dtype
        self.invariants: list[TensorShape] = []

    def solve(self, y0: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The values [times, ...], and what `odeint` tells of them."""
        times = self.times
        slope0 = _slope(self.func, y0, times[0])
        self.limit = convert_to_tensor(self.options["max_num_steps"], dtypes.int32)
        state = self._first(y0, slope0)
        self.invariants = [v.get_shape() for v in state[:-2]] + [TensorShape([None])] * 2
        number = array.size(times)
        results = TensorArray(y0.dtype, number, element_shape=y0.get_shape()).write(0, y0)

        def interpolate(index: Any, array_: Any, *state: Any) -> Any:
            state = self._advance(times[index], state)
            value = _at(list(state[6:11]), state[3], state[4], times[index])
            return (index + 1, array_.write(index, value), *state)

        final = while_loop(
            lambda index, *rest: less(index, number),
            interpolate,
            (1, results, *state),
            shape_invariants=[TensorShape([]), TensorShape(None), *self.invariants],
            name="interpolate",
        )
        solution = final[1].stack()
        solution.set_shape(times.get_shape().concatenate(y0.get_shape()))
        return solution, {
            "num_func_evals": final[-3],
            "integrate_points": final[-2],
            "error_ratio": final[-1],
        }

    def _first(self, y0: Tensor, slope0: Tensor) -> _State:
        times, first = self.times, self.options["first_step"]
        evaluations = 1 if first is not None else 2
        if first is None:
            first = _first_step(self.func, y0, slope0, times[0], self.rtol, self.atol)
        first = convert_to_tensor(first, self.kind)
        no_numbers = array.zeros([0], self.kind)
        zero = array.zeros_like(y0)
        return (
            array.zeros([], dtypes.int32), y0, slope0, times[0], times[0], first,
            y0, zero, zero, zero, zero,
            convert_to_tensor(evaluations), no_numbers, no_numbers,
        )  # fmt: skip

    def _advance(self, target: Tensor, state: _State) -> Any:
        """Steps until ``target`` is passed."""
        return while_loop(
            lambda count, y, slope, begin, end, *rest: greater(target, end),
            self._step,
            (array.zeros([], dtypes.int32), *state[1:]),
            shape_invariants=self.invariants,
            name="step",
        )

    def _step(
        self, count: Any, y: Any, slope: Any, begin: Any, end: Any, dt: Any, *rest: Any
    ) -> _State:
        polynomial, evaluations, points, ratios = list(rest[:5]), *rest[5:]
        checks = [
            Assert(less(count, self.limit), ["max_num_steps exceeded"]),
            Assert(greater(end + dt, end), ["underflow in dt", dt]),
        ]
        with control_dependencies(checks):
            y = array.identity(y)
        after, error, slopes = _stage(self.func, y, slope, end, dt)
        relative = self._ratio(error, y, after)
        accepted = less_equal(relative, 1)
        fitted = _quartic(y, after, slopes, dt)
        growth = _growth(relative, accepted, self.options)

        def chosen(new: Any, old: Any) -> Any:
            return array.where(accepted, new, old)

        return (
            count + 1, chosen(after, y), chosen(slopes[-1], slope), chosen(end, begin),
            chosen(end + dt, end), dt * cast(growth, self.kind),
            *(chosen(a, b) for a, b in zip(fitted, polynomial, strict=True)),
            evaluations + 6, array.concat([points, array.reshape(end + dt, [1])], 0),
            array.concat([ratios, array.reshape(cast(relative, self.kind), [1])], 0),
        )  # fmt: skip

    def _ratio(self, error: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """An error beside the one that is allowed."""
        kind = before.dtype.real_dtype
        allowed = cast(self.atol, kind) + cast(self.rtol, kind) * maximum(abs_(before), abs_(after))
        return sqrt(reduce_mean(square(abs_(error) / allowed)))  # type: ignore[no-any-return]


def odeint_fixed(
    func: Callable[..., Any],
    y0: TensorLike,
    t: TensorLike,
    dt: TensorLike | None = None,
    method: str = "rk4",
    name: str | None = None,
) -> Tensor:
    """The solution [times, ...] of dy/dt = ``func(y, t)`` in steps of equal length between two times.

    ``dt``: the largest step, one number or one for each interval of ``t``; an interval is divided into as
    many steps as that takes, one without ``dt``. ``method``: "rk4" (Runge-Kutta, order 4) or
    "midpoint" (order 2). Raises as `odeint` does, and `ValueError` for a ``dt`` of another shape.
    """
    if method not in ("rk4", "midpoint"):
        raise ValueError(f"method not supported: {method!r}. Use 'rk4' or 'midpoint'.")
    with name_scope(name, "odeint_fixed", [y0, t, dt]):
        y0, t = _checked(y0, t)
        intervals = t[1:] - t[:-1]
        steps = array.ones_like(intervals)
        if dt is not None:
            dt = convert_to_tensor(dt, t.dtype)
            if not intervals.get_shape().is_compatible_with(dt.get_shape()) and dt.dims != ():
                raise ValueError(
                    "dt must be a scalar or have one number for each interval of t: needed shape "
                    f"{intervals.get_shape()}, got {dt.get_shape()}."
                )
            steps = ceil(intervals / dt)
        sizes, counts, number = intervals / steps, cast(steps, dtypes.int32), array.size(t)

        def move(y: Tensor, begin: Tensor, step: Tensor) -> Tensor:
            size = cast(step, y.dtype)
            first = _slope(func, y, begin)
            second = _slope(func, y + first * size / 2, begin + step / 2)
            if method == "midpoint":
                return y + size * second  # type: ignore[no-any-return]
            third = _slope(func, y + second * size / 2, begin + step / 2)
            fourth = _slope(func, y + third * size, begin + step)
            return y + size / 6 * (first + 2 * second + 2 * third + fourth)  # type: ignore[no-any-return]

        def cross(index: Any, values: Any, y: Any) -> Any:
            begin, step = t[index], sizes[index]
            _, after = while_loop(
                lambda k, y: less(k, counts[index]),
                lambda k, y: (k + 1, move(y, begin + cast(k, t.dtype) * step, step)),
                (0, y),
            )
            return index + 1, values.write(index + 1, after), after

        values = TensorArray(y0.dtype, number, element_shape=y0.get_shape()).write(0, y0)
        final = while_loop(lambda index, *rest: less(index, number - 1), cross, (0, values, y0))
        solution: Tensor = final[1].stack()
        solution.set_shape(t.get_shape().concatenate(y0.get_shape()))
        return solution


__getattr__ = explain_absent(__name__)
