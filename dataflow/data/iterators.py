"""`Iterator`: where tensors come out of a dataset."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dataflow.data.component_specs import ComponentSpec
from dataflow.data.structure import Structure, Structured, dims_like, flatten
from dataflow.dtypes import as_dtype
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import dataset as ops
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec
from dataflow.shapes import TensorShape

GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected: every call "
    "adds a node. Call it once, outside the training loop, and run the result."
)

#: The collection of the iterators of a graph, as tensors.
GLOBAL_ITERATORS = "iterators"


class Iterator(Structured):
    """Gives the elements of a dataset one by one: ``get_next()`` is a tensor (or a nesting).

    At the end, running it is an `OutOfRangeError`.
    """

    def __init__(
        self,
        iterator_resource: Tensor,
        initializer: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> None:
        self._iterator_resource = iterator_resource
        default_graph().add_to_collection(GLOBAL_ITERATORS, iterator_resource)
        self._initializer = initializer
        if not isinstance(output_types, Structure):
            output_types = _structure(output_types, output_shapes, output_classes)
        self._structure: Structure = output_types
        self._num_calls = 0
        self._handle: Tensor | None = None

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator for any dataset of this structure; see `make_initializer`."""
        structure = _structure(output_types, output_shapes, output_classes)
        resource = ops.iterator_op(
            shared_name=shared_name or "",
            output_types=structure.dtypes,
            output_shapes=structure.dims,
            name="Iterator",
        )
        count_left_out(1)
        return Iterator(resource, None, structure)

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator that is chosen in each run by the string that is fed (`string_handle`)."""
        structure = _structure(output_types, output_shapes, output_classes)
        resource = ops.iterator_from_string_handle_op(
            string_handle, output_types=structure.dtypes, output_shapes=structure.dims
        )
        count_left_out(1)
        return Iterator(resource, None, structure)

    @property
    def resource(self) -> Tensor:
        """The tensor that stands for the iterator."""
        return self._iterator_resource

    @property
    def structure(self) -> Structure:
        """What an element is made of."""
        return self._structure

    def in_loop(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        """Two functions for each round of a `tf.while_loop`: whether there is one more element, and that element.

        The iterator starts when the loop does.
        """
        from dataflow.data.optional import get_next_as_optional

        started = with_dependencies([self.initializer], self._iterator_resource)
        iterator = Iterator(started, None, self._structure)
        found: list[Any] = []

        def more(index: Any) -> Any:
            found[:] = [get_next_as_optional(iterator)]
            return found[0].has_value()

        return more, lambda index: found[0].get_value()

    @property
    def has_initializer(self) -> bool:
        """Whether `initializer` starts this iterator: it was made from one dataset."""
        return self._initializer is not None

    @property
    def initializer(self) -> Any:
        """The operation that starts the iterator (anew)."""
        if not self.has_initializer:
            raise ValueError(
                "Iterator does not have an initializer: a one-shot iterator starts by itself, one "
                "made by from_structure is started by iterator.make_initializer(dataset)."
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """An operation that starts this iterator on ``dataset``.

        Raises `TypeError` when the dataset's dtypes or shapes do not fit.
        """
        other = dataset._structure
        if other.dtypes != self._structure.dtypes or other.classes != self._structure.classes:
            raise TypeError(
                f"Expected output types {self._structure.types!r} but got dataset with output types "
                f"{other.types!r}."
            )
        from dataflow.shapes import compatible

        pairs = zip(self._structure.component_dims, other.component_dims, strict=True)
        if not all(compatible(a, b) for a, b in pairs):
            raise TypeError(
                f"Expected output shapes compatible with {self._structure.shapes!r} but got dataset "
                f"with output shapes {other.shapes!r}."
            )
        with counted_as(1):
            return ops.make_iterator_op(
                dataset._as_variant_tensor(), self._iterator_resource, name=name
            )

    def get_next(self, name: str | None = None) -> Any:
        """The next element, as tensors in the dataset's nesting. Call it once, outside loops."""
        self._num_calls += 1
        if self._num_calls > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        return self._structure.decode(self.next_components(name))

    def next_components(self, name: str | None = None) -> list[Tensor]:
        """The next element as the tensors that its components travel as."""
        flat = ops.iterator_get_next_op(
            self._iterator_resource,
            output_types=self._structure.dtypes,
            output_shapes=self._structure.dims,
            name=name,
        )
        return list(flat)

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that names this iterator, to be fed to `from_string_handle`.

        Without ``name`` it is one tensor, however often it is asked for.
        """
        if name is not None:
            return ops.iterator_to_string_handle_op(self._iterator_resource, name=name)  # type: ignore[no-any-return]
        if self._handle is None:
            count_left_out(-1)  # it is there when the iterator is
            with self._iterator_resource.graph.control_dependencies(None):
                self._handle = ops.iterator_to_string_handle_op(self._iterator_resource)
        return self._handle


def _structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Structure:
    leaves = flatten(output_types)
    classes = [None] * len(leaves) if output_classes is None else flatten(output_classes)
    shapes = dims_like(output_types, output_shapes, lambda shape: shape)
    specs: list[Any] = []
    for kind, dtype, shape in zip(classes, leaves, shapes, strict=True):
        if isinstance(kind, ComponentSpec):
            specs.append(kind)
        else:
            spec = SparseTensorSpec if kind is SparseTensor else TensorSpec
            specs.append(spec(TensorShape(shape), as_dtype(dtype).base_dtype))
    return Structure(output_types, specs)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """`Dataset.make_initializable_iterator` as a function."""
    return dataset.make_initializable_iterator(shared_name)  # type: ignore[no-any-return]


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """`Dataset.make_one_shot_iterator` as a function."""
    return dataset.make_one_shot_iterator()  # type: ignore[no-any-return]


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Dtypes of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Shapes of an element."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Classes of an element's components."""
    return dataset_or_iterator.output_classes
