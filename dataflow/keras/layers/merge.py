"""Layers of several inputs."""

from __future__ import annotations

from functools import reduce
from typing import Any

from dataflow import dtypes
from dataflow.graph.type_aliases import AxisLike
from dataflow.keras.base_layer import Layer
from dataflow.ops import array
from dataflow.ops.math import cast, logical_and, matmul, maximum, minimum
from dataflow.ops.moments import l2_normalize
from dataflow.ops.reduce import reduce_all


class _Merge(Layer):
    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(
                f"A merge layer ({self.name!r}) should be called on a list of at least 2 inputs. "
                f"Got {inputs}"
            )
        return self._merge(self._aligned(list(inputs)))

    def _aligned(self, inputs: list[Any]) -> list[Any]:
        """Inputs of one rank: those of a lower one get axes of 1 behind the examples, as in Keras."""
        ranks = [tensor.shape.ndims for tensor in inputs]
        if None in ranks or len(set(ranks)) == 1:
            return inputs
        most = max(ranks)
        for number, rank in enumerate(ranks):
            for _ in range(most - rank):
                inputs[number] = array.expand_dims(inputs[number], 1)
        return inputs

    def _check_masks(self, inputs: Any, mask: Any) -> bool:
        """Whether there are masks; raises `ValueError` where they are no list of one for each input."""
        if mask is None:
            return False
        if not (isinstance(mask, (list, tuple)) and isinstance(inputs, (list, tuple))):
            raise ValueError(
                f"Layer {self.name}: the inputs and their masks are lists, got {mask!r}."
            )
        if len(mask) != len(inputs):
            raise ValueError(
                f"Layer {self.name}: there are {len(inputs)} inputs and {len(mask)} masks."
            )
        return any(one is not None for one in mask)

    def _merge(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Where all masks that there are hold."""
        if not self._check_masks(inputs, mask):
            return None
        return reduce(logical_and, [cast(one, dtypes.bool_) for one in mask if one is not None])


class Add(_Merge):
    """The sum of the inputs."""

    def _merge(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a + b, inputs)


class Subtract(_Merge):
    """The first minus the second."""

    def _merge(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError(f"Subtract {self.name!r} takes 2 inputs, got {len(inputs)}.")
        return inputs[0] - inputs[1]


class Multiply(_Merge):
    """The product of the inputs, element by element."""

    def _merge(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a * b, inputs)


class Average(_Merge):
    """The mean of the inputs."""

    def _merge(self, inputs: list[Any]) -> Any:
        return reduce(lambda a, b: a + b, inputs) / len(inputs)


class Maximum(_Merge):
    """The largest of the inputs, element by element."""

    def _merge(self, inputs: list[Any]) -> Any:
        return reduce(maximum, inputs)


class Minimum(_Merge):
    """The smallest of the inputs, element by element."""

    def _merge(self, inputs: list[Any]) -> Any:
        return reduce(minimum, inputs)


class Concatenate(_Merge):
    """The inputs joined along ``axis``."""

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def _aligned(self, inputs: list[Any]) -> list[Any]:
        return inputs

    def _merge(self, inputs: list[Any]) -> Any:
        shapes = [tensor.shape.as_list() for tensor in inputs if tensor.shape.ndims]
        others = [[n for i, n in enumerate(s) if i != self.axis % len(s)] for s in shapes]
        for sizes in zip(*others, strict=False):
            if len(set(sizes) - {None}) > 1:
                raise ValueError(
                    "A `Concatenate` layer requires inputs with matching shapes except for the concat "
                    f"axis ({self.axis}). Got inputs shapes: {shapes}"
                )
        return array.concat(inputs, self.axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks joined as the inputs are; an input without one counts as whole."""
        if not self._check_masks(inputs, mask):
            return None
        wide = []
        for tensor, one in zip(inputs, mask, strict=True):
            if one is not None and one.shape.ndims == tensor.shape.ndims:
                wide.append(cast(one, dtypes.bool_))
                continue
            whole = array.ones_like(tensor, dtypes.bool_)
            if one is not None:
                missing = tensor.shape.ndims - one.shape.ndims
                one = array.reshape(one, array.concat([array.shape(one), [1] * missing], 0))
                whole = logical_and(whole, cast(one, dtypes.bool_))
            wide.append(whole)
        return reduce_all(array.concat(wide, self.axis), -1)


class Dot(_Merge):
    """Products of vectors along ``axes`` (of one or both inputs), for each example."""

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None: the products are of whole vectors."""
        return None

    def __init__(self, axes: AxisLike, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axes = (axes, axes) if isinstance(axes, int) else tuple(axes)
        self.normalize = normalize

    def _aligned(self, inputs: list[Any]) -> list[Any]:
        return inputs

    def _merge(self, inputs: list[Any]) -> Any:
        a, b = inputs
        first, second = (x % t.shape.ndims for x, t in zip(self.axes, inputs, strict=True))
        if self.normalize:
            a, b = l2_normalize(a, first), l2_normalize(b, second)
        ranks = (a.shape.ndims, b.shape.ndims)
        if ranks == (2, 2):
            a, b = array.expand_dims(a, 1), array.expand_dims(b, 2)
            return array.squeeze(matmul(a, b), [2])
        if max(ranks) > 3:
            raise ValueError(f"Dot {self.name!r}: inputs of rank 2 or 3, got ranks {ranks}.")
        if ranks[0] == 2:
            a = array.expand_dims(a, 1)
            first = 2
        if ranks[1] == 2:
            b = array.expand_dims(b, 2)
            second = 1
        product = matmul(a, b, transpose_a=first == 1, transpose_b=second == 2)
        if ranks[0] == 2:
            return array.squeeze(product, [1])
        return array.squeeze(product, [2]) if ranks[1] == 2 else product


def _function(layer: type[Layer]) -> Any:
    def function(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return layer(*args, **kwargs)(inputs)

    function.__doc__ = f"A `{layer.__name__}` layer, applied."
    return function


add = _function(Add)
subtract = _function(Subtract)
multiply = _function(Multiply)
average = _function(Average)
maximum_ = _function(Maximum)
minimum_ = _function(Minimum)
concatenate = _function(Concatenate)
dot = _function(Dot)
