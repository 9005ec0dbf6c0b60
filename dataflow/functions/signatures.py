"""Signatures: which calls of a `tf.function` are traced once for all.

As in TensorFlow, tensors are told apart by dtype and shape, what Python compares and hashes by value, and all
other objects, variables among them, by identity.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.nest import flatten, ordered_keys
from dataflow.graph.tensor import Tensor
from dataflow.ops.composites import parts_of
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_spec_bases import is_programs_composite
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec, type_spec_from_value
from dataflow.ops.variables import Variable
from dataflow.shapes import Dims, as_dims

#: What has its value for its identity, and needs no more looking at.
_PLAIN = frozenset({bool, int, float, str, bytes, type(None)})
_TENSOR, _OBJECT, _COMPOSITE = object(), object(), object()


class ById:
    """An object as a part of a key: equal to itself alone, and kept for as long as the key is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Arguments:
    """The arguments of a call: the ``key`` of their signature, and the ``tensors`` among them in order.

    ``ranks_only``: the key has the ranks of tensors in place of their shapes. These are then in ``dims``, in the same
    order, with those of `tf.TensorSpec` among them, which are in the key anyway. How many values a sparse or ragged
    tensor has is no part of either (``is_open`` says that there is such an argument): a function is traced once for all.
    """

    __slots__ = ("_of_any_size", "_ranks_only", "dims", "is_open", "key", "tensors")

    def __init__(self, values: Any, extra: Any = None, ranks_only: bool = False) -> None:
        self.tensors: list[EagerTensor] = []
        self._ranks_only = ranks_only
        self._of_any_size = self.is_open = False
        self.dims: list[Dims] = []
        parts: list[Any] = [extra]
        for value in values:
            self._add(value, parts)
        self.key = tuple(parts)

    def _add(self, value: Any, parts: list[Any]) -> None:
        kind = type(value)
        if kind is EagerTensor:
            if value.known_value is None:
                parts.append(ById(value))
                return
            dims: Any = value.dims
            if self._of_any_size:
                dims = (None, *dims[1:])
            if self._ranks_only:
                self.dims.append(dims)
                dims = len(dims)
            parts += (_TENSOR, value.dtype, dims)
            self.tensors.append(value)
        elif kind in _PLAIN:
            parts.append(value)
        elif isinstance(value, Mapping):
            keys = ordered_keys(value)
            parts += (kind, len(keys))
            for key in keys:
                parts.append(key)
                self._add(value[key], parts)
        elif isinstance(value, (list, tuple)):
            parts += (kind, len(value))
            for item in value:
                self._add(item, parts)
        else:
            self._add_object(value, parts)

    def _add_object(self, value: Any, parts: list[Any]) -> None:
        if isinstance(value, Tensor):
            raise TypeError(
                f"a function that eager code calls was given {value!r}, a symbolic tensor of a graph. "
                "Call it within that graph: with graph.as_default()."
            )
        if isinstance(value, TensorSpec):
            dims = as_dims(value.shape)
            parts += (_TENSOR, value.dtype, dims)  # said, and so never relaxed
            self.dims.append(dims)
            return
        if not isinstance(value, Variable) and (found := parts_of(value)) is not None:
            parts += (_COMPOSITE, type(value), len(found[0]))
            if is_programs_composite(value):
                parts.append(type_spec_from_value(value))  # what it has beside its tensors
            open_parts = _open_parts(value)
            for number, part in enumerate(found[0]):
                self._of_any_size = number in open_parts
                self._add(part, parts)
            self._of_any_size = False
            self.is_open |= bool(open_parts)
            return
        try:
            if isinstance(value, Variable):
                raise TypeError
            hash(value)
        except TypeError:
            parts.append(ById(value))
        else:
            parts.append(value)


def _open_parts(value: Any) -> Collection[int]:
    """Which parts of a composite have as many rows as it has values: all but the outermost splits of a ragged one."""
    if isinstance(value, RaggedTensor):
        return {0, *range(2, 1 + value.ragged_rank)}
    return {0, 1} if isinstance(value, SparseTensor) else ()


