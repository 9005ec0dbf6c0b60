"""What Keras refuses within a scope of `tf.distribute.Strategy`, as it would train something else in silence."""

from __future__ import annotations

from typing import Any

from dataflow.graph.eager import executing_eagerly
from dataflow.ops.replicas import state

__all__ = ["check_compiled", "check_reduction"]


def check_reduction(reduction: Any) -> None:
    """Raises `ValueError` for a loss object's mean: of a replica's rows, and not of the global batch."""
    if state.strategy is None or str(getattr(reduction, "value", reduction)) in ("sum", "none"):
        return
    raise ValueError(
        "Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` for loss "
        "reduction when losses are used with `tf.distribute.Strategy` outside of the built-in "
        "training loops: loss = tf.reduce_sum(loss_object(labels, predictions)) * "
        "(1. / global_batch_size)."
    )


def check_compiled(model: Any, run_eagerly: bool | None, is_tf_function: bool) -> None:
    """Raises `ValueError` for a model that `compile` cannot spread over the scope's replicas.

    Its weights have to be made within the scope; in a graph the model has to know its inputs.
    """
    strategy = state.strategy
    if strategy is None:
        return
    if run_eagerly and not is_tf_function:
        raise ValueError(
            "We currently do not support enabling `run_eagerly` with distribution strategy."
        )
    if not executing_eagerly() and not model.outputs:
        raise ValueError(
            "We currently do not support distribution strategy with a `Sequential` model that is "
            "created without `input_shape`/`input_dim` set in its first layer or a subclassed model."
        )
    for variable in model.weights:
        if not strategy.extended.variable_created_in_scope(variable):
            raise ValueError(
                f"Variable ({variable.name}) was not created in the distribution strategy scope of "
                f"({strategy}). It is most likely due to not all layers or the model or optimizer "
                "being created outside the distribution strategy scope: make them, and call "
                "`compile`, within `with strategy.scope():`."
            )
