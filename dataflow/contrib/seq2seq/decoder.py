"""Decoders: `BasicDecoder`, and the loop `dynamic_decode` that runs any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dataflow import dtypes
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.comparison import greater_equal, logical_not, logical_or
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.reduce import reduce_all
from dataflow.ops.seeds import count_left_out, counted_as
from dataflow.ops.static_value import static_value
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import TensorShape

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope
    from dataflow.rnn.base_cell import RNNCell


class Decoder:
    """Base of decoders; `dynamic_decode` calls `initialize`, then `step` until all have finished."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The shapes of a step's outputs, without the batch: a nesting."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The dtypes of a step's outputs: a nesting."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` says of every sequence if it has finished, and not if it does so now."""
        return False

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """(finished, first inputs, first state)."""
        raise NotImplementedError

    def step(
        self, time: TensorLike, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """(outputs, next state, next inputs, finished)."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The outputs and the state as the caller gets them."""
        raise NotImplementedError


class BasicDecoderOutput(NamedTuple):
    """What a `BasicDecoder` gives: the cell's outputs (projected), and the helper's samples."""

    rnn_output: Any
    sample_id: Any


def projected_size(cell: RNNCell, output_layer: Any) -> Any:
    """The size of a cell's output after ``output_layer``."""
    size = cell.output_size
    if output_layer is None:
        return size
    batched = nest.map_structure(lambda s: TensorShape([None]).concatenate(_as_shape(s)), size)
    return nest.map_structure(
        lambda s: TensorShape(s)[1:], output_layer.compute_output_shape(batched)
    )


def _as_shape(size: Any) -> TensorShape:
    return size if isinstance(size, TensorShape) else TensorShape([size])


class BasicDecoder(Decoder):
    """A cell whose inputs a helper gives.

    ``initial_state``: the state to begin with, such as an encoder's last. ``output_layer``: a layer
    (`tf.layers.Dense`) that makes logits of the cell's outputs.
    """

    def __init__(
        self, cell: RNNCell, helper: Any, initial_state: Any, output_layer: Any = None
    ) -> None:
        if not hasattr(cell, "output_size") or not callable(cell):
            raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell.")
        if not hasattr(helper, "next_inputs"):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    @property
    def output_size(self) -> Any:
        size = projected_size(self._cell, self._output_layer)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> Any:
        dtype = nest.flatten(self._initial_state)[0].dtype.base_dtype
        kinds = nest.map_structure(lambda _: dtype, projected_size(self._cell, self._output_layer))
        return BasicDecoderOutput(kinds, self._helper.sample_ids_dtype)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        finished, inputs = self._helper.initialize()
        return finished, inputs, self._initial_state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with name_scope(name, "BasicDecoderStep"):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished


def _is_array(value: Any) -> bool:
    return isinstance(value, TensorArray)


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any, Any]:
    """Runs a decoder until every sequence has finished, or for ``maximum_iterations`` steps.

    Returns (outputs [batch, time, ...], last state, lengths int32 [batch]). With
    ``impute_finished`` a finished sequence keeps its state and gives zeros; otherwise look only at
    the first ``lengths`` steps. Raises `TypeError` for anything but a decoder, `ValueError` for a
    maximum that is no scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        if maximum_iterations is not None:
            maximum_iterations = convert_to_tensor(
                maximum_iterations, dtypes.int32, name="maximum_iterations"
            )
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            finished = logical_or(finished, greater_equal(0, maximum_iterations))
        count_left_out(10 * len(nest.flatten(decoder.output_size)))  # zeros in the outputs' shapes
        arrays = _output_arrays(decoder)
        time = convert_to_tensor(0, dtypes.int32, name="time")
        lengths = array.zeros_like(finished, dtypes.int32)

        def body(
            time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
        ) -> Any:
            outputs, new_state, next_inputs, now = decoder.step(time, inputs, state)
            nest.assert_same_structure(state, new_state, check_types=False)
            next_finished = now if decoder.tracks_own_finished else logical_or(now, finished)
            next_lengths = array.where(
                logical_not(finished), array.fill(array.shape(lengths), time + 1), lengths
            )
            emitted = nest.flatten(outputs)
            if impute_finished:
                emitted = [array.where(finished, array.zeros_like(o), o) for o in emitted]
                pairs = zip(nest.flatten(new_state), nest.flatten(state), strict=True)
                new_state = nest.pack_like(state, [_kept(finished, n, o) for n, o in pairs])
            else:
                new_state = nest.pack_like(state, nest.flatten(new_state))
            arrays = tuple(a.write(time, o) for a, o in zip(arrays, emitted, strict=True))
            return time + 1, arrays, new_state, next_inputs, next_finished, next_lengths

        _, arrays, state, _, _, lengths = while_loop(
            lambda _time, _arrays, _state, _inputs, finished, _lengths: logical_not(
                reduce_all(finished)
            ),
            body,
            (time, arrays, state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations,
            swap_memory=swap_memory,
        )
        outputs = nest.pack_like(decoder.output_size, [a.stack() for a in arrays])
        try:
            outputs, state = decoder.finalize(outputs, state, lengths)
        except NotImplementedError:
            pass
        if not output_time_major:
            outputs = nest.map_structure(_batch_first, outputs)
        return outputs, state, lengths


def _output_arrays(decoder: Decoder) -> tuple[TensorArray, ...]:
    """An array for each of a decoder's outputs, which grows with the steps."""
    batch = static_value(decoder.batch_size) if isinstance(decoder.batch_size, Tensor) else None
    rows = TensorShape([None if batch is None else int(batch)])
    sizes, kinds = nest.flatten(decoder.output_size), nest.flatten(decoder.output_dtype)
    return tuple(
        TensorArray(
            kind, size=0, dynamic_size=True, element_shape=rows.concatenate(_as_shape(size))
        )
        for size, kind in zip(sizes, kinds, strict=True)
    )


def _kept(finished: Any, new: Any, old: Any) -> Any:
    """The state of sequences that had finished before this step."""
    if _is_array(old) or old.shape.ndims == 0:
        return new
    new.set_shape(old.shape)
    return array.where(finished, old, new)


def _batch_first(tensor: Any) -> Any:
    rank = tensor.shape.ndims
    with counted_as(8):  # the axes are joined from ranges there
        return array.transpose(tensor, [1, 0, *range(2, rank)])
