"""`tf.keras.activations`: functions of a layer's output, by name."""

from __future__ import annotations

import warnings
from typing import Any

from dataflow.keras import backend as K
from dataflow.layers.base import Layer
from dataflow.layers.serialization import custom_object_scope, deserialize as _of_config, lookup
from dataflow.ops import activation, elementary
from dataflow.ops.seeds import counted_as

__all__ = ["deserialize", "elu", "exponential", "get", "hard_sigmoid", "linear", "relu", "selu"]
__all__ += ["serialize", "sigmoid", "softmax", "softplus", "softsign", "swish", "tanh"]


def linear(x: Any) -> Any:
    """``x`` itself."""
    return x


def exponential(x: Any) -> Any:
    """``exp(x)``."""
    return elementary.exp(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where positive, else ``alpha (exp(x) - 1)``."""
    result = activation.elu(x)
    if alpha == 1:
        return result
    from dataflow.ops.array import where
    from dataflow.ops.comparison import greater

    return where(greater(x, 0), result, alpha * result)


def selu(x: Any) -> Any:
    """Scaled elu (Klambauer et al. 2017)."""
    with counted_as(8):  # TensorFlow's Keras makes it of elu, products and a selection
        return activation.selu(x)


def relu(x: Any, alpha: float = 0.0, max_value: Any = None, threshold: float = 0) -> Any:
    """As `tf.keras.backend.relu`."""
    return K.relu(x, alpha, max_value, threshold)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return elementary.sigmoid(x)


def hard_sigmoid(x: Any) -> Any:
    """0.2 x + 0.5, cut to [0, 1]."""
    return K.hard_sigmoid(x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent."""
    return elementary.tanh(x)


def softmax(x: Any, axis: int = -1) -> Any:
    """Probabilities over ``axis``; raises `ValueError` for a tensor with less than two axes."""
    if K.ndim(x) in (0, 1):
        raise ValueError("Cannot apply softmax to a tensor that is 1D: it needs the batch's axis.")
    return activation.softmax(x, axis=axis)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))``."""
    return activation.softplus(x)


def softsign(x: Any) -> Any:
    """``x / (1 + |x|)``."""
    return activation.softsign(x)


def swish(x: Any) -> Any:
    """``x sigmoid(x)``."""
    return x * elementary.sigmoid(x)


_BY_NAME: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(linear, exponential, elu, selu, relu, sigmoid, hard_sigmoid, tanh, softmax, softplus),
        *(softsign, swish),
    )
}
_BY_NAME["relu6"] = activation.relu6
_BY_NAME["leaky_relu"] = activation.leaky_relu


def get(identifier: Any) -> Any:
    """The function of a name; ``None`` is `linear`, functions stay.

    A config, of a layer among the custom objects, gives that layer. Raises `ValueError` for an unknown
    name.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return lookup("activation function", identifier, _BY_NAME)
    if callable(identifier):
        if K.is_package_keras() and isinstance(identifier, Layer):
            warnings.warn(
                f"Do not pass a layer instance (such as {identifier!r}) as the activation argument of "
                "another layer. Activations that have weights, PReLU say, are used like any layer.",
                stacklevel=2,
            )
        return identifier
    if isinstance(identifier, dict) and "class_name" in identifier:
        return _of_config("activation function", identifier, _BY_NAME)
    raise ValueError(f"Could not interpret activation function identifier: {identifier!r}")


def deserialize(name: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The function of a name or a config, looked for among ``custom_objects`` too; as `get`."""
    with custom_object_scope(custom_objects or {}):
        return get(name)


def serialize(activation: Any) -> str:
    """The name."""
    return activation.__name__  # type: ignore[no-any-return]