def has_array(value: Any) -> bool:
    """Whether there is a NumPy array among arguments, which becomes a tensor."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, Mapping):
        return any(map(has_array, value.values()))
    return isinstance(value, (list, tuple)) and any(map(has_array, value))


def replaced(value: Any, stand_in: Callable[[Any], Any]) -> Any:
    """A structure with ``stand_in(tensor)`` for each tensor that has a value, in the order of `Arguments`."""
    kind = type(value)
    if kind is EagerTensor:
        return value if value.known_value is None else stand_in(value)
    if isinstance(value, TensorSpec):
        return stand_in(value)
    if kind in _PLAIN or isinstance(value, (Variable, Tensor)):
        return value
    if isinstance(value, Mapping):
        made = {key: replaced(value[key], stand_in) for key in ordered_keys(value)}
        pairs = [(key, made[key]) for key in value]
        return dict(pairs) if kind is dict else kind(pairs)
    if isinstance(value, (list, tuple)):
        items = [replaced(item, stand_in) for item in value]
        return kind(*items) if hasattr(value, "_fields") else kind(items)
    found = parts_of(value)
    if found is None:
        return value
    parts, rebuild = found
    replacements = [replaced(part, stand_in) for part in parts]
    as_specs = bool(replacements) and isinstance(replacements[0], TensorSpec)
    spec = _spec_of(value) if as_specs else None
    return rebuild(replacements) if spec is None else spec


def _spec_of(value: Any) -> Any:
    """The spec of a sparse or ragged tensor or of a program's composite, which are not made of specs; else None."""
    if is_programs_composite(value):
        return type_spec_from_value(value)
    if isinstance(value, (SparseTensor, SparseTensorSpec)):
        return SparseTensorSpec([None] * (value.shape.ndims or 0), value.dtype)
    if isinstance(value, RaggedTensor):
        from dataflow.data.ragged_elements import RaggedTensorSpec

        return RaggedTensorSpec.from_value(value)
    return None


def described(
    names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[str], tuple[tuple[Any, ...], dict[str, Any]]]:
    """The names of the tensors among the arguments, and the arguments with a `TensorSpec` in place of each tensor.

    A tensor is named by its `TensorSpec`, or after its parameter; ``names`` are the parameters of ``args``. Raises
    `ValueError` where only some of the specs of one argument have names.
    """
    for value in (*args, *kwargs.values()):
        specs = [leaf for leaf in flatten(value) if isinstance(leaf, TensorSpec)]
        if len({spec.name is None for spec in specs}) > 1:
            raise ValueError(
                "If specifying TensorSpec names for nested structures, either zero or all names have to be "
                f"specified: got {[spec.name for spec in specs]}."
            )
    labels: list[str] = []

    def spec(given: Any, label: str) -> TensorSpec:
        labels.append((given.name if isinstance(given, TensorSpec) else None) or label)
        return TensorSpec(given.shape, given.dtype.base_dtype, labels[-1])

    labeled = zip([*names, *["args"] * len(args)], args, strict=False)
    positional = tuple(replaced(a, partial(spec, label=n)) for n, a in labeled)
    named = {n: replaced(value, partial(spec, label=n)) for n, value in kwargs.items()}
    return labels, (positional, named)


class Parameters:
    """How a function takes its arguments: `whole` gives all of them, with the default values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):  # a builtin
            self._signature = None
            self._count = -1
            return
        kinds = self._signature.parameters.values()
        plain = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in kinds)
        self._count = len(kinds) if plain else -1

    def whole(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Raises `TypeError` for arguments that the function does not take."""
        if (not kwargs and len(args) == self._count) or self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def names(self, count: int) -> list[str]:
        """What to call the first arguments in a graph; those of ``*args`` are ``args_0``, ``args_1``."""
        if self._signature is None:
            return [f"arg_{i}" for i in range(count)]
        found: list[str] = []
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                found += [f"{name}_{i}" for i in range(count - len(found))]
            elif parameter.kind in (
                parameter.POSITIONAL_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
            ):
                found.append(name)
        return found[:count]


def as_arrays_become_tensors(value: Any) -> Any:
    """Arguments with tensors for NumPy's arrays."""
    if isinstance(value, np.ndarray):
        return convert_to_tensor(value)
    if isinstance(value, Mapping):
        pairs = [(key, as_arrays_become_tensors(item)) for key, item in value.items()]
        return dict(pairs) if type(value) is dict else type(value)(pairs)  # type: ignore[call-arg]
    if isinstance(value, (list, tuple)):
        items = [as_arrays_become_tensors(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
