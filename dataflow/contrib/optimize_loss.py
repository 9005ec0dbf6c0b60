"""``tf.contrib.layers.optimize_loss``: the optimizer, its gradients and their summaries in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array, initializers, summary
from dataflow.ops.casts import cast
from dataflow.ops.clip import clip_by_global_norm
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.math import exp, log, maximum, minimum, sqrt, square
from dataflow.ops.norms import global_norm
from dataflow.ops.random import truncated_normal
from dataflow.ops.selection import where
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.ops.variables import Variable
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.adam import AdamOptimizer
from dataflow.train.ftrl import FtrlOptimizer
from dataflow.train.global_step import get_global_step
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.momentum import MomentumOptimizer
from dataflow.train.moving_averages import assign_moving_average
from dataflow.train.rmsprop import RMSPropOptimizer

OPTIMIZER_CLS_NAMES: dict[str, Any] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda lr: MomentumOptimizer(lr, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]


def _rate(learning_rate: TensorLike | Callable[[], Any] | None) -> Any:
    """The learning rate: a number as a variable, which a program may set; `ValueError` for the rest."""
    if isinstance(learning_rate, Tensor | Variable):
        if learning_rate.shape.ndims not in (0, None):
            raise ValueError(f"The learning rate must be a scalar, got {learning_rate}.")
    elif isinstance(learning_rate, int | float | np.number):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}: it must not be negative.")
        start = initializers.constant_initializer(learning_rate)
        return get_variable("learning_rate", [], initializer=start, trainable=False)
    elif learning_rate is not None:
        raise ValueError(
            f"Learning rate should be None, a number or a tensor, got {learning_rate!r}."
        )
    return learning_rate


def _with_noise(gradient: Any, scale: float) -> Any:
    """The gradient plus truncated normal noise of deviation ``scale``."""
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        noisy = _with_noise(gradient.values, scale)
        return IndexedSlices(noisy, gradient.indices, gradient.dense_shape)
    shape = gradient.shape if gradient.shape.is_fully_defined() else array.shape(gradient)
    noise = truncated_normal(shape, dtype=gradient.dtype.base_dtype)
    return gradient + noise * scale


def _summarize_gradients(pairs: Any, summaries: Any, clipped: bool) -> None:
    for gradient, variable in pairs:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))
    if clipped and ("global_gradient_norm" in summaries or "gradient_norm" in summaries):
        norm = global_norm([g for g, _ in pairs])
        summary.scalar("global_norm/clipped_gradient_norm", norm)


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Any:
    """``clip(pairs)`` for `optimize_loss`: gradients whose norm is far above what it was are clipped.

    Far is more than ``std_factor`` deviations above the moving mean of the norm's logarithm; such
    gradients get the mean norm. ``decay`` is that of the averages, which begin slower where a
    ``global_step`` is given; ``static_max_norm`` is a limit besides. ``report_summary`` writes the
    limit and the mean as summaries.
    """

    def clip(pairs: Any) -> list[Any]:
        gradients = [g for g, _ in pairs]
        norm = global_norm(gradients)
        limit, log_mean = _largest_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", limit)
            summary.scalar("global_norm/mean_norm", exp(log_mean))
        ones = array.ones_like(norm)
        factor = where(norm < limit, ones, exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = minimum(static_max_norm / norm, factor)
        return [(None if g is None else _scaled(g, factor), v) for g, v in pairs]

    return clip


def _largest_norm(
    norm: Any, std_factor: float, decay: Any, global_step: Any, epsilon: float, name: str | None
) -> tuple[Any, Any]:
    """``(limit, mean of the logarithm)`` of the norms until now, this one included."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        logarithm = log(norm + epsilon)
        if global_step is not None:
            step = cast(convert_to_tensor(global_step), norm.dtype)
            decay = minimum(decay, step / (step + 1.0))

        def average(name: str, value: Any, decay: Any) -> Any:
            zero = initializers.zeros_initializer()
            moving = get_variable(name, value.shape, value.dtype, zero, trainable=False)
            return assign_moving_average(moving, value, decay, zero_debias=False)

        mean = average("mean", logarithm, decay)
        squares = average("sq_mean", square(logarithm), decay)
        deviation = sqrt(maximum(epsilon, squares - square(mean)))
        return exp(mean + std_factor * deviation), mean


