"""Python values become tensors: constants, packed lists, and registered conversions."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.errors import DTypeError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.type_aliases import DTypeLike

#: What needs no look at the registered conversions.
_NUMBERS = frozenset({bool, int, float, complex})
#: (type, function(value, dtype, name, as_ref)) in order of priority.
_converters: list[tuple[int, Any, Callable[..., Any]]] = []
_make_constant: Callable[..., Tensor] | None = None
_pack: Callable[..., Tensor] | None = None
_make_array: Callable[..., Any] | None = None


class SymbolicInput(TypeError):
    """Eager code was given ``tensor``, which is one of a graph and has no value."""

    def __init__(self, message: str, tensor: Tensor) -> None:
        super().__init__(message)
        self.tensor = tensor


class CompositeOperand(TypeError):
    """A value of several tensors (`RaggedTensor`, `SparseTensor`) where one tensor is needed.

    An op that acts element by element catches it, and is applied to the parts (`OpDef.build`).
    """

    def __init__(self, composite: Any, advice: str) -> None:
        super().__init__(f"a {type(composite).__name__} where a tensor is needed: {advice}")
        self.composite = composite


def set_builders(
    make_constant: Callable[..., Tensor],
    pack: Callable[..., Tensor],
    make_array: Callable[..., Any],
) -> None:
    """Tells this module how to build Const and Pack nodes (called once by `dataflow.ops`)."""
    global _make_constant, _pack, _make_array
    _make_constant, _pack, _make_array = make_constant, pack, make_array


def array_of(value: Any, dtype: DType | None = None, shape: Any = None) -> tuple[Any, DType]:
    """The array and dtype that a constant of ``value`` would have."""
    assert _make_array is not None
    return _make_array(value, dtype, shape)  # type: ignore[no-any-return]


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Values of ``base_type`` become tensors by ``conversion_func(value, dtype, name, as_ref)``.

    The function may return `NotImplemented` to let the next one try. Lower priorities come first.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"base_type must be a type or a tuple of types, got {base_type!r}.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _converters.append((priority, base_type, conversion_func))
    _converters.sort(key=lambda item: item[0])


def convert_to_tensor(
    value: Any,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """``value`` as a `Tensor` of the default graph.

    Raises `TypeError` when no tensor can be made of it, `ValueError` when it is a tensor of
    another dtype than ``dtype``.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    preferred = preferred_dtype if preferred_dtype is not None else dtype_hint
    tensor = internal_convert(
        value, wanted, name, None if preferred is None else as_dtype(preferred), False
    )
    if wanted is not None and tensor.dtype.base_dtype is not wanted:
        raise ValueError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
            f"{tensor.dtype.name}: {tensor.name!r}. Use tf.cast(t, tf.{wanted.name})."
        )
    return tensor


def internal_convert(
    value: Any,
    dtype: DType | None,
    name: str | None,
    preferred: DType | None = None,
    as_ref: bool = False,
) -> Tensor:
    """As `convert_to_tensor`; with ``as_ref`` a variable gives its reference, not its value.

    A tensor of another dtype is returned as it is: the caller compares and words the error.
    """
    if isinstance(value, Tensor):
        if value.known_value is not None and not (graph := default_graph()).executes_eagerly:
            return value.in_graph(graph)
        return value
    if type(value) in _NUMBERS and preferred is None:
        assert _make_constant is not None
        return _make_constant(value, dtype, None, name or "Const")
    convert = getattr(value, "_dense_var_to_tensor", None)
    if convert is not None:
        return convert(dtype=dtype, name=name, as_ref=as_ref)  # type: ignore[no-any-return]
    for _, base_type, function in _converters:
        if isinstance(value, base_type):
            result = function(value, dtype=dtype, name=name, as_ref=as_ref)
            if result is not NotImplemented:
                return result  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)) and _contains_tensor(value):
        own = _tensor_dtype(value)
        # As in TensorFlow, tensors in a list become what is wanted, or what the op takes by default, if
        # the first of them is something else: reshape(x, [shape(x)[0] / 2, -1]) has an int32 shape.
        wanted = dtype or preferred
        casts = wanted is not None and own is not None and own is not wanted
        return _auto_pack(list(value), wanted or own, name, casts)
    assert _make_constant is not None
    if dtype is None and preferred is not None and not _would_wrap(value, preferred):
        try:
            return _make_constant(value, preferred, None, name or "Const")
        except (TypeError, ValueError):
            pass
    return _make_constant(value, dtype, None, name or "Const")


