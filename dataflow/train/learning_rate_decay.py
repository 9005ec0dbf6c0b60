"""Learning rates that change with the number of the step. Each returns a scalar tensor.

With eager execution each returns a function of nothing that gives the tensor.

``global_step`` may be a variable, a tensor or a number; it is read anew in every run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_n_to_tensor, convert_to_tensor, internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.array import where
from dataflow.ops.comparison import equal
from dataflow.ops.conditionals import case, cond
from dataflow.ops.elementary import ceil, cos, exp, floor, log, negative, sqrt
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import add, cast, divide, minimum, multiply, pow_
from dataflow.ops.seeds import count_left_out

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable


def _need_step(global_step: Tensor | Variable | None, function: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")


def _asked_at_each_step(schedule: Callable[..., Tensor]) -> Any:
    """With eager execution a schedule is a function: an optimizer asks it at each step, as in TensorFlow.

    ``of_now`` is the schedule as it is written: a tensor in either mode.
    """

    @functools.wraps(schedule)
    def public(*args: Any, **kwargs: Any) -> Any:
        if not default_graph().executes_eagerly:
            return schedule(*args, **kwargs)
        schedule(*args, **kwargs)  # says now what is wrong
        return functools.partial(schedule, *args, **kwargs)

    decorated: Any = public
    decorated.of_now = schedule
    return decorated


def _start(learning_rate: TensorLike | Callable[[], Any], *values: Any) -> list[Any]:
    """The learning rate as a tensor, and the other values in its dtype."""
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    return [rate, *[cast(internal_convert(v, None, None), rate.dtype.base_dtype) for v in values]]


@_asked_at_each_step
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * decay_rate ** (global_step / decay_steps)``; the exponent is rounded down
    with ``staircase``. Raises `ValueError` without a ``global_step``."""
    _need_step(global_step, "exponential_decay")
    with name_scope(name, "ExponentialDecay") as scope:
        rate, decay_steps, decay_rate, step = _start(
            learning_rate, decay_steps, decay_rate, global_step
        )
        p = step / decay_steps
        if staircase:
            p = floor(p)
        return multiply(rate, pow_(decay_rate, p), name=scope)  # type: ignore[no-any-return]


@_asked_at_each_step
def piecewise_constant(x: Any, boundaries: Any, values: Any, name: str | None = None) -> Tensor:
    """``values[0]`` up to ``boundaries[0]`` (included), then ``values[1]`` up to the next, ...

    Raises `ValueError` unless there is one value more than boundaries, all of one dtype, and the
    boundaries have the dtype of ``x``.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            "The length of boundaries should be 1 less than the length of values: got "
            f"{len(boundaries)} boundaries and {len(values)} values."
        )
    with name_scope(name, "PiecewiseConstant"):
        x = convert_to_tensor(x)
        limits = convert_n_to_tensor(boundaries)
        tensors = convert_n_to_tensor(values)
        wanted = x.dtype.base_dtype
        for i, limit in enumerate(limits):
            if limit.dtype.base_dtype is not wanted:
                if limit.dtype.base_dtype is dtypes.int32 and wanted is dtypes.int64:
                    limits[i] = cast(limit, dtypes.int64)
                else:
                    raise ValueError(
                        f"Boundaries ({limit.dtype.base_dtype.name}) must have the same dtype as "
                        f"x ({wanted.name})."
                    )
        for value in tensors[1:]:
            if value.dtype.base_dtype is not tensors[0].dtype.base_dtype:
                raise ValueError(
                    "Values must have elements all with the same dtype ("
                    f"{tensors[0].dtype.base_dtype.name} vs {value.dtype.base_dtype.name})."
                )
        pairs: list[Any] = [
            (x <= limits[0], lambda: tensors[0]),
            (x > limits[-1], lambda: tensors[-1]),
        ]
        for low, high, value in zip(limits[:-1], limits[1:], tensors[1:-1], strict=True):
            pairs.append(((x > low) & (x <= high), lambda value=value: value))
        return case(pairs, lambda: tensors[0], exclusive=True)  # type: ignore[no-any-return]


piecewise_constant_decay = piecewise_constant


@_asked_at_each_step
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """``(learning_rate - end) * (1 - step / decay_steps) ** power + end``, constant after
    ``decay_steps``; with ``cycle`` it starts again with longer periods instead."""
    _need_step(global_step, "polynomial_decay")
    with name_scope(name, "PolynomialDecay") as scope:
        if not cycle and not isinstance(decay_steps, Tensor):
            count_left_out(1)  # the number is made a tensor twice
        rate, end, power, step, decay_steps = _start(
            learning_rate, end_learning_rate, power, global_step, decay_steps
        )
        if cycle:
            multiplier = where(
                equal(step, 0),
                convert_to_tensor(1.0, step.dtype.base_dtype),
                ceil(step / decay_steps),
            )
            decay_steps = multiply(decay_steps, multiplier)
        else:
            step = minimum(step, decay_steps)
        p = divide(step, decay_steps)
        return add(multiply(rate - end, pow_(1 - p, power)), end, name=scope)


@_asked_at_each_step
def natural_exp_decay(
    learning_rate: TensorLike | Callable[[], Any],
    global_step: Tensor | Variable,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``."""
    _need_step(global_step, "natural_exp_decay")
    rate = exp(negative(decay_rate))
    return exponential_decay.of_now(  # type: ignore[no-any-return]
        learning_rate, global_step, decay_steps, rate, staircase, name
    )


