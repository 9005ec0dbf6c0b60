"""`BeamSearchDecoder`: keeps the likeliest sequences so far, several for each example.

Source of the length penalty: Wu et al., "Google's neural machine translation system", 2016,
https://arxiv.org/abs/1609.08144.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dataflow import dtypes
from dataflow.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from dataflow.contrib.seq2seq.beam_trees import gather_tree, gather_tree_from_array
from dataflow.contrib.seq2seq.decoder import Decoder
from dataflow.contrib.seq2seq.decoder_inputs import as_embedding_fn, start_and_end
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.activation import log_softmax
from dataflow.ops.comparison import equal, logical_not, logical_or
from dataflow.ops.conditionals import cond
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import cast, floordiv, floormod, log, minimum, pow_
from dataflow.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from dataflow.ops.tensor_array import TensorArray
from dataflow.shapes import TensorShape, dimension_value

if TYPE_CHECKING:
    from dataflow.rnn.base_cell import RNNCell


class BeamSearchDecoderState(NamedTuple):
    """Of every beam: the cell's state, its log probability, whether it ended, its length.

    ``accumulated_attention_probs`` [batch, beams, memory time]: how much attention each place of the
    memory has got so far; ``()`` without a coverage penalty.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """A step of the search, each [batch, beams]: scores, symbols, and the beams they go on from."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """``predicted_ids`` [batch, time, beams], the best beam first, and the steps of the search."""

    predicted_ids: Any
    beam_search_decoder_output: BeamSearchDecoderOutput


class BeamSearchDecoder(Decoder):
    """A beam search over a cell that predicts symbols.

    ``embedding``: a table or a function of ids; ``start_tokens`` int32 [batch]; ``initial_state``
    of batch ``batch_size * beam_width``: tile an encoder's state with `tile_batch`. Scores are log
    probabilities divided by ``((5 + length) / 6) ** length_penalty_weight``; to those of finished
    beams ``coverage_penalty_weight * sum(log(min(attention of a place in all, 1)))`` is added, over
    the places of the memory of an `AttentionWrapper`.

    Raises `ValueError` for tokens of other shapes, and for a coverage penalty without attention.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: float = 0.0,
        coverage_penalty_weight: float = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        if not hasattr(cell, "output_size") or not callable(cell):
            raise TypeError(f"The argument 'cell' ({cell}) is not an RNNCell.")
        if output_layer is not None and not hasattr(output_layer, "compute_output_shape"):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._output_layer = output_layer
        self._embedding_fn = as_embedding_fn(embedding)
        self._start_tokens, self._end_token = start_and_end(start_tokens, end_token)
        self._batch_size = array.size(self._start_tokens)
        self._static_batch = dimension_value(self._start_tokens.shape[0])
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._reorders = reorder_tensor_arrays
        self._initial_state = nest.map_structure(self._split, initial_state)
        tiled = array.tile(array.expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(tiled)

    # ---- shapes ---------------------------------------------------------------------------

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams are shuffled in every step, and with them which of them have ended."""
        return True

    @property
    def output_size(self) -> Any:
        return BeamSearchDecoderOutput(*[TensorShape([self._beam_width])] * 3)

    @property
    def output_dtype(self) -> Any:
        scores = nest.flatten(self._initial_state)[0].dtype.base_dtype
        return BeamSearchDecoderOutput(scores, dtypes.int32, dtypes.int32)

    def _split(self, t: Any) -> Any:
        """[batch * beams, ...] as [batch, beams, ...]; scalars and arrays stay."""
        if isinstance(t, TensorArray):
            return t
        t = convert_to_tensor(t)
        if t.shape.ndims is None:
            raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
        if t.shape.ndims == 0:
            return t
        shape = array.shape(t)
        head = array.stack([self._batch_size, self._beam_width])
        result = array.reshape(t, array.concat([head, shape[1:]], 0))
        result.set_shape([self._static_batch, self._beam_width, *t.shape.as_list()[1:]])
        return result

    def _merge(self, t: Any) -> Any:
        """[batch, beams, ...] as [batch * beams, ...]; scalars and arrays stay."""
        if isinstance(t, TensorArray) or t.shape.ndims == 0:
            return t
        head = array.expand_dims(self._batch_size * self._beam_width, 0)
        result = array.reshape(t, array.concat([head, array.shape(t)[2:]], 0))
        rows = None if self._static_batch is None else self._static_batch * self._beam_width
        result.set_shape([rows, *t.shape.as_list()[2:]])
        return result

    # ---- the search -----------------------------------------------------------------------

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        beams = array.zeros(array.expand_dims(self._batch_size, 0), dtypes.int32)
        # All beams begin alike: only the first is alive, or all would find the same symbols.
        finished = array.one_hot(
            beams, self._beam_width, on_value=False, off_value=True, dtype=dtypes.bool_
        )
        kind = nest.flatten(self._initial_state)[0].dtype.base_dtype
        log_probs = array.one_hot(
            beams, self._beam_width, on_value=0.0, off_value=-np.inf, dtype=kind
        )
        lengths = array.zeros_like(finished, dtypes.int64)
        attended: Any = ()
        if self._coverage_penalty_weight:
            attended = _attention(self._initial_state)
        state = BeamSearchDecoderState(self._initial_state, log_probs, finished, lengths, attended)
        return finished, self._start_inputs, state

    def step(
        self, time: TensorLike, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with name_scope(name, "BeamSearchDecoderStep"):
            cell_state = nest.map_structure(self._merge, state.cell_state)
            outputs, next_cell_state = self._cell(
                nest.map_structure(self._merge, inputs), cell_state
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            logits = self._split(outputs)
            next_cell_state = nest.map_structure(self._split, next_cell_state)
            found, following = self._grow(logits, next_cell_state, state)
            next_inputs = cond(
                reduce_all(following.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(found.predicted_ids),
            )
            next_inputs.set_shape(self._start_inputs.shape)
        return found, following, next_inputs, following.finished

    def _grow(self, logits: Any, cell_state: Any, state: Any) -> tuple[Any, Any]:
        """The best beams of all that go on from the present ones by one symbol."""
        kind = logits.dtype.base_dtype
        symbols = dimension_value(logits.shape[-1])
        if symbols is None:
            raise ValueError("the number of symbols, the logits' last axis, must be known")
        ended = self._of_ended(symbols, kind)
        log_probs = log_softmax(logits)
        over = array.tile(array.expand_dims(state.finished, 2), [1, 1, symbols])
        log_probs = array.where(over, array.zeros_like(log_probs) + ended, log_probs)
        totals = log_probs + array.expand_dims(state.log_probs, 2)
        # The end token does not count towards the length that divides the score.
        adds = array.one_hot(
            self._end_token,
            symbols,
            on_value=np.int64(0),
            off_value=np.int64(1),
            dtype=dtypes.int64,
        )
        alive = cast(logical_not(state.finished), dtypes.int64)
        new_lengths = array.expand_dims(state.lengths, 2) + array.expand_dims(alive, 2) * adds
        scores = self._scores(totals, new_lengths)
        attended: Any = ()
        if self._coverage_penalty_weight:
            share = array.expand_dims(cast(logical_not(state.finished), kind), 2)
            attended = state.accumulated_attention_probs + _attention(cell_state) * share
            covered = array.expand_dims(self._coverage(attended, state.finished), 2)
            scores = scores + covered
        flat = array.reshape(scores, array.stack([self._batch_size, -1]))
        best, places = array.top_k(flat, self._beam_width)
        best.set_shape([self._static_batch, self._beam_width])
        places.set_shape([self._static_batch, self._beam_width])
        ids, parents = floormod(places, symbols), floordiv(places, symbols)
        flat_totals = array.reshape(totals, array.stack([self._batch_size, -1]))
        was_over = self._rows(state.finished, parents)
        finished = logical_or(was_over, equal(ids, self._end_token))
        lengths = self._rows(state.lengths, parents) + cast(logical_not(was_over), dtypes.int64)
        following = BeamSearchDecoderState(
            nest.map_structure(lambda t: self._sorted(t, parents), cell_state),
            self._rows(flat_totals, places),
            finished,
            lengths,
            self._rows(attended, parents) if self._coverage_penalty_weight else (),
        )
        return BeamSearchDecoderOutput(best, ids, parents), following

    def _of_ended(self, symbols: int, kind: Any) -> Any:
        """Log probabilities of a beam that has ended: the end token for sure, and nothing else."""
        lowest = float(np.finfo(kind.numpy).min)
        return array.one_hot(self._end_token, symbols, on_value=0.0, off_value=lowest, dtype=kind)

    def _scores(self, totals: Any, lengths: TensorLike) -> Any:
        if self._length_penalty_weight == 0:
            return totals
        kind = totals.dtype.base_dtype
        penalty = pow_((cast(lengths, kind) + 5.0) / 6.0, self._length_penalty_weight)
        return totals / penalty

    def _coverage(self, attended: Any, finished: Any) -> Any:
        """What is added to the scores of finished beams, [batch, beams]: 0 where all was attended to."""
        # A place without any attention is one beyond the end of its memory.
        beyond = equal(attended, array.zeros_like(attended))
        attended = array.where(beyond, array.ones_like(attended), attended)
        coverage = reduce_sum(log(minimum(attended, 1.0)), 2)
        return coverage * cast(finished, coverage.dtype) * self._coverage_penalty_weight

    def _rows(self, values: Any, places: Any) -> Any:
        """``values`` [batch, n, ...] at ``places`` [batch, beams]."""
        rows = array.expand_dims(array.range_(0, self._batch_size), 1)
        rows = array.tile(rows, [1, self._beam_width])
        result = array.gather_nd(values, array.stack([rows, places], -1))
        result.set_shape([self._static_batch, self._beam_width, *values.shape.as_list()[2:]])
        return result

    def _sorted(self, t: Any, parents: Any) -> Any:
        if isinstance(t, TensorArray) or t.shape.ndims == 0:
            return t
        return self._rows(t, parents)

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """The sequences of the final beams; alignment histories in the same order."""
        longest = cast(reduce_max(final_state.lengths, 1), dtypes.int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorders:
            cell_state = nest.map_structure(
                lambda t: (
                    gather_tree_from_array(t, outputs.parent_ids, final_state.lengths)
                    if isinstance(t, TensorArray)
                    else t
                ),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state


def _attention(cell_state: Any) -> Any:
    """The attention of the present step, [batch, beams, memory time]: the mean over all mechanisms."""
    states = [cell_state] if isinstance(cell_state, AttentionWrapperState) else cell_state
    found = [
        alignments
        for state in (states if isinstance(states, tuple | list) else ())
        if isinstance(state, AttentionWrapperState)
        for alignments in nest.flatten(state.alignments)
    ]
    if not found:
        raise ValueError(
            "BeamSearchDecoder: a coverage penalty is computed from attention, and the cell's state "
            "has none. Wrap the cell in an AttentionWrapper, or leave coverage_penalty_weight 0."
        )
    return reduce_mean(array.stack(found), 0)
