"""`IndexedSlices`: some rows of a tensor, as the gradient of a gather is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import register_tensor_conversion_function
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike
from dataflow.ops.static_value import static_dims
from dataflow.providers import provided
from dataflow.shapes import TensorShape, as_dims, num_elements


class IndexedSlices:
    """Rows of a larger tensor: ``values[i]`` belongs to row ``indices[i]``; rows may repeat (sum).

    ``values`` has shape [n, ...], ``indices`` [n], ``dense_shape`` the shape of the whole tensor
    (a vector) or ``None``.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def _type_spec(self) -> Any:
        return provided("type_spec_from_value")(self)

    @property
    def values(self) -> Tensor:
        """The rows, [n, ...]."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """Which row of the whole each one is, [n]."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor, or ``None``."""
        return self._dense_shape

    @property
    def name(self) -> str:
        """The name of ``values``."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of ``values``."""
        return self._values.device

    def consumers(self) -> list[Any]:
        """The operations that take ``values``."""
        return self._values.consumers()

    @property
    def op(self) -> Any:
        """The operation that makes ``values``."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The dtype of the rows."""
        return self._values.dtype

    @property
    def graph(self) -> Any:
        """The graph of ``values``."""
        return self._values.graph

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor, as far as known."""
        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape(static_dims(self._dense_shape))

    def get_shape(self) -> TensorShape:
        """The same as ``shape``."""
        return self.shape

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{dense})"

    __repr__ = __str__


class IndexedSlicesValue(NamedTuple):
    """The value of an `IndexedSlices`: arrays in place of tensors."""

    values: Any
    indices: Any
    dense_shape: Any = None


def concat_slices(parts: list[IndexedSlices]) -> IndexedSlices:
    """The sum of several sparse gradients of one tensor: all their rows."""
    from dataflow.ops.casts import cast
    from dataflow.ops.concat_split import concat

    indices = [p.indices for p in parts]
    if len({i.dtype.base_dtype for i in indices}) > 1:
        indices = [cast(i, dtypes.int64) for i in indices]
    return IndexedSlices(
        concat([p.values for p in parts], 0),
        concat(indices, 0),
        parts[0].dense_shape,
    )


def takes_slices(gradient: Callable[..., Any]) -> Callable[..., Any]:
    """Marks the gradient function of an op that `IndexedSlices` may reach as they are.

    Others are given the whole tensor.
    """
    gradient.takes_slices = True  # type: ignore[attr-defined]
    return gradient


_LARGE_ELEMENTS = 100_000_000


def to_dense(
    value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """The whole tensor: zeros with the rows added. Warns when it is very large."""
    if value.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {value.name!r}"
        )
    size = num_elements(as_dims(value.shape))
    if size is not None and size >= _LARGE_ELEMENTS:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {size} elements. "
            "This may consume a large amount of memory.",
            stacklevel=3,
        )
    return get_op("UnsortedSegmentSum")(  # type: ignore[no-any-return]
        value.values, value.indices, value.dense_shape[0], name=name
    )


register_tensor_conversion_function(IndexedSlices, to_dense)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """`IndexedSlices` as they are, anything else as a tensor."""
    from dataflow.graph.conversion import convert_to_tensor

    return value if isinstance(value, IndexedSlices) else convert_to_tensor(value, dtype, name)
