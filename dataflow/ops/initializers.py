"""Initializers: callables that make the first value of a variable from its shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike, TensorLike
from dataflow.ops import array as array_ops, random as random_ops
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant

#: The standard deviation of a standard normal distribution cut at 2.
CUT_STDDEV = 0.87962566103423978


class Initializer:
    """Called with (shape, dtype, partition_info), an initializer returns a tensor.

    ``partition_info`` (of a partitioned variable) says which part of which whole is wanted.
    `get_config` gives the arguments that `from_config` makes the same initializer from.
    """

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments as a dict that JSON can hold."""
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """The initializer that `get_config` described."""
        return cls(**{k: v for k, v in config.items() if k != "dtype" or _takes_dtype(cls)})


def _takes_dtype(cls: type) -> bool:
    return "dtype" in cls.__init__.__code__.co_varnames  # type: ignore[misc]


def floating_dtype(dtype: DTypeLike) -> DType:
    """The dtype, which must be one of floats, else `ValueError`."""
    result = as_dtype(dtype)
    if not result.is_floating:
        raise ValueError(f"Expected floating point type, got {result.name}.")
    return result


def _sizes(shape: Any) -> Any:
    """A shape as a list of ints; a tensor stays as it is."""
    if hasattr(shape, "op"):
        return shape
    dims = shapes.as_dims(shape)
    if dims is None or None in dims:
        raise ValueError(f"The shape of a variable must be fully known, got {shape}.")
    return list(dims)


def _whole_shape(shape: DynamicShapeLike, partition_info: Any) -> list[int]:
    """The shape that scales are computed from: that of the whole variable."""
    if partition_info is not None:
        shape = partition_info.full_shape
    result = _sizes(shape)
    if not isinstance(result, list):
        from dataflow.ops.static_value import static_dims

        dims = static_dims(result)
        if dims is None or None in dims:
            raise ValueError("this initializer needs a shape that is known when the graph is built")
        return list(dims)  # type: ignore[arg-type]
    return result


