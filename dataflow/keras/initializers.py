"""`tf.keras.initializers`: first values of weights, by name or object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.serialization import (
    custom_object_scope,
    deserialize as _deserialize,
    lookup,
    serialize as serialize,
)
from dataflow.ops.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Initializer as Initializer,
    Ones,
    Orthogonal,
    RandomNormal as _RandomNormal,
    RandomUniform as _RandomUniform,
    TruncatedNormal as _TruncatedNormal,
    VarianceScaling,
    Zeros,
    compute_fans,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)

__all__ = [
    *("Constant", "Identity", "Initializer", "Ones", "Orthogonal", "RandomNormal"),
    *("RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "deserialize"),
    *("get", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity"),
    *("lecun_normal", "lecun_uniform", "normal", "ones", "orthogonal", "serialize", "uniform"),
    "zeros",
]


def _compute_fans(shape: Sequence[int], data_format: str = "channels_last") -> tuple[float, float]:
    """How many inputs and outputs a unit has, which programs ask the package keras for."""
    sizes = [int(size) for size in shape]  # of a `TensorShape` they are `Dimension`
    if data_format == "channels_first" and len(sizes) > 2:
        sizes = [*sizes[2:], sizes[1], sizes[0]]
    return compute_fans(sizes)


class RandomNormal(_RandomNormal):
    """Normal numbers; Keras's standard deviation is 0.05 where none is given."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(_RandomUniform):
    """Even numbers; Keras's range is [-0.05, 0.05) where none is given."""

    def __init__(
        self,
        minval: TensorLike = -0.05,
        maxval: TensorLike = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(_TruncatedNormal):
    """Normal numbers cut at two standard deviations, of 0.05 where none is given."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 0.05,
        seed: int | None = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        super().__init__(mean, stddev, seed, dtype)


zero = zeros = Zeros
one = ones = Ones
constant = Constant
normal = random_normal = RandomNormal
uniform = random_uniform = RandomUniform
truncated_normal = TruncatedNormal
identity = Identity
orthogonal = Orthogonal
glorot_normal = GlorotNormal
glorot_uniform = GlorotUniform


def orthogonal_of_numpy(initializer: Orthogonal, shape: Sequence[int]) -> Any:
    """What the package Keras makes of an `Orthogonal`: the array that NumPy draws, as it comes from an SVD."""
    if initializer.seed is not None:
        np.random.seed(initializer.seed)
    matrix = np.random.normal(0.0, 1.0, (int(np.prod(shape[:-1])), shape[-1]))
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    rows = left if left.shape == matrix.shape else right
    return initializer.gain * rows.reshape(shape)


_BY_NAME: dict[str, Any] = {
    "zero": Zeros,
    "zeros": Zeros,
    "one": Ones,
    "ones": Ones,
    "constant": Constant,
    "normal": RandomNormal,
    "random_normal": RandomNormal,
    "uniform": RandomUniform,
    "random_uniform": RandomUniform,
    "truncated_normal": TruncatedNormal,
    "identity": Identity,
    "orthogonal": Orthogonal,
    "variance_scaling": VarianceScaling,
    "glorot_normal": GlorotNormal,
    "glorot_uniform": GlorotUniform,
    "he_normal": he_normal,
    "he_uniform": he_uniform,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
    **{
        cls.__name__: cls
        for cls in (
            *(Zeros, Ones, Constant, RandomNormal, RandomUniform, TruncatedNormal, Identity),
            *(Orthogonal, VarianceScaling, GlorotNormal, GlorotUniform),
        )
    },
}


def _without_dtype(function: Callable[..., Any]) -> Any:
    """As TensorFlow 2's files describe it, with a dtype that the layer gives anyway."""

    def make(seed: int | None = None, dtype: DTypeLike | None = None) -> Any:
        return function(seed)

    return make


for _name, _function in {
    "HeNormal": he_normal,
    "HeUniform": he_uniform,
    "LecunNormal": lecun_normal,
    "LecunUniform": lecun_uniform,
}.items():
    _BY_NAME[_name] = _without_dtype(_function)


def get(identifier: Any) -> Any:
    """The initializer of a name, a config or itself; ``None`` stays.

    Raises `ValueError` for an unknown name.
    """
    if isinstance(identifier, str):
        found = lookup("initializer", identifier, _BY_NAME)
        return found() if isinstance(found, type) or identifier in _BY_NAME else found
    if isinstance(identifier, dict):
        return _deserialize("initializer", identifier, _BY_NAME)
    if isinstance(identifier, type):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")


def deserialize(config: Any, custom_objects: dict[str, Any] | None = None) -> Any:
    """The initializer of a config or a name; ``custom_objects`` has classes and functions of your own by name."""
    with custom_object_scope(custom_objects or {}):
        return get(config)
