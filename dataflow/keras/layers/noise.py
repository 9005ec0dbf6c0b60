"""Noise while training: nothing changes in evaluation and prediction."""

from __future__ import annotations

import math
from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras.backend_settings import backend_seed
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.core import Dropout
from dataflow.layers.base import smart_cond
from dataflow.ops import array, random
from dataflow.ops.comparison import greater_equal
from dataflow.ops.math import cast
from dataflow.ops.seeds import count_left_out

#: selu's constants (Klambauer et al. 2017): its limit for very negative inputs is -scale * alpha.
_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805


class _Noise(Layer):
    supports_masking = True

    def _noisy(self, inputs: Any) -> Any:
        raise NotImplementedError

    def call(self, inputs: Any, training: bool | Tensor | None = None) -> Any:
        if isinstance(training, Tensor):
            count_left_out(-1)
        return smart_cond(training, lambda: self._noisy(inputs), lambda: array.identity(inputs))


class GaussianNoise(_Noise):
    """Adds normal noise."""

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def _noisy(self, inputs: Any) -> Any:
        dtype = inputs.dtype.base_dtype
        return inputs + random.random_normal(
            array.shape(inputs), 0.0, self.stddev, dtype, backend_seed(None)
        )


class GaussianDropout(_Noise):
    """Multiplies by normal noise of mean 1 and variance ``rate / (1 - rate)``."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"GaussianDropout: rate must be in [0, 1), got {rate}.")
        self.rate = rate

    def _noisy(self, inputs: Any) -> Any:
        deviation = math.sqrt(self.rate / (1 - self.rate))
        dtype = inputs.dtype.base_dtype
        return inputs * random.random_normal(
            array.shape(inputs), 1.0, deviation, dtype, backend_seed(None)
        )


class AlphaDropout(_Noise):
    """Dropout that keeps mean and variance after `selu`: what is dropped takes selu's limit."""

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"AlphaDropout: rate must be in [0, 1), got {rate}.")
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def _noisy(self, inputs: Any) -> Any:
        dtype = inputs.dtype.base_dtype
        shape = array.shape(inputs) if self.noise_shape is None else list(self.noise_shape)
        drawn = random.random_uniform(shape, 0.0, 1.0, dtype, backend_seed(self.seed))
        kept = cast(greater_equal(drawn, self.rate), dtype)
        limit = -_SCALE * _ALPHA
        count_left_out(1)  # a node in TensorFlow
        scale = ((1 - self.rate) * (1 + self.rate * limit**2)) ** -0.5
        return scale * (inputs * kept + limit * (1 - kept)) - scale * limit * self.rate


class SpatialDropout1D(Dropout):
    """Drops whole channels of [batch, steps, channels]."""

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, noise_shape=(None, 1, None), **kwargs)


class _SpatialDropout(Dropout):
    rank = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        if data_format not in (None, "channels_first", "channels_last"):
            raise ValueError(
                f"data_format must be in channels_first, channels_last; got {data_format!r}."
            )
        ones = (1,) * self.rank
        noise = (None, None, *ones) if data_format == "channels_first" else (None, *ones, None)
        super().__init__(rate, noise_shape=noise, **kwargs)


class SpatialDropout2D(_SpatialDropout):
    """Drops whole channels of [batch, height, width, channels]."""


class SpatialDropout3D(_SpatialDropout):
    """Drops whole channels of [batch, depth, height, width, channels]."""

    rank = 3
