"""`Optional`: the value of an element that may be missing, as at the end of an iterator."""

from __future__ import annotations

from typing import Any

from dataflow.data.eager_iterator import EagerIterator
from dataflow.data.iterators import Iterator
from dataflow.data.structure import OptionalSpec, Structure, to_tensors
from dataflow.errors import OutOfRangeError
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.dataset import iterator_get_next_as_optional_op
from dataflow.ops.graph_functions import colocate_with
from dataflow.ops.optional import (
    optional_from_value_op,
    optional_get_value_op,
    optional_has_value_op,
    optional_none_op,
)


class Optional:
    """A value of a known structure that may be missing in a run.

    Made by `from_value`, `none_from_structure` and `get_next_as_optional`; a function given to
    `Dataset.map` may return one.
    """

    def __init__(self, tensor: Tensor, structure: Structure) -> None:
        self._tensor = tensor
        self._structure = structure

    def _composite_parts(self) -> tuple[list[Any], Any]:
        """The tensors that stand for it in loops and conditionals, and a function that rebuilds it from them."""
        return [self._tensor], lambda parts: Optional(parts[0], self._structure)

    @staticmethod
    def from_value(value: Any) -> Optional:
        """An optional that has ``value``: a tensor, or a nesting of tuples and dicts of tensors."""
        with default_graph().name_scope("optional") as scope:
            with default_graph().name_scope("value"):
                tensors = to_tensors(value)
                structure = Structure.of(tensors)
                components = structure.encode(tensors)
            if not components:
                raise ValueError(f"value must have a component, got {value!r}.")
            return Optional(optional_from_value_op(components, name=scope), structure)

    @staticmethod
    def none_from_structure(value_structure: Any) -> Optional:
        """An optional without a value.

        ``value_structure``: what a value would be, a `tf.TensorSpec` (or its kin) for each
        component, as `value_structure` of another optional gives it.
        """
        structure = Structure.of_specs(value_structure)
        return Optional(optional_none_op(), structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value: a bool scalar."""
        with colocate_with(self._tensor):
            return optional_has_value_op(self._tensor, name=name)  # type: ignore[no-any-return]

    def get_value(self, name: str | None = None) -> Any:
        """The value; running it is an `InvalidArgumentError` when there is none."""
        structure = self._structure
        with colocate_with(self._tensor):
            flat = optional_get_value_op(
                self._tensor,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
                name=name,
            )
        return structure.decode(list(flat))

    @property
    def value_structure(self) -> Any:
        """The specs of the value's components (`tf.TensorSpec` and its kin), in their nesting."""
        return self._structure.nested_specs

    @property
    def component_spec(self) -> OptionalSpec:
        """What this is as a component of a dataset's elements."""
        return OptionalSpec(self.value_structure)

    def as_variant_tensor(self) -> Tensor:
        """The tensor that stands for the optional."""
        return self._tensor


def get_next_as_optional(iterator: Iterator) -> Optional:
    """The next element of ``iterator``; an optional without a value at the end.

    An iterator that was not initialized is a `FailedPreconditionError`, as in ``get_next``.
    """
    if isinstance(iterator, EagerIterator):
        try:
            return Optional.from_value(iterator.get_next())
        except OutOfRangeError:
            return Optional.none_from_structure(iterator.element_spec)
    if not isinstance(iterator, Iterator):
        raise TypeError(
            f"iterator must be a tf.data.Iterator, got {iterator!r}: pass what "
            "dataset.make_one_shot_iterator() or make_initializable_iterator() gives."
        )
    structure = iterator.structure
    tensor = iterator_get_next_as_optional_op(
        iterator.resource, output_types=structure.dtypes, output_shapes=structure.dims
    )
    return Optional(tensor, structure)
