"""The structure of elements: tuples and dicts nest, everything else (lists too) is a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.dtypes import DType
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims, TensorShape, as_dims


def to_tensors(value: Any, name: str | None = None) -> Any:
    """The same structure with a tensor for every leaf."""
    if isinstance(value, Mapping):
        pairs = [(k, _of_key(k, v, name)) for k, v in value.items()]
        kind: Any = type(value)
        return dict(pairs) if kind is dict else kind(pairs)
    if isinstance(value, tuple):
        parts = [to_tensors(v, name) for v in value]
        named: Any = type(value)
        return named(*parts) if hasattr(value, "_fields") else tuple(parts)
    return leaf_tensor(value, name)


def _of_key(key: Any, value: Any, name: str | None) -> Any:
    try:
        return to_tensors(value, name)
    except ValueError as e:
        raise ValueError(f"component {key!r}: {e}") from e


def leaf_tensor(value: Any, name: str | None = None) -> Tensor:
    """One component as a tensor; pandas' frames and columns are taken by their values."""
    if hasattr(value, "to_numpy") and hasattr(value, "iloc"):
        value = value.to_numpy()
    if type(value).__name__ in ("SparseTensor", "SparseTensorValue"):
        raise TypeError(
            "Datasets of sparse tensors are not supported: use tf.sparse_tensor_to_dense first, or "
            "make the sparse tensor from dense components in map."
        )
    return convert_to_tensor(value, name=name)


class Structure:
    """Types and shapes of an element in its nesting."""

    def __init__(self, nesting: Any, dtypes: list[DType], dims: list[Dims]) -> None:
        self.nesting = nesting
        self.dtypes = dtypes
        self.dims = dims

    @classmethod
    def of(cls, tensors: Any) -> Structure:
        """The structure of nested tensors."""
        flat = flatten(tensors)
        return cls(tensors, [t.dtype.base_dtype for t in flat], [t.dims for t in flat])

    def pack(self, flat: list[Any]) -> Any:
        """``flat`` in this nesting."""
        return pack(self.nesting, flat)

    @property
    def types(self) -> Any:
        """Dtypes in the nesting."""
        return self.pack(self.dtypes)

    @property
    def shapes(self) -> Any:
        """Shapes in the nesting."""
        return self.pack([TensorShape(d) for d in self.dims])

    @property
    def classes(self) -> Any:
        """`Tensor` in the nesting."""
        return self.pack([Tensor] * len(self.dtypes))

    def with_dims(self, dims: list[Dims]) -> Structure:
        """The same with other shapes."""
        return Structure(self.nesting, self.dtypes, dims)


def _is_nest(value: Any) -> bool:
    return isinstance(value, (tuple, Mapping)) and not isinstance(value, TensorShape)


def flatten(value: Any) -> list[Any]:
    """Leaves, where lists are leaves."""
    if not _is_nest(value):
        return [value]
    result: list[Any] = []
    parts = [value[k] for k in nest.ordered_keys(value)] if isinstance(value, Mapping) else value
    for part in parts:
        result.extend(flatten(part))
    return result


def pack(nesting: Any, flat: list[Any]) -> Any:
    """``flat`` in the nesting of ``nesting``."""
    values = iter(flat)

    def build(part: Any) -> Any:
        if not _is_nest(part):
            return next(values)
        if isinstance(part, Mapping):
            by_key = {k: build(part[k]) for k in nest.ordered_keys(part)}
            pairs = [(k, by_key[k]) for k in part]
            kind: Any = type(part)
            return dict(pairs) if kind is dict else kind(pairs)
        parts = [build(p) for p in part]
        named: Any = type(part)
        return named(*parts) if hasattr(part, "_fields") else tuple(parts)

    return build(nesting)


def dims_like(nesting: Any, shapes: Any) -> list[Dims]:
    """Flat dims from shapes given in the nesting (``None``: unknown for all leaves)."""
    if shapes is None:
        return [None] * len(flatten(nesting))
    if not _is_nest(nesting):
        if isinstance(shapes, (list, tuple)):
            shapes = [None if d == -1 else d for d in shapes]  # -1 is "unknown" in padded_shapes
        return [as_dims(shapes)]
    result: list[Dims] = []
    if isinstance(nesting, Mapping):
        for key in nest.ordered_keys(nesting):
            result.extend(dims_like(nesting[key], shapes[key]))
    else:
        for part, shape in zip(nesting, shapes, strict=True):
            result.extend(dims_like(part, shape))
    return result