class Zeros(Initializer):
    """Zeros (False, or empty strings)."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        return array_ops.zeros(_sizes(shape), self.dtype if dtype is None else as_dtype(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Ones(Initializer):
    """Ones."""

    def __init__(self, dtype: DTypeLike = dtypes.float32) -> None:
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        return array_ops.ones(_sizes(shape), self.dtype if dtype is None else as_dtype(dtype))

    def get_config(self) -> dict[str, Any]:
        return {"dtype": self.dtype.name}


class Constant(Initializer):
    """A given value: a number for every element, or a list that fills the shape.

    A list shorter than the shape repeats its last element; with ``verify_shape`` it must fit.
    """

    def __init__(
        self, value: Any = 0, dtype: DTypeLike = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. "
                "Expected Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: DynamicShapeLike,
        dtype: DTypeLike | None = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Any:
        return constant(
            self.value,
            self.dtype if dtype is None else as_dtype(dtype),
            _sizes(shape),
            verify_shape=self._verify_shape if verify_shape is None else verify_shape,
        )

    def get_config(self) -> dict[str, Any]:
        return {"value": self.value, "dtype": self.dtype.name}


class RandomUniform(Initializer):
    """Numbers drawn evenly from [minval, maxval)."""

    def __init__(
        self,
        minval: TensorLike = 0.0,
        maxval: TensorLike | None = None,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.minval = minval
        self.maxval = maxval
        self.seed = seed
        self.dtype = as_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        return random_ops.random_uniform(
            _sizes(shape),
            self.minval,
            self.maxval,
            self.dtype if dtype is None else as_dtype(dtype),
            seed=self.seed,
        )

    def get_config(self) -> dict[str, Any]:
        return {
            "minval": self.minval,
            "maxval": self.maxval,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class RandomNormal(Initializer):
    """Numbers from a normal distribution."""

    _draw = staticmethod(random_ops.random_normal)

    def __init__(
        self,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        self.mean = mean
        self.stddev = stddev
        self.seed = seed
        self.dtype = floating_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        return self._draw(_sizes(shape), self.mean, self.stddev, wanted, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "stddev": self.stddev,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


class TruncatedNormal(RandomNormal):
    """Numbers from a normal distribution, of which those beyond 2 deviations are left out."""

    _draw = staticmethod(random_ops.truncated_normal)


class UniformUnitScaling(Initializer):
    """Even numbers that keep the scale of a layer's input: +-sqrt(3 / rows) * factor."""

    def __init__(
        self, factor: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self.factor = factor
        self.seed = seed
        self.dtype = floating_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        rows = 1.0
        for size in _whole_shape(shape, partition_info)[:-1]:
            rows *= float(size)
        limit = math.sqrt(3 / max(rows, 1.0)) * self.factor
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        return random_ops.random_uniform(_sizes(shape), -limit, limit, wanted, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {"factor": self.factor, "seed": self.seed, "dtype": self.dtype.name}


class VarianceScaling(Initializer):
    """Random numbers of variance ``scale / n``; n counts a unit's inputs, outputs, or their mean.

    ``mode`` is "fan_in", "fan_out" or "fan_avg"; ``distribution`` "truncated_normal" ("normal"),
    "untruncated_normal" or "uniform".
    """

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: DTypeLike = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError(f"`scale` must be a positive float, got {scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}")
        distribution = distribution.lower()
        if distribution == "normal":
            distribution = "truncated_normal"
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed
        self.dtype = floating_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        fan_in, fan_out = compute_fans(_whole_shape(shape, partition_info))
        fans = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
        variance = self.scale / max(1.0, fans[self.mode])
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        sizes = _sizes(shape)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random_ops.random_uniform(sizes, -limit, limit, wanted, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_ops.random_normal(sizes, 0.0, math.sqrt(variance), wanted, self.seed)
        stddev = math.sqrt(variance) / CUT_STDDEV
        return random_ops.truncated_normal(sizes, 0.0, stddev, wanted, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        return {
            "scale": self.scale,
            "mode": self.mode,
            "distribution": self.distribution,
            "seed": self.seed,
            "dtype": self.dtype.name,
        }


def compute_fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a unit of a weight tensor has; filters count their area."""
    if len(shape) < 1:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    area = float(np.prod(shape[:-2])) if len(shape) > 2 else 1.0
    return shape[-2] * area, shape[-1] * area


class GlorotUniform(VarianceScaling):
    """Even numbers of variance 2 / (inputs + outputs) (Glorot, Bengio 2010); also named Xavier."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class GlorotNormal(VarianceScaling):
    """Normal numbers of variance 2 / (inputs + outputs) (Glorot, Bengio 2010)."""

    def __init__(self, seed: int | None = None, dtype: DTypeLike = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed, "dtype": self.dtype.name}


class WithGain(Initializer):
    """What orthogonal initializers have in common: random numbers, times ``gain``."""

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, dtype: DTypeLike = dtypes.float32
    ) -> None:
        self.gain = gain
        self.seed = seed
        self.dtype = floating_dtype(dtype)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed, "dtype": self.dtype.name}


def orthonormal_columns(sizes: list[int], dtype: Any, seed: int | None) -> Any:
    """A random matrix [rows, columns], no wider than high, with orthogonal columns of length 1."""
    from dataflow.ops.decompositions import qr
    from dataflow.ops.elementary import sign
    from dataflow.ops.matrix_diag import diag_part

    q, r = qr(random_ops.random_normal(sizes, dtype=dtype, seed=seed), full_matrices=False)
    return q * sign(diag_part(r))  # makes the distribution uniform


class Orthogonal(WithGain):
    """Random rows (or columns, where there are fewer) that are orthogonal and of length ``gain``.

    The Q of the QR decomposition of a normal matrix (Saxe, McClelland, Ganguli 2014); more than
    two axes are taken as a matrix of all but the last by the last.
    """

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        from dataflow.ops.matrix_diag import matrix_transpose

        wanted = self.dtype if dtype is None else as_dtype(dtype)
        sizes = _whole_shape(shape, None)
        if len(sizes) < 2:
            raise ValueError(
                f"The tensor to initialize must be at least two-dimensional, got shape {sizes}"
            )
        rows, columns = int(np.prod(sizes[:-1])), sizes[-1]
        tall = [max(rows, columns), min(rows, columns)]
        q = orthonormal_columns(tall, wanted, self.seed)
        if rows < columns:
            q = matrix_transpose(q)
        return self.gain * array_ops.reshape(q, sizes)


class Identity(Initializer):
    """The identity matrix times ``gain``, for matrices only."""

    def __init__(self, gain: float = 1.0, dtype: DTypeLike = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = floating_dtype(dtype)

    def __call__(
        self, shape: DynamicShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None
    ) -> Any:
        from dataflow.ops.matrix_diag import eye

        whole = _whole_shape(shape, partition_info)
        if len(whole) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        wanted = self.dtype if dtype is None else as_dtype(dtype)
        result = eye(whole[0], whole[1], dtype=wanted)
        count_left_out(-1 if whole[0] == whole[1] else 0)
        if partition_info is not None:
            result = array_ops.slice_(result, partition_info.var_offset, _sizes(shape))
        return self.gain * result

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "dtype": self.dtype.name}


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers of variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Even numbers of variance 1 / inputs (LeCun et al. 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers of variance 2 / inputs, for relu (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Even numbers of variance 2 / inputs, for relu (He et al. 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
orthogonal_initializer = Orthogonal
identity_initializer = Identity
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal

_BY_NAME: dict[str, Any] = {
    "zeros": Zeros,
    "ones": Ones,
    "constant": Constant,
    "random_uniform": RandomUniform,
    "random_normal": RandomNormal,
    "truncated_normal": TruncatedNormal,
    "uniform_unit_scaling": UniformUnitScaling,
    "variance_scaling": VarianceScaling,
    "orthogonal": Orthogonal,
    "identity": Identity,
    "glorot_uniform": GlorotUniform,
    "glorot_normal": GlorotNormal,
    "lecun_normal": lecun_normal,
    "lecun_uniform": lecun_uniform,
    "he_normal": he_normal,
    "he_uniform": he_uniform,
}


def get_initializer(identifier: Any) -> Any:
    """An initializer from its name (``"glorot_uniform"``), class, or itself; ``None`` stays."""
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = _BY_NAME.get(identifier)
        if found is None:
            raise ValueError(
                f"Unknown initializer {identifier!r}; choose one of {', '.join(sorted(_BY_NAME))}."
            )
        return found()
    if isinstance(identifier, type) and issubclass(identifier, Initializer):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")