def _would_wrap(value: Any, dtype: DType) -> bool:
    """Whether an array of integers has some that ``dtype``, which is only preferred, cannot hold."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or not value.size:
        return False
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype.as_numpy_dtype)
    return int(value.min()) < limits.min or int(value.max()) > limits.max


#: Types of programs that `tf.is_tensor` says yes to.
dense_types: list[type] = []


def is_tensor_like(value: Any) -> bool:
    """True for tensors and for values with a registered conversion, such as variables."""
    return (
        isinstance(value, Tensor)
        or hasattr(value, "_dense_var_to_tensor")
        or any(isinstance(value, base) for _, base, _ in _converters)
    )


def _contains_tensor(values: Any) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if _contains_tensor(value):
                return True
        elif not isinstance(value, (int, float, str, bytes, np.ndarray, np.generic)) and (
            is_tensor_like(value)
        ):
            return True
    return False


def _tensor_dtype(values: Any) -> DType | None:
    for value in values:
        if isinstance(value, (list, tuple)):
            found = _tensor_dtype(value)
            if found is not None:
                return found
        elif is_tensor_like(value) and isinstance(getattr(value, "dtype", None), DType):
            dtype: DType = value.dtype.base_dtype
            return dtype
    return None


def _auto_pack(
    values: list[Any], dtype: DType | None, name: str | None, casts: bool = False
) -> Tensor:
    assert _pack is not None
    graph = default_graph()
    with graph.name_scope(name or "packed") as scope:
        parts = []
        for i, value in enumerate(values):
            if isinstance(value, (list, tuple)) and _contains_tensor(value):
                parts.append(_auto_pack(list(value), dtype, str(i), casts))
                continue
            if casts and is_tensor_like(value):
                part = internal_convert(value, None, str(i))
                if part.dtype.base_dtype is not dtype:
                    from dataflow.graph.registry import get_op

                    part = get_op("Cast")(part, DstT=dtype)
            else:
                part = internal_convert(value, dtype, str(i))
            if dtype is not None and part.dtype.base_dtype is not dtype:
                raise DTypeError(
                    None,
                    None,
                    f"Cannot pack a list of tensors into one: element {i} ({part.name!r}) is "
                    f"{part.dtype.name}, others are {dtype.name}. Cast them to one dtype first.",
                )
            parts.append(part)
        return _pack(parts, name=scope)


def convert_n_to_tensor(
    values: Any, dtype: DTypeLike | None = None, name: str | None = None
) -> list[Tensor]:
    """Each of ``values`` as a tensor; with ``name``, named ``name_0``, ``name_1``, ..."""
    return [
        convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}")
        for i, v in enumerate(values)
    ]


def preferred_of_list(value: Sequence[Any], allowed: Container[DType] | None) -> DType | None:
    """The dtype to try first for a list whose own says little, where an op takes ``allowed`` only.

    An empty list says nothing; no axes are still axes. Since NumPy 2 a uint8 plus 1 is one, too, so
    that programs for NumPy 1 give sizes of shapes as such.
    """
    if allowed is None or dtypes.int32 not in allowed or _contains_tensor(value):
        return None
    if not value:
        return dtypes.int32 if dtypes.float32 not in allowed else None
    if dtypes.uint8 not in allowed and any(
        isinstance(item, np.integer) and item.itemsize < 4 for item in value
    ):
        return dtypes.int32
    return None
