"""`TypeSpec` and `CompositeTensor`: what a value made of several tensors is, and the bases of programs' own."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dataflow.dtypes import DType
from dataflow.graph.nest import flatten, pack_like
from dataflow.providers import provided
from dataflow.shapes import TensorShape


class TypeSpec:
    """The base: specs are equal when their classes and all their parts are.

    A program's own spec defines ``value_type``, ``_serialize`` (its parts, as the constructor takes them),
    ``_component_specs`` (specs of what its values are made of, nested), ``_to_components(value)`` and
    ``_from_components(components)``. Its values then pass through `tf.function`, `tf.nest` with
    ``expand_composites``, conditionals and loops.
    """

    #: The attributes that make up the spec, as the constructor takes them.
    _parts: tuple[str, ...] = ()

    def _serialize(self) -> tuple[Any, ...]:
        """The parts, as the constructor takes them: shapes, dtypes, numbers, other specs."""
        return tuple(getattr(self, f"_{part}") for part in self._parts)

    @classmethod
    def _deserialize(cls, serialization: Any) -> Any:
        """The spec of what `_serialize` gave."""
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a spec, or the spec of a value, is of this class, with parts that may be these."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = provided("type_spec_from_value")(other)
        return type(self) is type(other) and _may_be(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """The narrowest spec that both this and ``other`` fit; raises `ValueError` where there is none."""
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_merged(self._serialize(), other._serialize()))

    @property
    def _component_specs(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._component_specs")

    def _to_components(self, value: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._to_components()")

    def _from_components(self, components: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._from_components()")

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        """The specs of the tensors that values are made of."""
        return _tensors(self._component_specs)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        """The tensors that a value is made of."""
        return _tensors(self._to_components(value))

    def _from_tensor_list(self, tensor_list: Any) -> Any:
        """The value of these tensors; raises `ValueError` for others."""
        expected = self._flat_tensor_specs
        if len(tensor_list) != len(expected):
            raise ValueError("Incompatible input: wrong number of tensors")
        for number, (spec, tensor) in enumerate(zip(expected, tensor_list, strict=True)):
            if not spec.is_compatible_with(tensor):
                raise ValueError(
                    f"Incompatible input: tensor {number} ({tensor}) is incompatible with {spec}"
                )
        return self._from_compatible_tensor_list(tensor_list)

    def _from_compatible_tensor_list(self, tensor_list: Any) -> Any:
        return self._from_components(_packed(self._component_specs, tensor_list))

    def _composite_parts(self) -> Any:
        """The specs of its tensors; tensors in their place make a value."""
        specs = self._flat_tensor_specs

        def rebuild(parts: list[Any]) -> Any:
            if parts and isinstance(parts[0], TypeSpec):
                return self
            return self._from_compatible_tensor_list(parts)

        return specs, rebuild

    def _key(self) -> tuple[Any, ...]:
        return tuple(map(_comparable, self._serialize()))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __reduce__(self) -> Any:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        if not self._parts:
            return f"{type(self).__name__}{self._serialize()!r}"
        parts = []
        for part in self._parts:
            value = getattr(self, f"_{part}")
            text = str(value) if isinstance(value, TensorShape) else repr(value)
            parts.append(f"{part}={text}")
        return f"{type(self).__name__}({', '.join(parts)})"


class CompositeTensor(metaclass=abc.ABCMeta):  # noqa: B024  (programs derive from it; see `_type_spec`)
    """The base of sparse and ragged tensors and of `IndexedSlices`, and of classes of programs like them.

    A program's class has a property ``_type_spec``, its `TypeSpec`.
    """

    @property
    def _type_spec(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._type_spec")

    def _shape_invariant_to_type_spec(self, shape: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._shape_invariant_to_type_spec")

    def _composite_parts(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        spec = self._type_spec
        return spec._to_tensor_list(self), spec._from_compatible_tensor_list

    def components(self) -> Any:
        """What it is made of, nested."""
        return self._type_spec._to_components(self)


def is_programs_composite(value: Any) -> bool:
    """Whether a program's class, derived from `CompositeTensor`, made ``value``: those of the engine, which count as
    such for `isinstance`, are taken apart by ways of their own."""
    return CompositeTensor in type(value).__mro__


def own_spec(value: Any) -> Any:
    """The spec that a value's class says; None where it says none."""
    return value._type_spec if hasattr(type(value), "_type_spec") else None


def taken_apart(value: CompositeTensor) -> tuple[TypeSpec, Any, Callable[[Any], Any]]:
    """The spec of a program's composite, its components, nested, and what makes one of others."""
    spec = value._type_spec
    return spec, spec._to_components(value), spec._from_components


def _tensors(components: Any) -> list[Any]:
    """The tensors, or specs of tensors, of components, which may be made of several themselves."""
    from dataflow.ops.composites import parts_of

    found: list[Any] = []
    for leaf in flatten(components):
        parts = parts_of(leaf)
        found += [leaf] if parts is None else _tensors(parts[0])
    return found


def _packed(specs: Any, tensors: Any) -> Any:
    """``tensors`` as the components that ``specs`` say."""
    from dataflow.ops.composites import parts_of

    left = iter(tensors)
    made = []
    for spec in flatten(specs):
        parts = parts_of(spec)
        made.append(next(left) if parts is None else parts[1]([next(left) for _ in parts[0]]))
    return pack_like(specs, made)


def _comparable(value: Any) -> Any:
    """A part of a spec as what can be compared and hashed: an unknown size equals an unknown size."""
    if isinstance(value, TensorShape):
        return TensorShape, None if value.ndims is None else tuple(value.as_list())
    if isinstance(value, Mapping):
        return tuple((key, _comparable(value[key])) for key in sorted(value))
    if isinstance(value, (tuple, list)):
        return tuple(map(_comparable, value))
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, repr(value.tolist())
    return value


def _may_be(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_may_be, a, b))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(_may_be(a[key], b[key]) for key in a)
    if isinstance(a, (TypeSpec, TensorShape, DType)):
        return bool(a.is_compatible_with(b))
    return bool(_comparable(a) == _comparable(b))


def _merged(a: Any, b: Any) -> Any:
    if type(a) is type(b):
        if isinstance(a, tuple) and len(a) == len(b):
            return tuple(map(_merged, a, b))
        if isinstance(a, Mapping) and a.keys() == b.keys():
            return {key: _merged(a[key], b[key]) for key in a}
        if isinstance(a, TensorShape):
            return a.most_specific_compatible_shape(b)
        if isinstance(a, TypeSpec):
            return a.most_specific_compatible_type(b)
        if _comparable(a) == _comparable(b):
            return a
    raise ValueError(f"Types are not compatible: {a!r} vs {b!r}")


class BatchableTypeSpec(TypeSpec):
    """The base of specs of what can be batched; programs derive theirs from it."""

    def _batch(self, batch_size: int | None) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._batch")

    def _unbatch(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__}._unbatch")
