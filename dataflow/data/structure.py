"""The structure of elements: tuples and dicts nest, everything else (lists too) is a component.

Inside the engine each component is one tensor. A sparse tensor, a dataset, an optional and a
`TensorArray` are encoded for that: `Structure.encode` and `Structure.decode` are the two ways across.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dataflow import dtypes
from dataflow.data.component_specs import ComponentSpec, VariantSpec
from dataflow.data.component_tensors import (
    decode_component,
    encode_component,
    encoded_dims,
    spec_dims,
)
from dataflow.data.ragged_elements import RaggedTensorSpec
from dataflow.dtypes import DType
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, DynamicShapeLike
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.ragged_value import RaggedTensorValue
from dataflow.ops.script_ops import variant_of
from dataflow.ops.sparse_serialization import serialize_many_sparse
from dataflow.ops.sparse_tensor import SparseTensor, SparseTensorValue
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from dataflow.shapes import Dims, TensorShape, as_dims


class DatasetSpec(VariantSpec):
    """A component that is a dataset; ``element_spec``: specs of its elements, in their nesting.

    ``dataset_shape`` is that of an array of datasets: () alone, else `NotImplementedError`.
    """

    _parts = ("element_spec",)

    def __init__(self, element_spec: Any, dataset_shape: DynamicShapeLike = ()) -> None:
        super().__init__()
        if TensorShape(dataset_shape).rank != 0:
            raise NotImplementedError(
                f"DatasetSpec: an element holds single datasets, no arrays of them; got dataset_shape={dataset_shape!r}. "
                "Leave dataset_shape out."
            )
        is_structure = isinstance(element_spec, Structure)
        self._structure = element_spec if is_structure else Structure.of_specs(element_spec)

    @property
    def element_spec(self) -> Any:
        """The specs of the dataset's elements, in their nesting."""
        return self._structure.nested_specs

    @property
    def _element_spec(self) -> Any:
        return self.element_spec

    @property
    def structure(self) -> Structure:
        """The structure of the dataset's elements."""
        return self._structure

    @property
    def value_type(self) -> Any:
        """What has this spec."""
        from dataflow.data.dataset import Dataset

        return Dataset

    def decode(self, tensor: Tensor) -> Any:
        from dataflow.data.dataset import Dataset

        return Dataset(self.structure, lambda: _in_this_graph(tensor))


def _in_this_graph(tensor: Tensor) -> Tensor:
    """``tensor``, or where it is one of eager code, a node of the present graph that is its value."""
    return variant_of(tensor.numpy()) if isinstance(tensor, EagerTensor) else tensor


class OptionalSpec(VariantSpec):
    """A component that is a `tf.data.experimental.Optional`; ``value_structure``: specs of its value."""

    _parts = ("value_structure",)

    def __init__(self, value_structure: Any) -> None:
        super().__init__()
        self._value_structure = Structure.of_specs(value_structure).nested_specs

    @staticmethod
    def from_value(value: Any) -> OptionalSpec:
        """The spec of an optional."""
        return value.component_spec  # type: ignore[no-any-return]

    def decode(self, tensor: Tensor) -> Any:
        from dataflow.data.optional import Optional

        return Optional(_in_this_graph(tensor), Structure.of_specs(self._value_structure))


class TensorArraySpec(ComponentSpec):
    """A component that is a `TensorArray`, kept as the stack of its elements, whose shape ``shape`` is."""

    _parts = ("shape", "dtype")

    def __init__(self, shape: Any, dtype: DTypeLike) -> None:
        self._shape = self.shape = TensorShape(shape)
        self._dtype = self.dtype = dtypes.as_dtype(dtype)

    @property
    def value_type(self) -> Any:
        """What has this spec."""
        return TensorArray

    def encode(self, value: Any) -> Tensor:
        return value.stack()  # type: ignore[no-any-return]

    def decode(self, tensor: Tensor) -> Any:
        from dataflow.ops.array import shape

        # Its elements' shape is said, as an array without elements could not be stacked otherwise.
        element = None if self.shape.ndims is None else self.shape[1:]
        array = TensorArray(
            self.dtype, size=shape(tensor)[0], infer_shape=False, element_shape=element
        )
        return array.unstack(tensor)


