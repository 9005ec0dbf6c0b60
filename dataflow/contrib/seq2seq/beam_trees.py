"""The trees that a beam search leaves behind: each step names the beam it goes on from."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.comparison import equal, greater, greater_equal, less
from dataflow.ops.cumulative import cumsum
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import cast
from dataflow.ops.reduce import reduce_max
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import dimension_value


def tile_batch(t: Any, multiplier: Any, name: str | None = None) -> Any:
    """Every row ``multiplier`` times, one after the other: [batch * multiplier, ...], nestings too.

    What a `BeamSearchDecoder` needs of an encoder's outputs, states and lengths.
    """
    with name_scope(name, "tile_batch"):
        return nest.map_structure(lambda x: _tile(convert_to_tensor(x, name="t"), multiplier), t)


def _tile(t: Any, multiplier: Any) -> Any:
    rank = t.shape.ndims
    if rank is None:
        raise ValueError("t must have statically known rank")
    if rank == 0:
        raise ValueError("tile_batch: t must have a batch axis, got a scalar")
    shape = array.shape(t)
    tiled = array.tile(array.expand_dims(t, 1), [1, multiplier, *[1] * (rank - 1)])
    tiled = array.reshape(tiled, array.concat([[shape[0] * multiplier], shape[1:]], 0))
    batch = dimension_value(t.shape[0])
    known = batch * multiplier if batch is not None and isinstance(multiplier, int) else None
    tiled.set_shape([known, *t.shape.as_list()[1:]])
    return tiled


def _of_parents(values: TensorLike, parents: Any) -> Any:
    """``values`` [batch, beams] at ``parents`` [batch, beams]."""
    rows = array.expand_dims(array.range_(0, array.shape(parents)[0]), 1)
    rows = array.tile(rows, [1, array.shape(parents)[1]])
    return array.gather_nd(values, array.stack([rows, parents], -1))


def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> Any:
    """The whole sequence of each beam of the last step: int32 [time, batch, beams].

    ``step_ids`` and ``parent_ids`` are int32 of that shape: the symbol of a step, and the beam of
    the step before. Walks back from ``max_sequence_lengths`` [batch]; after that step, and after a
    sequence's first ``end_token``, all is ``end_token``.
    """
    with name_scope(name, "GatherTree"):
        ids = convert_to_tensor(step_ids, dtypes.int32)
        parents = convert_to_tensor(parent_ids, dtypes.int32)
        lengths = convert_to_tensor(max_sequence_lengths, dtypes.int32)
        end = convert_to_tensor(end_token, dtypes.int32)
        shape = array.shape(ids)
        steps, batch, beams = shape[0], shape[1], shape[2]
        own = array.tile(array.expand_dims(array.range_(0, beams), 0), array.stack([batch, 1]))
        found = TensorArray(dtypes.int32, size=steps, element_shape=ids.shape[1:])
        lengths = array.tile(array.expand_dims(lengths, 1), array.stack([1, beams]))

        def back(time: Any, at: Any, found: Any) -> Any:
            inside = less(time, lengths)
            value = array.where(inside, _of_parents(ids[time], at), array.zeros_like(at) + end)
            before = array.where(inside, _of_parents(parents[time], at), at)
            return time - 1, before, found.write(time, value)

        _, _, found = while_loop(
            lambda time, _at, _found: greater_equal(time, 0),
            back,
            (steps - 1, own, found),
            shape_invariants=None,
        )
        result = found.stack()
        ended = cumsum(cast(equal(result, end), dtypes.int32), axis=0, exclusive=True)
        result = array.where(greater(ended, 0), array.zeros_like(result) + end, result)
        result.set_shape(ids.shape)
        return result


def gather_tree_from_array(t: Any, parent_ids: Any, sequence_length: Any) -> Any:
    """A `TensorArray` of steps [batch * beams, ...] (or a tensor [time, batch, beams, ...]) sorted.

    Each entry comes from the beam that the final beam went through. ``sequence_length``
    [batch, beams]; steps past it keep their beam.
    """
    parents = convert_to_tensor(parent_ids, dtypes.int32)
    shape = array.shape(parents)
    steps, batch, beams = shape[0], shape[1], shape[2]
    values = t.stack() if isinstance(t, TensorArray) else convert_to_tensor(t)
    flat_shape = array.shape(values)
    beam_values = (
        array.reshape(values, array.concat([shape, flat_shape[2:]], 0))
        if isinstance(t, TensorArray)
        else values
    )
    own = array.reshape(array.range_(0, beams), [1, 1, -1])
    own = array.tile(own, array.stack([steps, batch, 1]))
    lengths = convert_to_tensor(sequence_length)
    ordered = gather_tree(own, parents, reduce_max(cast(lengths, dtypes.int32), 1), beams + 1)
    inside = array.transpose(array.sequence_mask(lengths, steps), [2, 0, 1])
    ordered = array.where(inside, ordered, own)
    time_index = array.tile(
        array.reshape(array.range_(0, steps), [-1, 1, 1]), array.stack([1, batch, beams])
    )
    batch_index = array.tile(
        array.reshape(array.range_(0, batch), [1, -1, 1]), array.stack([steps, 1, beams])
    )
    result = array.gather_nd(beam_values, array.stack([time_index, batch_index, ordered], -1))
    if not isinstance(t, TensorArray):
        return result
    result = array.reshape(result, flat_shape)
    result.set_shape(values.shape)
    empty = TensorArray(t.dtype, size=steps, element_shape=values.shape[1:])
    return empty.unstack(result)
