"""The base of recurrent cells, and their states: zeros at first, a pair for an LSTM."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import as_dtype
from dataflow.graph import nest
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.base import Layer
from dataflow.ops import array
from dataflow.ops.seeds import count_left_out
from dataflow.ops.static_value import static_value
from dataflow.ops.variable_scope import variable_scope
from dataflow.shapes import TensorShape, dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope


def _sizes(size: TensorLike) -> list[int]:
    return TensorShape(size).as_list() if not isinstance(size, int) else [size]  # type: ignore[return-value]


def zeros_of_size(size: Any, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
    """Zeros of shape [batch_size, size], for every size of a nesting."""
    if isinstance(size, (list, tuple)) and not isinstance(size, TensorShape):
        parts = [zeros_of_size(s, batch_size, dtype) for s in size]
        return type(size)(*parts) if hasattr(size, "_fields") else type(size)(parts)
    count_left_out(6 if isinstance(batch_size, Tensor) else 5)  # two axes are joined there, twice
    return array.zeros(array.stack([batch_size, *_sizes(size)]), dtype)


def depth_of(input_shape: Any) -> int:
    """The size of the last axis; raises `ValueError` where it is unknown."""
    shape = TensorShape(input_shape)
    depth = dimension_value(shape[-1])
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
    return int(depth)


class RNNCell(Layer):
    """The base of cells; subclasses define ``state_size``, ``output_size`` and ``call``."""

    #: Whether inputs and states must be floating-point or complex numbers.
    _only_floating = False

    def __call__(
        self,
        inputs: Any,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if self._only_floating:
            for part in nest.flatten([inputs, state]):
                dtype = getattr(part, "dtype", None)
                if dtype is not None and not (
                    as_dtype(dtype).is_floating or as_dtype(dtype).is_complex
                ):
                    raise ValueError(
                        f"RNN cell only supports floating point inputs, but saw dtype: {dtype.name}"
                    )
        if scope is not None:
            with variable_scope(scope) as captured:
                return Layer.__call__(self, inputs, state, *args, scope=captured, **kwargs)
        return Layer.__call__(self, inputs, state, *args, **kwargs)

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """A variable of this cell, trained unless a ``custom_getter`` of its scope said otherwise."""
        variable = Layer.add_variable(self, *args, **kwargs)
        trained = self._trainable_weights
        if not getattr(variable, "trainable", True) and trained and trained[-1] is variable:
            self._non_trainable_weights.append(trained.pop())
        return variable

    add_weight = add_variable

    @property
    def state_size(self) -> Any:
        """The size of the state: an int, a TensorShape, or a nesting of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: int | Tensor, dtype: DTypeLike) -> Any:
        """The state of zeros for ``batch_size`` sequences."""
        with default_graph().name_scope(type(self).__name__ + "ZeroState"):
            zeros = zeros_of_size(self.state_size, batch_size, as_dtype(dtype))
            static = batch_size if isinstance(batch_size, int) else None
            for tensor in nest.flatten(zeros):
                if static is not None:
                    tensor.set_shape([static, *[None] * (tensor.shape.ndims - 1)])
            return zeros

    def get_initial_state(
        self,
        inputs: Any = None,
        batch_size: int | Tensor | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """`zero_state` for the batch size and dtype of ``inputs``, or for those given.

        Raises `ValueError` where both are given and differ, or none is.
        """
        if inputs is not None:
            found = dimension_value(inputs.shape[0])
            given = static_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            if batch_size is not None and found != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input tensor "
                    f"batch: {found}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype.base_dtype is not as_dtype(dtype):
                raise ValueError(
                    "dtype from input tensor is different from the input param. Input tensor dtype: "
                    f"{inputs.dtype.name}, dtype: {as_dtype(dtype).name}"
                )
            batch_size = array.shape(inputs)[0] if found is None else found
            dtype = inputs.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ("c", "h"))):
    """The state of an LSTM: cell ``c`` and output ``h``."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both; raises `TypeError` when they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class SameSizes(RNNCell):
    """A cell whose state and output have ``num_units`` elements each."""

    _num_units: int

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> Any:
        return self._num_units


class LSTMSizes(SameSizes):
    """A cell whose state is a pair: the memory, of ``num_units`` elements, and the output."""

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(self._num_units, self.output_size)


class ProjectedSizes(LSTMSizes):
    """A cell whose output has ``num_proj`` elements, of a projection, where that is not ``None``."""

    _num_proj: int | None

    @property
    def output_size(self) -> Any:
        return self._num_proj or self._num_units