def to_tensors(value: Any, name: str | None = None) -> Any:
    """The same structure with a tensor (sparse tensor, dataset, `TensorArray`) for every leaf."""
    if _is_nest(value):
        if isinstance(value, Mapping):
            pairs = [(k, _of_key(k, v, name)) for k, v in value.items()]
            kind: Any = type(value)
            return dict(pairs) if kind is dict else kind(pairs)
        parts = [to_tensors(v, name) for v in value]
        named: Any = type(value)
        return named(*parts) if hasattr(value, "_fields") else tuple(parts)
    return leaf_tensor(value, name)


def _of_key(key: Any, value: Any, name: str | None) -> Any:
    try:
        return to_tensors(value, name)
    except ValueError as e:
        raise ValueError(f"component {key!r}: {e}") from e


def leaf_tensor(value: Any, name: str | None = None) -> Any:
    """One component as a tensor; pandas' frames and columns are taken by their values."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if isinstance(value, RaggedTensorValue):
        return convert_to_ragged(value)
    if isinstance(value, (SparseTensor, TensorArray, RaggedTensor)):
        return value
    if hasattr(value, "component_spec"):
        return value
    if hasattr(value, "to_numpy") and hasattr(value, "iloc"):
        value = value.to_numpy()
    return convert_to_tensor(value, name=name)


def _spec_of(value: Any) -> Any:
    """The spec of what `leaf_tensor` gave."""
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, RaggedTensor):
        return RaggedTensorSpec.from_value(value)
    if isinstance(value, TensorArray):
        element = value.element_shape
        known = None if element.ndims is None else [None, *element.as_list()]
        return TensorArraySpec(known, value.dtype)
    if hasattr(value, "component_spec"):
        return value.component_spec
    return TensorSpec(TensorShape(value.dims), value.dtype.base_dtype)


class Structure:
    """What the components of an element are (`specs`), and their nesting.

    ``dtypes`` and ``dims`` are those of the tensors that components are encoded in; ``types``,
    ``shapes`` and ``classes`` what the user sees.
    """

    def __init__(self, nesting: Any, specs: list[Any]) -> None:
        self.nesting = nesting
        self.specs = specs

    @classmethod
    def of_tensors(cls, nesting: Any, types: list[DType], dims: list[Dims]) -> Structure:
        """Components that are tensors of these dtypes and shapes."""
        pairs = zip(types, dims, strict=True)
        return cls(nesting, [TensorSpec(TensorShape(d), t) for t, d in pairs])

    @classmethod
    def of_specs(cls, nesting: Any) -> Structure:
        """From specs in their nesting; `TypeError` where a component is something else."""
        specs = flatten(nesting)
        for spec in specs:
            if not isinstance(spec, TypeSpec):
                raise TypeError(
                    f"a structure is made of tf.TensorSpec and its kin, got {spec!r}; write "
                    "tf.TensorSpec(shape, dtype) for each component."
                )
        return cls(nesting, specs)

    @classmethod
    def of(cls, values: Any) -> Structure:
        """The structure of what `to_tensors` gave."""
        return cls(values, [_spec_of(v) for v in flatten(values)])

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of the encoded components."""
        encoded = (SparseTensorSpec, RaggedTensorSpec)
        return [dtypes.variant if isinstance(s, encoded) else s.dtype for s in self.specs]

    @property
    def dims(self) -> list[Dims]:
        """The shapes of the encoded components."""
        return [encoded_dims(s) for s in self.specs]

    @property
    def component_dims(self) -> list[Dims]:
        """The shapes of the components; dense shapes of sparse ones."""
        return [spec_dims(s) for s in self.specs]

    def encode(self, values: Any) -> list[Tensor]:
        """A tensor for each component of an element."""
        return [encode_component(s, v) for s, v in zip(self.specs, flatten(values), strict=True)]

    def encode_rows(self, values: Any) -> list[Tensor]:
        """Tensors whose rows are the encoded rows of the components (of specs with a batch axis)."""
        return [
            serialize_many_sparse(v, out_type=dtypes.variant)
            if isinstance(s, SparseTensorSpec)
            else v
            for s, v in zip(self.specs, flatten(values), strict=True)
        ]

    def decode(self, flat: list[Any]) -> Any:
        """The element whose components these tensors encode, in its nesting."""
        return self.pack([decode_component(s, t) for s, t in zip(self.specs, flat, strict=True)])

    def pack(self, flat: list[Any]) -> Any:
        """``flat`` in this nesting."""
        return pack(self.nesting, flat)

    @property
    def types(self) -> Any:
        """Dtypes in the nesting."""
        return self.pack([s if isinstance(s, OptionalSpec) else s.dtype for s in self.specs])

    @property
    def shapes(self) -> Any:
        """Shapes in the nesting."""
        return self.pack([s if isinstance(s, OptionalSpec) else s.shape for s in self.specs])

    @property
    def classes(self) -> Any:
        """`Tensor`, `SparseTensor` and their like in the nesting."""
        return self.pack([s.value_type for s in self.specs])

    @property
    def nested_specs(self) -> Any:
        """The specs in the nesting."""
        return self.pack(self.specs)

    def with_dims(self, dims: list[Dims]) -> Structure:
        """The same with other shapes of its components."""
        specs = [
            s
            if isinstance(s, (VariantSpec, RaggedTensorSpec))
            else type(s)(TensorShape(d), s.dtype)
            for s, d in zip(self.specs, dims, strict=True)
        ]
        return Structure(self.nesting, specs)

    def _refuse_unstacked(self, verb: str) -> None:
        if any(isinstance(spec, OptionalSpec) for spec in self.specs):
            raise TypeError(
                f"Optionals cannot be {verb}, got elements of {self.nested_specs!r}; take their "
                "values out first, as in dataset.map(lambda optional: optional.get_value())."
            )
        if any(isinstance(spec, RaggedTensorSpec) for spec in self.specs):
            raise TypeError(
                f"ragged tensors of a dataset cannot be {verb} here, got elements of "
                f"{self.nested_specs!r}; fill them up first, as in dataset.map(lambda r: r.to_tensor()), "
                "or use padded_batch."
            )

    def batched(self, size: int | None) -> Structure:
        """``size`` elements stacked (None: unknown)."""
        self._refuse_unstacked("batched")
        return self.with_dims([None if d is None else (size, *d) for d in self.component_dims])

    def unbatched(self) -> Structure:
        """A row of each component."""
        self._refuse_unstacked("taken apart into rows")
        return self.with_dims([None if d is None else d[1:] for d in self.component_dims])


