"""``tf.contrib.legacy_seq2seq`` (``tf.nn.seq2seq`` before): sequences as lists of one tensor a step.

Sources: Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks", 2014;
Vinyals et al., "Grammar as a foreign language", 2015 (attention).
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.contrib.seq2seq.losses import sequence_loss_by_example
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.layers.base import Layer
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.bias import xw_plus_b
from dataflow.ops.conditionals import cond
from dataflow.ops.conv_functions import conv2d
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.math import argmax, cast, reduce_sum, tanh
from dataflow.ops.variable_scope import get_variable, get_variable_scope, variable_scope
from dataflow.rnn.projections import EmbeddingWrapper, OutputProjectionWrapper, linear
from dataflow.rnn.static_loops import static_rnn
from dataflow.shapes import dimension_value

if TYPE_CHECKING:
    from dataflow.ops.variable_scope import VariableScope
    from dataflow.rnn.base_cell import RNNCell

__all__ = [
    "attention_decoder",
    "basic_rnn_seq2seq",
    "embedding_attention_decoder",
    "embedding_attention_seq2seq",
    "embedding_rnn_decoder",
    "embedding_rnn_seq2seq",
    "embedding_tied_rnn_seq2seq",
    "model_with_buckets",
    "rnn_decoder",
    "sequence_loss",
    "sequence_loss_by_example",
    "tied_rnn_seq2seq",
]


def _unbuilt(cell: Any) -> Any:
    """A cell like this one with variables of its own, made where it is first called.

    Not `copy.deepcopy`: a cell may hold tensors (a fed keep_prob), and one that was called holds
    variables.
    """
    result = cell.unbuilt_copy() if isinstance(cell, Layer) else copy.copy(cell)
    if hasattr(result, "_cell"):
        result._cell = _unbuilt(result._cell)
    if hasattr(result, "_cells"):
        result._cells = [_unbuilt(c) for c in result._cells]
    return result


def rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: RNNCell,
    loop_function: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """Runs a cell over a list of inputs; ``loop_function(output, i)`` may make the next input."""
    with variable_scope(scope or "rnn_decoder"):
        state = initial_state
        outputs = []
        previous = None
        for i, step in enumerate(decoder_inputs):
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    step = loop_function(previous, i)
            if i > 0:
                get_variable_scope().reuse_variables()
            output, state = cell(step, state)
            outputs.append(output)
            if loop_function is not None:
                previous = output
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: RNNCell,
    dtype: DTypeLike = dtypes.float32,
    scope: str | VariableScope | None = None,
) -> Any:
    """An encoder, then a decoder with weights of its own that begins with the encoder's state.

    Inputs are lists of [batch, size]. Returns (list of outputs, last state).
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(_unbuilt(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: RNNCell,
    loop_function: Any = None,
    dtype: DTypeLike = dtypes.float32,
    scope: str | VariableScope | None = None,
) -> Any:
    """As `basic_rnn_seq2seq`, with the same weights in encoder and decoder."""
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _feed_back(embedding: Any, output_projection: Any, update_embedding: bool) -> Any:
    """The loop function that embeds the likeliest symbol of the last output."""

    def loop_function(previous: Any, _: int) -> Any:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        embedded = embedding_lookup(embedding, argmax(previous, 1))
        return embedded if update_embedding else array.stop_gradient(embedded)

    return loop_function


def _check_projection(output_projection: Any, num_symbols: int, width: int | None) -> None:
    if output_projection is None:
        return
    weights = convert_to_tensor(output_projection[0])
    biases = convert_to_tensor(output_projection[1])
    for tensor, shape in ((weights, [width, num_symbols]), (biases, [num_symbols])):
        if not tensor.shape.is_compatible_with(shape):
            raise ValueError(
                f"output_projection: expected weights [{width}, {num_symbols}] and biases "
                f"[{num_symbols}], got {weights.shape} and {biases.shape}"
            )


def embedding_rnn_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: str | VariableScope | None = None,
) -> Any:
    """`rnn_decoder` over ids [batch], embedded; with ``feed_previous`` only the first is read."""
    with variable_scope(scope or "embedding_rnn_decoder"):
        _check_projection(output_projection, num_symbols, None)
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _feed_back(embedding, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        # As in TensorFlow a symbol is looked up when the cell has been called for those before.
        embedded = (embedding_lookup(embedding, i) for i in decoder_inputs)
        return rnn_decoder(embedded, initial_state, cell, loop_function=loop)


def _either(feed_previous: Any, decoder: Any) -> Any:
    """``decoder(bool)`` for a bool, or both of them behind a `tf.cond` for a tensor."""
    if isinstance(feed_previous, bool):
        return decoder(feed_previous)
    structure: list[Any] = []

    def branch(feed: bool) -> Any:
        # Both branches share one set of variables; the first is built by the true branch.
        with variable_scope(get_variable_scope(), reuse=None if feed else True):
            outputs, state = decoder(feed)
        structure[:] = [len(outputs), state]
        return [*outputs, *nest.flatten(state)]

    results = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    count, state = structure
    return list(results[:count]), nest.pack_like(state, list(results[count:]))


def embedding_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """Lists of ids [batch] in, lists of logits [batch, num_decoder_symbols] out, and the last state.

    With ``output_projection`` (weights, biases) the outputs are the cell's, to be projected by the
    caller (a sampled softmax). ``feed_previous``: a bool, or a scalar bool tensor.
    """
    with variable_scope(scope or "embedding_rnn_seq2seq") as within:
        dtype = _dtype_of(within, dtype)
        encoder = EmbeddingWrapper(_unbuilt(cell), num_encoder_symbols, embedding_size)
        _, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
        return _either(
            feed_previous,
            lambda feed: embedding_rnn_decoder(
                decoder_inputs,
                state,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection=output_projection,
                feed_previous=feed,
            ),
        )


def _dtype_of(scope: Any, dtype: Any) -> Any:
    if dtype is None:
        return scope.dtype
    scope.set_dtype(dtype)
    return dtype


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: str | VariableScope | None = None,
) -> Any:
    """As `embedding_rnn_seq2seq`, with one embedding and one set of weights for both sides."""
    with variable_scope(scope or "embedding_tied_rnn_seq2seq") as within:
        dtype = _dtype_of(within, dtype)
        outputs = num_symbols if num_decoder_symbols is None else num_decoder_symbols
        _check_projection(output_projection, outputs, None)
        embedding = get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        encoder = [embedding_lookup(embedding, x) for x in encoder_inputs]
        decoder = [embedding_lookup(embedding, x) for x in decoder_inputs]
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, outputs)
        return _either(
            feed_previous,
            lambda feed: tied_rnn_seq2seq(
                encoder,
                decoder,
                cell,
                loop_function=_feed_back(embedding, output_projection, True) if feed else None,
                dtype=dtype,
            ),
        )


