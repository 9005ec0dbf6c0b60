"""``tf.contrib.crf``: conditional random fields over sequences of tags (Lafferty et al. 2001).

Scores of tags are [batch, time, tags], scores of transitions [tags, tags]: from the row's tag to the column's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.math import (
    argmax,
    cast,
    less_equal,
    maximum,
    reduce_logsumexp,
    reduce_max,
    reduce_sum,
)
from dataflow.ops.variable_scope import get_variable
from dataflow.rnn.base_cell import RNNCell
from dataflow.rnn.loops import dynamic_rnn
from dataflow.shapes import dimension_value

__all__ = [
    "CrfDecodeBackwardRnnCell",
    "CrfDecodeForwardRnnCell",
    "CrfForwardRnnCell",
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_multitag_sequence_score",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]


def _mask(lengths: TensorLike, like: Any) -> Any:
    """1 in the steps that a sequence has, 0 behind them: [batch, time of ``like``]."""
    return array.sequence_mask(lengths, maxlen=array.shape(like)[1], dtype=dtypes.float32)


def _without_empty(score: Any, lengths: TensorLike) -> Any:
    return array.where(
        less_equal(lengths, array.zeros_like(lengths)), array.zeros_like(score), score
    )


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """The sum of the tags' own scores, [batch]; ``tag_indices`` int [batch, time]."""
    tag_indices, inputs = convert_to_tensor(tag_indices), convert_to_tensor(inputs)
    one_hot = array.one_hot(tag_indices, array.shape(inputs)[2], dtype=inputs.dtype)
    chosen = reduce_sum(inputs * one_hot, 2)
    return reduce_sum(chosen * cast(_mask(sequence_lengths, tag_indices), chosen.dtype), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The sum of the scores of transitions from each tag to the next, [batch]."""
    tag_indices = convert_to_tensor(tag_indices)
    transitions = convert_to_tensor(transition_params)
    lengths = convert_to_tensor(sequence_lengths)
    num_tags = cast(array.shape(transitions)[0], tag_indices.dtype)
    pairs = tag_indices[:, :-1] * num_tags + tag_indices[:, 1:]
    scores = array.gather(array.reshape(transitions, [-1]), pairs)
    later = _mask(maximum(lengths - 1, array.zeros_like(lengths)), scores)
    return reduce_sum(scores * cast(later, scores.dtype), 1)


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The unnormalized score of a sequence of tags, [batch]; 0 for sequences of length 0."""
    lengths = convert_to_tensor(sequence_lengths)
    unary = crf_unary_score(tag_indices, lengths, inputs)
    return _without_empty(
        unary + crf_binary_score(tag_indices, lengths, transition_params), lengths
    )


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """The log of the summed exponentials of all sequences whose tags ``tag_bitmap`` allows, [batch].

    ``tag_bitmap`` is bool [batch, time, tags].
    """
    inputs = convert_to_tensor(inputs)
    refused = array.fill(array.shape(inputs), float("-inf"))
    allowed = array.where(
        convert_to_tensor(tag_bitmap, dtypes.bool_), inputs, cast(refused, inputs.dtype)
    )
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """The log of the summed exponentials of all sequences' scores, [batch], by the forward algorithm."""
    inputs = convert_to_tensor(inputs)
    lengths = convert_to_tensor(sequence_lengths)
    rest = maximum(lengths - 1, array.zeros_like(lengths))
    _, alphas = dynamic_rnn(
        CrfForwardRnnCell(transition_params),
        inputs[:, 1:],
        sequence_length=rest,
        initial_state=inputs[:, 0],
        dtype=inputs.dtype,
    )
    return _without_empty(reduce_logsumexp(alphas, [1]), lengths)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """``(log likelihood [batch], transitions)`` of the tags.

    The transitions are a variable named "transitions" where none are given; it takes the initializer of
    its scope.
    """
    inputs = convert_to_tensor(inputs)
    if transition_params is None:
        num_tags = dimension_value(inputs.shape[2])
        transition_params = get_variable("transitions", [num_tags, num_tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norm = crf_log_norm(inputs, sequence_lengths, transition_params)
    return score - norm, transition_params


class _TagCell(RNNCell):
    _num_tags: Any

    @property
    def state_size(self) -> Any:
        return self._num_tags

    @property
    def output_size(self) -> Any:
        return self._num_tags


class _TransitionCell(_TagCell):
    """A cell that scores every transition from one tag to the next."""

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        transitions = convert_to_tensor(transition_params)
        self._transitions = array.expand_dims(transitions, 0)
        self._num_tags = dimension_value(transitions.shape[0])

    def _scores(self, state: Any) -> Any:
        """[batch, tag before, tag]: the state's score with that of the transition."""
        return array.expand_dims(state, 2) + self._transitions


class CrfForwardRnnCell(_TransitionCell):
    """One step of the forward algorithm: states and outputs are log sums [batch, tags]."""

    def call(self, inputs: Any, state: Any) -> Any:
        scores = self._scores(state)
        new = inputs + reduce_logsumexp(scores, [1])
        return new, new


class CrfDecodeForwardRnnCell(_TransitionCell):
    """One step of Viterbi's algorithm: best scores as states, where they came from as outputs."""

    def call(self, inputs: Any, state: Any) -> Any:
        scores = self._scores(state)
        return cast(argmax(scores, 1), dtypes.int32), inputs + reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(_TagCell):
    """One step back along the best way: the tag [batch, 1] that the state's tag came from."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> Any:
        return 1

    @property
    def output_size(self) -> Any:
        return 1

    def call(self, inputs: Any, state: Any) -> Any:
        rows = array.range_(array.shape(inputs)[0])
        at = array.stack([rows, array.squeeze(state, [1])], 1)
        tags = array.expand_dims(array.gather_nd(inputs, at), -1)
        return tags, tags


def crf_decode(
    potentials: Any, transition_params: Any, sequence_length: TensorLike
) -> tuple[Any, Any]:
    """``(tags int32 [batch, time], score [batch])`` of the best sequences, by Viterbi's algorithm.

    Behind a sequence's length, tags are 0.
    """
    potentials = convert_to_tensor(potentials)
    lengths = convert_to_tensor(sequence_length)
    rest = maximum(lengths - 1, array.zeros_like(lengths))
    origins, last = dynamic_rnn(
        CrfDecodeForwardRnnCell(transition_params),
        potentials[:, 1:],
        sequence_length=rest,
        initial_state=potentials[:, 0],
        dtype=dtypes.int32,
    )
    origins = array.reverse_sequence(origins, rest, seq_axis=1)
    first = array.expand_dims(cast(argmax(last, 1), dtypes.int32), -1)
    tags, _ = dynamic_rnn(
        CrfDecodeBackwardRnnCell(dimension_value(potentials.shape[2])),
        origins,
        sequence_length=rest,
        initial_state=first,
        dtype=dtypes.int32,
    )
    tags = array.concat([first, array.squeeze(tags, [2])], 1)
    return array.reverse_sequence(tags, lengths, seq_axis=1), reduce_max(last, 1)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """`crf_decode` of one sequence in NumPy: ``score`` [time, tags] -> (tags, the best score)."""
    score, transitions = np.asarray(score), np.asarray(transition_params)
    best = score[0]
    origins = []
    for row in score[1:]:
        ways = best[:, None] + transitions
        origins.append(ways.argmax(0))
        best = row + ways.max(0)
    tags = [int(best.argmax())]
    for origin in reversed(origins):
        tags.append(int(origin[tags[-1]]))
    return tags[::-1], best.max()


__getattr__ = explain_absent(__name__)
