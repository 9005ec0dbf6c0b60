"""``tf.contrib.legacy_seq2seq``: the losses and the decoder that course code takes from there."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.seq2seq import sequence_loss_by_example
from dataflow.graph.default_stacks import default_graph
from dataflow.ops import array
from dataflow.ops.math import cast, reduce_sum
from dataflow.ops.variable_scope import get_variable_scope, variable_scope

__all__ = ["rnn_decoder", "sequence_loss", "sequence_loss_by_example"]


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
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


def rnn_decoder(
    decoder_inputs: Any, initial_state: Any, cell: Any, loop_function: Any = None, scope: Any = None
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
