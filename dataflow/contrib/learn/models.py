"""``tf.contrib.learn.models``: linear and logistic regression for the end of a model function."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.losses import mean_squared_error, softmax_cross_entropy
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.bias import xw_plus_b
from dataflow.ops.initializers import random_normal_initializer
from dataflow.ops.summary import histogram
from dataflow.ops.variable_scope import get_variable, variable_scope


def linear_regression(
    x: Any, y: Any, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Any, Any]:
    """(predictions, mean squared error) of ``x`` [batch, n] with variables "weights" and "bias".

    ``y`` is [batch] or [batch, m], and so are the predictions, in ``x``'s dtype. The weights start
    as the scope says, or from a normal distribution where ``init_mean`` is given; then the bias
    starts so, too.
    """
    with variable_scope("linear_regression") as scope:
        x, y = convert_to_tensor(x), convert_to_tensor(y)
        scores = _scores(scope.name, x, y, init_mean, init_stddev)
        if len(y.shape) == 1:
            scores = array.squeeze(scores, [1])
        return scores, mean_squared_error(y, scores)


def linear_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """`linear_regression` whose weights and bias start at 0."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression(
    x: Any,
    y: Any,
    class_weight: Any = None,
    init_mean: float | None = None,
    init_stddev: float = 1.0,
) -> tuple[Any, Any]:
    """(probabilities [batch, classes], cross entropy) of ``x`` [batch, n] and one-hot labels ``y``.

    ``class_weight`` [classes] multiplies the logits. Variables as in `linear_regression`.
    """
    with variable_scope("logistic_regression") as scope:
        x, y = convert_to_tensor(x), convert_to_tensor(y)
        logits = _scores(scope.name, x, y, init_mean, init_stddev)
        if class_weight is not None:
            logits = logits * class_weight
        return softmax(logits), softmax_cross_entropy(y, logits)


def logistic_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """`logistic_regression` whose weights and bias start at 0."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def _scores(label: str, x: Any, y: Any, mean: float | None, stddev: float) -> Any:
    """x W + b with as many columns as ``y``."""
    width, outputs = x.shape.as_list()[1], 1 if len(y.shape) == 1 else y.shape.as_list()[1]
    if width is None or outputs is None:
        raise ValueError(
            f"{label} needs the sizes of x [batch, n] and y [batch] or [batch, m] but the batch's; "
            f"got x {x.shape} and y {y.shape}. Reshape them with tf.reshape."
        )
    start = None if mean is None else random_normal_initializer(mean, stddev)
    dtype = x.dtype.base_dtype
    weights = get_variable("weights", [width, outputs], dtype, initializer=start)
    bias = get_variable("bias", [outputs], dtype, initializer=start)
    for name, value in (("x", x), ("y", y), ("weights", weights), ("bias", bias)):
        histogram(f"{label}.{name}", value)
    return xw_plus_b(x, weights, bias)