class _Attention:
    """Additive attention over ``states`` [batch, steps, size], with ``num_heads`` heads."""

    def __init__(self, states: Any, num_heads: int) -> None:
        length, size = dimension_value(states.shape[1]), dimension_value(states.shape[2])
        if size is None:
            raise ValueError(
                f"Shape[2] of attention_states must be known: {states.shape.as_list()}"
            )
        self.size = size
        self._length = length if length is not None else array.shape(states)[1]
        # As an image of height steps, so that a 1x1 convolution multiplies all steps at once.
        self._hidden = array.reshape(states, array.stack([-1, self._length, 1, size]))
        self._features = []
        self._vectors = []
        for head in range(num_heads):
            kernel = get_variable(
                f"AttnW_{head}", [1, 1, size, size], dtype=states.dtype.base_dtype
            )
            self._features.append(conv2d(self._hidden, kernel, [1, 1, 1, 1], "SAME"))
            self._vectors.append(
                get_variable(f"AttnV_{head}", [size], dtype=states.dtype.base_dtype)
            )

    def __call__(self, query: Any) -> list[Any]:
        """The attended state [batch, size] of each head."""
        flat = nest.flatten(query)
        joined = array.concat(flat, 1) if len(flat) > 1 else flat[0]
        result = []
        for head, (features, vector) in enumerate(zip(self._features, self._vectors, strict=True)):
            with variable_scope(f"Attention_{head}"):
                asked = array.reshape(linear(joined, self.size), [-1, 1, 1, self.size])
                score = reduce_sum(vector * tanh(features + asked), [2, 3])
                weights = array.reshape(softmax(score), array.stack([-1, self._length, 1, 1]))
                attended = reduce_sum(weights * self._hidden, [1, 2])
                result.append(array.reshape(attended, [-1, self.size]))
        return result


def attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: RNNCell,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Any = None,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Any:
    """`rnn_decoder` that looks at ``attention_states`` [batch, steps, size] in every step.

    With ``initial_state_attention`` already before the first one. Returns (list of outputs
    [batch, output_size], last state). Raises `ValueError` without inputs, heads or a known size.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if output_size is None:
        output_size = cell.output_size
    with variable_scope(scope or "attention_decoder", dtype=dtype) as within:
        batch = array.shape(decoder_inputs[0])[0]
        attend = _Attention(convert_to_tensor(attention_states), num_heads)
        state, outputs, previous = initial_state, [], None
        attended = [
            array.zeros(array.stack([batch, attend.size]), within.dtype) for _ in range(num_heads)
        ]
        for part in attended:
            part.set_shape([None, attend.size])
        if initial_state_attention:
            attended = attend(initial_state)
        for i, step in enumerate(decoder_inputs):
            if i > 0:
                get_variable_scope().reuse_variables()
            if loop_function is not None and previous is not None:
                with variable_scope("loop_function", reuse=True):
                    step = loop_function(previous, i)
            width = dimension_value(step.shape[1])
            if width is None:
                raise ValueError(f"Could not infer input size from input: {step.name}")
            output, state = cell(linear([step, *attended], width), state)
            if i == 0 and initial_state_attention:
                with variable_scope(get_variable_scope(), reuse=True):
                    attended = attend(state)
            else:
                attended = attend(state)
            with variable_scope("AttnOutputProjection"):
                projected = linear([output, *attended], output_size)
            if loop_function is not None:
                previous = projected
            outputs.append(projected)
    return outputs, state


def embedding_attention_decoder(
    decoder_inputs: Any,
    initial_state: Any,
    attention_states: Any,
    cell: RNNCell,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Any:
    """`attention_decoder` over ids [batch], embedded."""
    if output_size is None:
        output_size = cell.output_size
    _check_projection(output_projection, num_symbols, output_size)
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = get_variable("embedding", [num_symbols, embedding_size])
        loop = (
            _feed_back(embedding, output_projection, update_embedding_for_previous)
            if feed_previous
            else None
        )
        return attention_decoder(
            [embedding_lookup(embedding, i) for i in decoder_inputs],
            initial_state,
            attention_states,
            cell,
            output_size=output_size,
            num_heads=num_heads,
            loop_function=loop,
            initial_state_attention=initial_state_attention,
        )


def embedding_attention_seq2seq(
    encoder_inputs: Any,
    decoder_inputs: Any,
    cell: RNNCell,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: str | VariableScope | None = None,
    initial_state_attention: bool = False,
) -> Any:
    """As `embedding_rnn_seq2seq`, with a decoder that attends to the encoder's outputs."""
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as within:
        encoder = EmbeddingWrapper(_unbuilt(cell), num_encoder_symbols, embedding_size)
        encoded, state = static_rnn(encoder, encoder_inputs, dtype=within.dtype)
        attention_states = array.concat(
            [array.reshape(e, [-1, 1, cell.output_size]) for e in encoded], 1
        )
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols
        return _either(
            feed_previous,
            lambda feed: embedding_attention_decoder(
                decoder_inputs,
                state,
                attention_states,
                cell,
                num_decoder_symbols,
                embedding_size,
                num_heads=num_heads,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=feed,
                initial_state_attention=initial_state_attention,
            ),
        )


def sequence_loss(
    logits: TensorLike,
    targets: Any,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Any = None,
    name: str | None = None,
) -> Any:
    """The loss of lists of steps, averaged over the batch."""
    with default_graph().name_scope(name or "sequence_loss"):
        cost = reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function
            )
        )
        if average_across_batch:
            return cost / cast(array.shape(targets[0])[0], cost.dtype.base_dtype)
        return cost


def model_with_buckets(
    encoder_inputs: Any,
    decoder_inputs: Any,
    targets: Any,
    weights: Any,
    buckets: Any,
    seq2seq: Any,
    softmax_loss_function: Any = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """A model for each pair of lengths (encoder, decoder) in ``buckets``, all with the same weights.

    ``seq2seq(encoder_inputs, decoder_inputs)`` returns (outputs, state). Returns (outputs of each
    bucket, loss of each bucket). Raises `ValueError` where the lists are shorter than the largest
    bucket.
    """
    longest_in, longest_out = buckets[-1]
    for what, given, needed in (
        ("encoder_inputs", encoder_inputs, longest_in),
        ("targets", targets, longest_out),
        ("weights", weights, longest_out),
    ):
        if len(given) < needed:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({needed})."
            )
    losses, outputs = [], []
    loss_of = sequence_loss_by_example if per_example_loss else sequence_loss
    with default_graph().name_scope(name or "model_with_buckets"):
        for i, (num_in, num_out) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if i > 0 else None):
                found, _ = seq2seq(encoder_inputs[:num_in], decoder_inputs[:num_out])
                outputs.append(found)
                losses.append(
                    loss_of(
                        found,
                        targets[:num_out],
                        weights[:num_out],
                        softmax_loss_function=softmax_loss_function,
                    )
                )
    return outputs, losses


__getattr__ = explain_absent(__name__)
