"""What the loops over steps share: first states, one step, and what happens after a sequence's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.base import Layer
from dataflow.ops import array
from dataflow.ops.math import cast
from dataflow.ops.tensor_array import TensorArray
from dataflow.rnn.base_cell import zeros_of_size

if TYPE_CHECKING:
    from dataflow.rnn.base_cell import RNNCell


def initial_state_of(
    cell: Any, initial_state: Any, dtype: DTypeLike | None, batch_size: int | Tensor
) -> Any:
    if initial_state is not None:
        return nest.map_structure(
            lambda s: s if isinstance(s, TensorArray) else convert_to_tensor(s), initial_state
        )
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if not is_keras_cell(cell):
        return cell.zero_state(batch_size, dtype)
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return zeros_of_size(cell.state_size, batch_size, dtype)


def is_keras_cell(cell: Any) -> bool:
    """Whether ``cell`` is one of `tf.keras`: a layer whose states are a list."""
    return isinstance(cell, Layer) and not hasattr(cell, "zero_state")


def build_keras_cell(cell: RNNCell, input_shape: Any) -> None:
    """Makes the variables of a cell of `tf.keras` before a loop: their initializers are outside of it."""
    if is_keras_cell(cell) and not cell.built:
        with default_graph().name_scope(cell.name):
            cell.build(input_shape)
        cell.built = True


def one_step(cell: RNNCell, inputs: Any, state: Any) -> tuple[Any, Any]:
    """The output and the new state, in the structure of ``state``, of a cell of either kind."""
    if not is_keras_cell(cell):
        return cell(inputs, state)  # type: ignore[no-any-return]
    output, new_state = cell(inputs, state if nest.is_nested(state) else [state])
    flat = nest.flatten(new_state)
    return output, nest.pack_like(state, flat) if nest.is_nested(state) else flat[0]


def lengths_of(sequence_length: TensorLike) -> Tensor:
    """The lengths as an int32 vector; raises `ValueError` for another rank."""
    lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
    if lengths.shape.ndims not in (None, 1):
        raise ValueError(
            f"sequence_length must be a vector of length batch_size, but saw shape: {lengths.shape}"
        )
    return lengths  # type: ignore[no-any-return]


def copy_through(active: Any, new: Any, old: Any) -> Any:
    """Rows of sequences that have ended keep the old value; scalars and arrays have no rows."""
    return _of_rows(active, new, old, new)


def frozen(finished: Any, old: Any, new: Any) -> Any:
    """As `copy_through`, told which sequences have ended."""
    return _of_rows(finished, old, new, new)


def _of_rows(condition: Any, chosen: Any, other: Any, new: Any) -> Any:
    if isinstance(new, TensorArray) or new.shape.ndims == 0:
        return new
    result = array.where(condition, chosen, other)
    result.set_shape(new.shape)
    return result


def check_cell(cell: RNNCell) -> None:
    if not (hasattr(cell, "output_size") and hasattr(cell, "state_size") and callable(cell)):
        raise TypeError(
            f"The argument 'cell' ({cell}) is not an RNNCell: it needs output_size, state_size and "
            "to be callable."
        )
