"""What arguments of layers mean: sizes for each axis, activations by name, and how many windows fit."""

from __future__ import annotations

from typing import Any

from dataflow.ops import activation as activations, initializers, math
from dataflow.ops.clip import clip_by_value


def pair(value: Any, count: int, name: str) -> tuple[int, ...]:
    """An int, or a list of ``count`` ints, as a tuple; raises `ValueError`."""
    if isinstance(value, int):
        return (value,) * count
    try:
        result = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        result = ()
    if len(result) != count:
        raise ValueError(
            f"The `{name}` argument must be a tuple of {count} integers. Received: {value}"
        )
    return result


def padding_and_format(padding: str, data_format: str) -> tuple[str, str]:
    """Both in small letters; raises `ValueError` for others than "valid", "same" and the two orders of axes."""
    padding, data_format = padding.lower(), data_format.lower()
    if padding not in ("valid", "same"):
        raise ValueError(
            f'The `padding` argument must be one of "valid", "same". Received: {padding}'
        )
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            "The `data_format` argument must be one of channels_first, channels_last. "
            f"Received: {data_format}"
        )
    return padding, data_format


def window_count(size: int | None, reach: int, stride: int, padding: str) -> int | None:
    """How many windows of ``reach`` places fit, each ``stride`` after the last; None where ``size`` is unknown."""
    if size is None:
        return None
    return -(-size // stride) if padding == "same" else -(-(size - reach + 1) // stride)


def transposed_size(size: Any, kernel: int, stride: int, padding: str) -> Any:
    """The size, a number or a tensor, that a convolution brings down to ``size``; None where that is unknown."""
    if size is None:
        return None
    size = size * stride
    return size + max(kernel - stride, 0) if padding == "valid" else size


def activation_function(activation: Any) -> Any:
    """An activation by its name ("relu", "tanh", "linear", ...) as Keras has them; a function as it is.

    Raises `ValueError` for a name that is none.
    """
    if not isinstance(activation, str):
        return activation
    if activation == "linear":
        return None
    functions = {
        "elu": activations.elu,
        "exponential": math.exp,
        "hard_sigmoid": lambda x: clip_by_value(0.2 * x + 0.5, 0.0, 1.0),
        "relu": activations.relu,
        "relu6": activations.relu6,
        "selu": activations.selu,
        "sigmoid": math.sigmoid,
        "softmax": activations.softmax,
        "softplus": activations.softplus,
        "softsign": activations.softsign,
        "tanh": math.tanh,
    }
    if activation not in functions:
        raise ValueError(
            f"Unknown activation function: {activation!r}; choose one of {sorted(functions)}"
        )
    return functions[activation]


def initializer_function(initializer: Any) -> Any:
    """An initializer by its name ("glorot_uniform", "zeros", "normal", ...) as Keras has them; others as they are.

    Keras draws on a smaller scale (0.05) than the classes of `tf.initializers` by default. Raises `ValueError` for a
    name that is none.
    """
    if not isinstance(initializer, str):
        return initializer
    name = {"normal": "random_normal", "uniform": "random_uniform"}.get(initializer, initializer)
    name = {"one": "ones", "zero": "zeros"}.get(name, name)
    if name == "random_normal":
        return initializers.RandomNormal(0.0, 0.05)
    if name == "truncated_normal":
        return initializers.TruncatedNormal(0.0, 0.05)
    if name == "random_uniform":
        return initializers.RandomUniform(-0.05, 0.05)
    return initializers.get_initializer(name)