def _scaled(gradient: Any, factor: Any) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor


def _multiplier(multipliers: Any, variable: Any, gradient: Any) -> Any:
    """The multiplier of a variable, or of its name, in the gradient's dtype; 1 where there is none."""
    found = multipliers.get(variable, multipliers.get(variable.name, 1.0))
    if isinstance(found, Tensor | Variable):
        return cast(found, gradient.dtype.base_dtype)
    return found


def _optimizer(optimizer: Any, learning_rate: Any) -> Any:
    """The optimizer that is given, or named, or made by what is given; raises `ValueError` for others."""
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}."
            )
        made: Any = OPTIMIZER_CLS_NAMES[optimizer](learning_rate)
    elif isinstance(optimizer, type):
        made = optimizer(learning_rate)
    elif hasattr(optimizer, "compute_gradients"):
        made = optimizer
    elif callable(optimizer):
        made = optimizer(learning_rate) if learning_rate is not None else optimizer()
    else:
        made = None
    if not hasattr(made, "compute_gradients"):
        raise ValueError(
            f"Unrecognized optimizer: {optimizer!r}. Pass a name, an optimizer, its class, or a "
            "function that makes one."
        )
    return made


def _clipped(pairs: Any, clip_gradients: Any) -> Any:
    if isinstance(clip_gradients, float):
        grads, _ = clip_by_global_norm([g for g, _ in pairs], clip_gradients)
        return list(zip(grads, [v for _, v in pairs], strict=True))
    if callable(clip_gradients):
        return clip_gradients(pairs)
    raise ValueError(
        f"Unknown type {type(clip_gradients).__name__} for clip_gradients: pass a float or a "
        "function of the pairs (gradient, variable)."
    )


def optimize_loss(
    loss: TensorLike,
    global_step: Tensor | Variable | None,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: Any = None,
    gradient_multipliers: Any = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Any = None,
    variables: Any = None,
    name: str | None = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Any:
    """A training op: gradients (clipped on request), the optimizer by name or class, and updates.

    ``gradient_noise_scale``: how much normal noise is added to the gradients. ``summaries``: which of
    `OPTIMIZER_SUMMARIES` to write, by default the loss, the rate and the norm of all gradients.
    Returns the loss, evaluated after the step. Raises `ValueError` for a negative rate, another
    summary, a clipping that is neither a float nor a function, and an unknown optimizer.
    """
    if summaries is None:
        summaries = ["loss", "learning_rate", "global_gradient_norm"]
    for summary_name in summaries:
        if summary_name not in OPTIMIZER_SUMMARIES:
            raise ValueError(
                f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided "
                f"{summary_name}."
            )
    graph = default_graph()
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if update_ops is None:
            update_ops = graph.get_collection(GraphKeys.UPDATE_OPS)
        if update_ops:
            with graph.control_dependencies(list(update_ops)):
                loss = array.identity(loss)
        if global_step is None:
            global_step = get_global_step()
        learning_rate = _rate(learning_rate)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            learning_rate = learning_rate_decay_fn(learning_rate, global_step)
            if "learning_rate" in summaries:
                summary.scalar("learning_rate", learning_rate)
        made = _optimizer(optimizer, learning_rate)
        pairs = made.compute_gradients(
            loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops
        )
        if gradient_noise_scale is not None:
            pairs = [(_with_noise(g, gradient_noise_scale), v) for g, v in pairs]
        if gradient_multipliers is not None:
            pairs = [
                (None if g is None else _scaled(g, _multiplier(gradient_multipliers, v, g)), v)
                for g, v in pairs
            ]
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            summary.scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if clip_gradients is not None:
            pairs = _clipped(pairs, clip_gradients)
        if "loss" in summaries:
            summary.scalar("loss", loss)
        _summarize_gradients(pairs, summaries, clipped=clip_gradients is not None)
        updates = made.apply_gradients(
            pairs, global_step=global_step if increment_global_step else None, name="train"
        )
        with graph.control_dependencies([updates]):
            return array.identity(loss)
