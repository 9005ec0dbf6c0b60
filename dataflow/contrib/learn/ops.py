"""``tf.contrib.learn.ops``: what skflow's first examples were written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.losses import mean_squared_error, softmax_cross_entropy
from dataflow.ops import array
from dataflow.ops.activation import softmax
from dataflow.ops.bias import xw_plus_b
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.loss import softmax_cross_entropy_with_logits
from dataflow.ops.math import add_n
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.rnn.static_loops import static_rnn

__all__ = [
    "categorical_variable",
    "embedding_lookup",
    "mean_squared_error_regressor",
    "rnn_decoder",
    "rnn_seq2seq",
    "seq2seq_inputs",
    "sequence_classifier",
    "softmax_classifier",
]


def embedding_lookup(params: Any, ids: TensorLike, name: str = "embedding_lookup") -> Tensor:
    """The rows ``ids`` [d0, ..., dn] of ``params`` [rows, ...]: [d0, ..., dn, ...]."""
    with name_scope(name):
        rows: Tensor = array.gather(convert_to_tensor(params), ids)
        return rows


def categorical_variable(
    tensor_in: TensorLike, n_classes: int, embedding_size: int, name: str
) -> Tensor:
    """An embedding, learned, of each of the classes ``tensor_in``: the variable ``name/name_embeddings``."""
    with variable_scope(name):
        table = get_variable(f"{name}_embeddings", [n_classes, embedding_size])
        return embedding_lookup(table, tensor_in)


def mean_squared_error_regressor(
    tensor_in: TensorLike, labels: TensorLike, weights: Any, biases: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(predictions, mean squared error) of x W + b; [batch] where the labels are."""
    with name_scope(name or "mean_squared_error_regressor"):
        labels = convert_to_tensor(labels)
        predictions = xw_plus_b(tensor_in, weights, biases)
        if labels.shape.ndims == 1 and predictions.shape.ndims == 2:
            predictions = array.squeeze(predictions, axis=[1])
        return predictions, mean_squared_error(labels, predictions)


def softmax_classifier(
    tensor_in: TensorLike,
    labels: TensorLike,
    weights: Any,
    biases: Any,
    class_weight: Any = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """(probabilities, cross entropy) of x W + b and one-hot labels; ``class_weight`` multiplies the logits."""
    with name_scope(name or "softmax_classifier"):
        logits = xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = logits * class_weight
        return softmax(logits), softmax_cross_entropy(labels, logits)


def sequence_classifier(
    decoding: Sequence[Tensor],
    labels: Sequence[Any],
    sampling_decoding: Sequence[Tensor] | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """(probabilities [batch, steps, classes], the sum of all cross entropies) of logits [batch, classes] of steps.

    ``sampling_decoding``: the logits whose probabilities are given, where the network reads what it said.
    """
    with name_scope(name or "sequence_classifier"):
        said = decoding if sampling_decoding is None else sampling_decoding
        losses = [
            softmax_cross_entropy_with_logits(labels=label, logits=logits)
            for label, logits in zip(labels, decoding, strict=True)
        ]
        predictions: Tensor = array.stack([softmax(logits) for logits in said], axis=1)
        return predictions, reduce_sum(add_n(losses), name="loss")


def seq2seq_inputs(
    x: TensorLike,
    y: TensorLike,
    input_length: int,
    output_length: int,
    sentinel: Any = None,
    name: str | None = None,
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """(The encoder's steps, the decoder's inputs, its outputs) of ``x`` and ``y``, [batch, steps, n].

    The decoder's inputs begin with ``sentinel`` [batch, n], zeros unless given, and its outputs end with it.
    """
    with name_scope(name or "seq2seq_inputs"):
        x, y = convert_to_tensor(x), convert_to_tensor(y)
        steps = array.unstack(x, num=input_length, axis=1)
        outputs = array.unstack(y, num=output_length, axis=1)
        if sentinel is None:
            sentinel = array.zeros_like(outputs[0])
        return steps, [sentinel, *outputs], [*outputs, sentinel]


def rnn_decoder(
    decoder_inputs: Sequence[Any], initial_state: Any, cell: Any, scope: Any = None
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """(outputs, states, outputs, states): of the inputs, and where each input is the output before.

    Both begin with ``initial_state``, and with the first input.
    """
    with variable_scope(scope or "dnn_decoder"):
        states, outputs = [initial_state], []
        for step in decoder_inputs:
            output, state = cell(step, states[-1])
            outputs.append(output)
            states.append(state)
        sampled, sampled_states = outputs[:1], states[:2]
        for _ in decoder_inputs[1:]:
            output, state = cell(sampled[-1], sampled_states[-1])
            sampled.append(output)
            sampled_states.append(state)
        return outputs, states, sampled, sampled_states


def rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    encoder_cell: Any,
    decoder_cell: Any = None,
    dtype: DTypeLike = dtypes.float32,
    scope: Any = None,
) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """`rnn_decoder` that begins with the state in which ``encoder_cell`` ends."""
    with variable_scope(scope or "rnn_seq2seq"):
        _, state = static_rnn(encoder_cell, list(encoder_inputs), dtype=dtype)
        return rnn_decoder(decoder_inputs, state, decoder_cell or encoder_cell)