@_asked_at_each_step
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``."""
    _need_step(global_step, "inverse_time_decay")
    with name_scope(name, "InverseTimeDecay") as scope:
        rate, decay_steps, decay_rate, step = _start(
            learning_rate, decay_steps, decay_rate, global_step
        )
        p = step / decay_steps
        if staircase:
            p = floor(p)
        one = cast(convert_to_tensor(1), rate.dtype.base_dtype)
        return divide(rate, add(one, multiply(decay_rate, p)), name=scope)


@_asked_at_each_step
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half a cosine from the learning rate to ``alpha`` times it.

    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", 2016.
    """
    _need_step(global_step, "cosine_decay")
    with name_scope(name, "CosineDecay"):
        rate, decay_steps, step = _start(learning_rate, decay_steps, global_step)
        completed = minimum(step, decay_steps) / decay_steps
        cosine = 0.5 * (1.0 + cos(math.pi * completed))
        return multiply(rate, (1 - alpha) * cosine + alpha)  # type: ignore[no-any-return]


@_asked_at_each_step
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cosine decays one after the other, each ``t_mul`` times as long and ``m_mul`` times as high.

    Source: Loshchilov and Hutter, 2016.
    """
    _need_step(global_step, "cosine_decay_restarts")
    with name_scope(name, "SGDRDecay") as scope:
        rate, first, alpha, t_mul, m_mul, step = _start(
            learning_rate, first_decay_steps, alpha, t_mul, m_mul, global_step
        )
        completed = step / first

        def equal_periods() -> Any:
            number = floor(completed)
            return number, completed - number

        def growing_periods() -> Any:
            # The period that holds `completed`, from the sum of a geometric series.
            number = floor(log(1.0 - completed * (1.0 - t_mul)) / log(t_mul))
            before = (1.0 - t_mul**number) / (1.0 - t_mul)
            return number, (completed - before) / t_mul**number

        number, fraction = cond(equal(t_mul, 1.0), equal_periods, growing_periods)
        cosine = 0.5 * m_mul**number * (1.0 + cos(math.pi * fraction))
        return multiply(rate, (1 - alpha) * cosine + alpha, name=scope)  # type: ignore[no-any-return]


@_asked_at_each_step
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """``learning_rate * ((alpha + linear) * cosine + beta)`` with a linear and a cosine decay.

    Source: Bello et al., "Neural optimizer search with reinforcement learning", 2017.
    """
    _need_step(global_step, "linear_cosine_decay")
    with name_scope(name, "LinearCosineDecay") as scope:
        rate, decay_steps, step, num_periods, alpha, beta = _start(
            learning_rate, decay_steps, global_step, num_periods, alpha, beta
        )
        step = minimum(step, decay_steps)
        linear = (decay_steps - step) / decay_steps
        cosine = 0.5 * (1.0 + cos(math.pi * (2.0 * num_periods * (step / decay_steps))))
        return multiply(rate, (alpha + linear) * cosine + beta, name=scope)  # type: ignore[no-any-return]


@_asked_at_each_step
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """As `linear_cosine_decay`, with normal noise of the decaying variance
    ``initial_variance / (1 + global_step) ** variance_decay`` added to the linear part."""
    _need_step(global_step, "noisy_linear_cosine_decay")
    from dataflow.ops.random import random_normal

    with name_scope(name, "NoisyLinearCosineDecay") as scope:
        rate, decay_steps, step, variance, decay, num_periods, alpha, beta = _start(
            learning_rate,
            decay_steps,
            global_step,
            initial_variance,
            variance_decay,
            num_periods,
            alpha,
            beta,
        )
        step = minimum(step, decay_steps)
        linear = (decay_steps - step) / decay_steps
        deviation = sqrt(variance / pow_(1.0 + step, decay))
        noise = random_normal(linear.get_shape(), stddev=deviation, dtype=rate.dtype.base_dtype)
        cosine = 0.5 * (1.0 + cos(math.pi * (2.0 * num_periods * (step / decay_steps))))
        return multiply(rate, (alpha + (linear + noise)) * cosine + beta, name=scope)  # type: ignore[no-any-return]