class Structured:
    """What is public of the structure of an element, of datasets and iterators alike."""

    _structure: Structure

    @property
    def output_types(self) -> Any:
        """Dtypes of an element."""
        return self._structure.types

    @property
    def output_shapes(self) -> Any:
        """Shapes of an element."""
        return self._structure.shapes

    @property
    def output_classes(self) -> Any:
        """Classes of an element's components."""
        return self._structure.classes

    @property
    def element_spec(self) -> Any:
        """The specs of an element's components (`TensorSpec` and its kin)."""
        return self._structure.nested_specs


def _is_nest(value: Any) -> bool:
    return isinstance(value, (tuple, Mapping)) and not isinstance(
        value, (TensorShape, SparseTensorValue)
    )


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


def dims_like(nesting: Any, shapes: Any, of_leaf: Callable[[Any], Any] = as_dims) -> list[Any]:
    """Flat dims from shapes given in the nesting (``None``: unknown for all leaves)."""
    if shapes is None:
        return [None] * len(flatten(nesting))
    if not _is_nest(nesting):
        return [of_leaf(shapes)]
    result: list[Any] = []
    if isinstance(nesting, Mapping):
        for key in nest.ordered_keys(nesting):
            result.extend(dims_like(nesting[key], shapes[key], of_leaf))
    else:
        given = list(shapes) if isinstance(shapes, (list, tuple)) else None
        if given is None or len(given) != len(nesting):
            raise TypeError(
                f"output_shapes {shapes!r} do not have the nesting of output_types {nesting!r}."
            )
        for part, shape in zip(nesting, given, strict=True):
            result.extend(dims_like(part, shape, of_leaf))
    return result
