"""Dot-product and additive attention between queries and values."""

from __future__ import annotations

from typing import Any

from dataflow.keras.base_layer import Layer
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.comparison import greater_equal, logical_and, logical_not
from dataflow.ops.elementary import tanh
from dataflow.ops.math import cast, matmul
from dataflow.ops.reduce import reduce_sum
from dataflow.shapes import TensorShape, dimension_value

#: What is taken from the scores of positions that the mask leaves out.
_FAR = 1e9


class BaseDenseAttention(Layer):
    """Attention over ``[query, value]`` or ``[query, value, key]`` (the key is else the value).

    Shapes: query [batch, Tq, dim], value [batch, Tv, dim], key [batch, Tv, dim]; the result is
    [batch, Tq, dim]. ``mask=[query_mask, value_mask]``, [batch, T] booleans: values where it is
    false are not looked at, and results of queries where it is false are 0. With ``causal``,
    position i looks at positions up to i only.
    """

    def __init__(self, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.causal = causal
        self.supports_masking = True

    def _scores(self, query: Any, key: Any) -> Any:
        """How much each query looks at each key: [batch, Tq, Tv]."""
        raise NotImplementedError

    def call(self, inputs: Any, mask: Any = None) -> Any:
        self._check(inputs, mask)
        query, value = inputs[0], inputs[1]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = (mask or [None, None])[:2]
        scores = self._scores(query, key)
        allowed = None if value_mask is None else array.expand_dims(cast(value_mask, "bool"), 1)
        if self.causal:
            earlier = _lower_triangle(array.shape(scores))
            allowed = earlier if allowed is None else logical_and(allowed, earlier)
        if allowed is not None:
            scores = scores - _FAR * cast(logical_not(allowed), scores.dtype.base_dtype)
        result = matmul(softmax(scores), value)
        if query_mask is not None:
            result = result * array.expand_dims(cast(query_mask, result.dtype.base_dtype), -1)
        return result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask[0] if mask else None

    def _check(self, inputs: Any, mask: Any) -> None:
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__} layer must be called on a list of inputs, namely "
                "[query, value] or [query, value, key]."
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) < 2):
            raise ValueError(
                f"{type(self).__name__} layer mask must be a list, namely [query_mask, value_mask]."
            )


class Attention(BaseDenseAttention):
    """Luong's dot-product attention; with ``use_scale`` the scores are times a trained scalar."""

    def __init__(self, use_scale: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape: Any) -> None:
        self.scale = self.add_weight("scale", (), initializer="ones") if self.use_scale else None
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        scores = matmul(query, key, transpose_b=True)
        return scores if self.scale is None else scores * self.scale


class AdditiveAttention(BaseDenseAttention):
    """Bahdanau's attention: the score is the sum of ``tanh(query + key)``, times a trained vector
    with ``use_scale``.
    """

    def __init__(self, use_scale: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_scale = use_scale

    def build(self, input_shape: Any) -> None:
        dim = dimension_value(TensorShape(input_shape[1])[-1])
        self.scale = self.add_weight("scale", [dim]) if self.use_scale else None
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        sums = tanh(array.expand_dims(query, 2) + array.expand_dims(key, 1))
        return reduce_sum(sums if self.scale is None else sums * self.scale, axis=-1)


def _lower_triangle(shape: Any) -> Any:
    """Booleans [1, Tq, Tv], true where the column is not after the row; ``shape`` [batch, Tq, Tv]."""
    from dataflow.ops.sequences import range_

    rows, columns = range_(shape[1]), range_(shape[2])
    return greater_equal(rows[None, :, None], columns[None, None, :])
