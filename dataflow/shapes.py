"""Static shapes: `TensorShape` for users, plain tuples inside the engine.

Inside, a shape is *dims*: a tuple of ``int`` or ``None`` (size unknown), or ``None`` when even the
rank is unknown. Shape rules take and return dims, which keeps building large graphs quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Dims = tuple[int | None, ...] | None

#: Annotation for attributes of ops that are shapes; they are kept as dims.
Shape = Dims


class Dimension:
    """The size of one axis; ``value`` is ``None`` where it is unknown."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, Dimension):
            value = value.value
        if hasattr(value, "as_numpy_dtype"):
            raise TypeError(f"A dtype is no size of an axis: {value}")
        if value is not None:
            size = int(value)
            if not isinstance(value, (str, bytes)) and size != value:
                raise ValueError(f"Ambiguous dimension: {value}")
            if size < 0:
                raise ValueError(f"Dimension {size} must be >= 0")
            value = size
        self.value: int | None = value

    def _binary(self, other: Any, function: Any) -> Dimension:
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented  # type: ignore[no-any-return]
        if self.value is None or other.value is None:
            return Dimension(None)
        return Dimension(function(self.value, other.value))

    def __add__(self, other: Any) -> Dimension:
        return self._binary(other, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Dimension:
        return self._binary(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Dimension:
        return as_dimension(other) - self

    def __mul__(self, other: Any) -> Dimension:
        return self._binary(other, lambda a, b: a * b)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Dimension:
        return self._binary(other, lambda a, b: a // b)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return as_dimension(other) // self

    __div__ = __floordiv__

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, use // "
            "instead: a Dimension divides so that sizes stay whole"
        )

    def __mod__(self, other: Any) -> Dimension:
        return self._binary(other, lambda a, b: a % b)

    def __rmod__(self, other: Any) -> Dimension:
        return as_dimension(other) % self

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        try:
            other_dim = as_dimension(other)
        except (TypeError, ValueError):
            return False
        if self.value is None or other_dim.value is None:
            return None
        return self.value == other_dim.value

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        equal = self == other
        return None if equal is None else not equal

    def _compare(self, other: Any, function: Any) -> bool | None:
        other = as_dimension(other)
        if self.value is None or other.value is None:
            return None
        return bool(function(self.value, other.value))

    def __lt__(self, other: Any) -> bool | None:
        return self._compare(other, lambda a, b: a < b)

    def __le__(self, other: Any) -> bool | None:
        return self._compare(other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> bool | None:
        return self._compare(other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> bool | None:
        return self._compare(other, lambda a, b: a >= b)

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        if self.value is None:
            raise TypeError("This dimension is not known before the graph runs; use tf.shape(x)[i]")
        return self.value

    def __index__(self) -> int:
        return int(self)

    def is_compatible_with(self, other: Any) -> bool:
        """True when the two could be the same size."""
        other = as_dimension(other)
        return self.value is None or other.value is None or self.value == other.value

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises `ValueError` when the two cannot be the same size."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """What both say together; raises `ValueError` when they disagree."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self.value is None else self.value)

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)


def as_dimension(value: Any) -> Dimension:
    """``value`` as a `Dimension`."""
    return value if isinstance(value, Dimension) else Dimension(value)


class _Sizes:
    """What an item of a `TensorShape` is: a `Dimension`, or an int or None, as in TensorFlow 2."""

    are_plain = False


def enable_v2_tensorshape() -> None:
    """Items of shapes are ints from now on, None where unknown: ``x.shape[0]`` is 3, and not ``Dimension(3)``."""
    _Sizes.are_plain = True


def disable_v2_tensorshape() -> None:
    """Items of shapes are `Dimension` objects, as they are from the start."""
    _Sizes.are_plain = False


def dimension_value(dimension: Any) -> Any:
    """The plain size of a `Dimension` (or of an int), ``None`` where unknown."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def _as_size(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value.value
    if type(value) is not int:
        if isinstance(value, (float, np.floating)) and not float(value).is_integer():
            raise TypeError(f"Dimension value must be integer or None, got {value!r}")
        try:
            value = int(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got {value!r}"
            ) from None
    if value < 0:
        raise ValueError(f"Dimension {value} must be >= 0")
    return int(value)


def as_dims(value: Any) -> Dims:
    """``value`` (TensorShape, list, int, None, NumPy array) as dims."""
    if type(value) is tuple:  # by far the most frequent: dims already
        for size in value:
            if size is not None and (type(size) is not int or size < 0):
                break
        else:
            return value
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return value._dims
    if isinstance(value, (Dimension, int, np.integer)):
        return (_as_size(value),)
    if hasattr(value, "dim") and hasattr(value, "unknown_rank"):  # a TensorShapeProto
        if value.unknown_rank:
            return None
        return tuple(None if d.size < 0 else int(d.size) for d in value.dim)
    if isinstance(value, (str, bytes)):
        raise TypeError(
            f"A string is no TensorShape, put it in a list or make it an int: {value!r}"
        )
    return tuple(_as_size(d) for d in value)


class TensorShape:
    """A possibly partial shape: ``[None, 784]``, or unknown altogether (``TensorShape(None)``)."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Any = None) -> None:
        self._dims: Dims = as_dims(dims)

    @property
    def dims(self) -> list[Dimension] | None:
        """A list of `Dimension`, or ``None`` when the rank is unknown."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        """Number of axes, ``None`` when unknown."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def as_list(self) -> list[int | None]:
        """Sizes as a list with ``None`` where unknown; raises `ValueError` for unknown rank."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self) -> int | None:
        """Number of elements, ``None`` where it is not fully known."""
        return num_elements(self._dims)

    def is_fully_defined(self) -> bool:
        """True when every size is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Raises `ValueError` unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """True when some concrete shape fits both."""
        return compatible(self._dims, as_dims(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises `ValueError` when no concrete shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        """Raises `ValueError` when the rank is known and differs."""
        if self._dims is not None and len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raises `ValueError` when both ranks are known and differ."""
        dims = as_dims(other)
        if self._dims is not None and dims is not None and len(self._dims) != len(dims):
            raise ValueError(f"Shapes {self} and {TensorShape(dims)} must have the same rank")

    def merge_with(self, other: Any) -> TensorShape:
        """What both say together; raises `ValueError` when they disagree."""
        return TensorShape(merge(self._dims, as_dims(other)))

    def concatenate(self, other: Any) -> TensorShape:
        """The axes of this shape, then those of ``other``."""
        dims = as_dims(other)
        if self._dims is None or dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + dims)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have ``rank`` axes; raises `ValueError` if it has not."""
        return self.merge_with((None,) * rank)

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; raises `ValueError` when it has fewer axes."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape; raises `ValueError` when it has more axes."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def as_proto(self) -> Any:
        """The shape as a ``TensorShapeProto``."""
        from tensorboard.compat.proto import tensor_shape_pb2

        if self._dims is None:
            return tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
        return tensor_shape_pb2.TensorShapeProto(
            dim=[
                tensor_shape_pb2.TensorShapeProto.Dim(size=-1 if d is None else d)
                for d in self._dims
            ]
        )

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims if _Sizes.are_plain else [Dimension(d) for d in self._dims])

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return TensorShape(None if self._dims is None else self._dims[key])
        size = None if self._dims is None else self._dims[key]
        return size if _Sizes.are_plain else Dimension(size)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return TensorShape(other).concatenate(self)

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The shape with all sizes that both agree on; unknown where the ranks differ."""
        dims = as_dims(other)
        if self._dims is None or dims is None or len(self._dims) != len(dims):
            return TensorShape(None)
        pairs = zip(self._dims, dims, strict=True)
        return TensorShape([a if a == b else None for a, b in pairs])

    def __eq__(self, other: object) -> bool:
        try:
            dims = as_dims(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._dims == dims

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        if equal is NotImplemented:
            return NotImplemented
        if self._dims is None or as_dims(other) is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not equal

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        if self._dims is None:
            return "TensorShape(None)"
        return f"TensorShape([{', '.join(f'Dimension({d})' for d in self._dims)}])"

    def __str__(self) -> str:
        return format_dims(self._dims)

    def __reduce__(self) -> Any:
        return TensorShape, (self._dims,)


def as_shape(value: Any) -> TensorShape:
    """``value`` as a `TensorShape`."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(rank: int | None = None, ndims: int | None = None) -> TensorShape:
    """A shape with nothing known but, perhaps, its rank."""
    rank = ndims if rank is None else rank
    return TensorShape(None if rank is None else (None,) * rank)


def scalar() -> TensorShape:
    """The shape of a single number."""
    return TensorShape(())


def vector(length: int | None) -> TensorShape:
    """The shape of a vector."""
    return TensorShape((length,))


def matrix(rows: int | None, columns: int | None) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape((rows, columns))


def format_dims(dims: Dims) -> str:
    """``(?, 784)`` as TensorFlow 1 prints it; ``<unknown>`` for unknown rank."""
    if dims is None:
        return "<unknown>"
    if len(dims) == 1:
        return f"({'?' if dims[0] is None else dims[0]},)"
    return f"({', '.join('?' if d is None else str(d) for d in dims)})"


def list_dims(dims: Dims) -> str:
    """``[?, 784]``: dims as error messages show them."""
    if dims is None:
        return "<unknown>"
    return f"[{', '.join('?' if d is None else str(d) for d in dims)}]"


def num_elements(dims: Dims) -> int | None:
    """Product of the sizes, ``None`` where not fully known."""
    if dims is None:
        return None
    product = 1
    for d in dims:
        if d is None:
            return None
        product *= d
    return product


def compatible(a: Dims, b: Dims) -> bool:
    """True when some concrete shape fits both."""
    if a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def merge(a: Dims, b: Dims) -> Dims:
    """What both say together; raises `ValueError` when they disagree."""
    if a is None:
        return b
    if b is None or a == b:
        return a
    if not compatible(a, b):
        raise ValueError(f"Shapes {format_dims(a)} and {format_dims(b)} are not compatible")
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


def common(a: Dims, b: Dims) -> Dims:
    """The most specific dims that cover both (where they differ, unknown)."""
    if a == b:
        return a
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def same_dims(a: Dims, b: Dims) -> Dims:
    """What two shapes that must be the same say together; raises `ValueError`, with both."""
    try:
        return merge(a, b)
    except ValueError:
        raise ValueError(
            f"both must have the same shape, got {list_dims(a)} and {list_dims(b)}"
        ) from None


def smaller_size(a: int | None, b: int | None) -> int | None:
    """The smaller of two sizes; ``None`` where one is unknown."""
    return None if a is None or b is None else min(a, b)


class BroadcastError(ValueError):
    """Two static shapes cannot be broadcast together."""


def broadcast(a: Dims, b: Dims) -> Dims:
    """NumPy's broadcasting over partial shapes; raises `BroadcastError`."""
    if a == b and (a is None or None not in a):
        return a
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a = (1,) * (len(b) - len(a)) + a
    elif len(b) < len(a):
        b = (1,) * (len(a) - len(b)) + b
    out: list[int | None] = []
    for x, y in zip(a, b, strict=True):
        if x == 1:
            out.append(y)
        elif y == 1 or x == y:
            out.append(x)
        elif x is None:
            out.append(y)
        elif y is None:
            out.append(x)
        else:
            raise BroadcastError(f"{x} and {y}")
    return tuple(out)


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """`tf.broadcast_static_shape`: raises `ValueError` when the shapes do not fit."""
    try:
        return TensorShape(broadcast(as_dims(shape_x), as_dims(shape_y)))
    except BroadcastError as e:
        raise ValueError(
            f"Incompatible shapes for broadcasting: {as_shape(shape_x)} and {as_shape(shape_y)}"
        ) from e


def normalize_axis(axis: int, rank: int) -> int:
    """``axis`` as a number from 0 to rank - 1; raises `ValueError` outside."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of range for a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """The `Dimension` number ``index`` of a `TensorShape`, unknown where the rank is."""
    return Dimension(None) if shape.ndims is None else Dimension(dimension_value(shape[index]))
