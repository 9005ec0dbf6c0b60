"""``tf.contrib.training``: hyperparameters, buckets of sequences, training operations and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.contrib.bucketing import bucket, bucket_by_sequence_length
from dataflow.contrib.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    checkpoints_iterator,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
    wait_for_new_checkpoint,
)
from dataflow.contrib.hyperparameters import HParams, parse_values
from dataflow.contrib.sampling import (
    rejection_sample,
    resample_at_rate,
    sgdr_decay,
    stratified_sample,
    weighted_resample,
)
from dataflow.contrib.sequence_state import (
    NextQueuedSequenceBatch,
    SequenceQueueingStateSaver,
    batch_sequences_with_states,
)
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.check_numerics import check_numerics as checked_numerics
from dataflow.ops.clip import clip_by_norm
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.variable_lists import trainable_variables
from dataflow.train.device_setter import (
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
)
from dataflow.train.feeding_queue_runner import FeedingQueueRunner
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.monitored_session import MonitoredTrainingSession

__all__ = [
    "FeedingQueueRunner",
    "GreedyLoadBalancingStrategy",
    "HParams",
    "NextQueuedSequenceBatch",
    "RandomStrategy",
    "SequenceQueueingStateSaver",
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "add_gradients_summaries",
    "batch_sequences_with_states",
    "bucket",
    "bucket_by_sequence_length",
    "byte_size_load_fn",
    "checkpoints_iterator",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "multiply_gradients",
    "parse_values",
    "rejection_sample",
    "resample_at_rate",
    "sgdr_decay",
    "stratified_sample",
    "train",
    "wait_for_new_checkpoint",
    "weighted_resample",
]

#: Stands for `tf.train.get_or_create_global_step()`; None means that no step is counted.
USE_GLOBAL_STEP = 0


def add_gradients_summaries(grads_and_vars: Sequence[Any]) -> list[Any]:
    """A histogram and a norm of each gradient, as summaries."""
    from dataflow import summary
    from dataflow.ops.norms import global_norm

    made = []
    for grad, var in grads_and_vars:
        if grad is not None:
            values = grad.values if isinstance(grad, IndexedSlices) else grad
            made.append(summary.histogram(var.op.name + "/gradient", values))
            made.append(summary.scalar(var.op.name + "/gradient_norm", global_norm([values])))
    return made


def clip_gradient_norms(gradients_to_variables: Any, max_norm: Any) -> list[Any]:
    """The pairs (gradient, variable) with each gradient clipped to ``max_norm`` by itself."""

    def clipped(grad: Any) -> Any:
        if isinstance(grad, IndexedSlices):
            return IndexedSlices(
                clip_by_norm(grad.values, max_norm), grad.indices, grad.dense_shape
            )
        return None if grad is None else clip_by_norm(grad, max_norm)

    return [(clipped(grad), var) for grad, var in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: Any) -> Any:
    """A ``transform_grads_fn`` that clips each gradient to ``max_norm``."""
    return lambda pairs: clip_gradient_norms(pairs, max_norm)


def multiply_gradients(
    grads_and_vars: Sequence[Any], gradient_multipliers: dict[Any, Any]
) -> list[Any]:
    """The pairs with gradients of named variables (or variables) multiplied.

    Raises `ValueError` when a variable has a multiplier and no gradient, nothing is given, the pairs are no list or
    the multipliers no dict.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError(f"grads_and_vars must be a list of pairs, got {grads_and_vars!r}")
    if not gradient_multipliers:
        raise ValueError("gradient_multipliers is empty")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError(f"gradient_multipliers must be a dict, got {gradient_multipliers!r}")
    found = []
    for grad, var in grads_and_vars:
        key = next((k for k in gradient_multipliers if k is var or k == var.op.name), None)
        if key is not None:
            if grad is None:
                raise ValueError(f"Requested multiple of `None` gradient: {var.op.name}")
            factor = gradient_multipliers[key]
            if isinstance(grad, IndexedSlices):
                grad = IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
            else:
                grad = grad * factor
        found.append((grad, var))
    return found


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Any = None,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """A tensor that, when run, trains one step and gives the loss.

    First it runs ``update_ops`` (by default those of ``GraphKeys.UPDATE_OPS``, as batch normalization
    adds them), then it computes gradients of the loss for ``variables_to_train`` (by default all
    trainable ones), transforms the pairs (gradient, variable) by ``transform_grads_fn``, and applies
    them. The result is in ``GraphKeys.TRAIN_OP``. With ``check_numerics`` a loss that is not finite
    raises `InvalidArgumentError`.
    """
    if isinstance(global_step, int) and global_step == USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    graph = default_graph()
    updates = set(graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
    if updates:
        with control_dependencies(list(updates)):
            total_loss = array.identity(total_loss)
    pairs = optimizer.compute_gradients(
        total_loss,
        variables_to_train if variables_to_train is not None else trainable_variables(),
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    apply = optimizer.apply_gradients(pairs, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = checked_numerics(total_loss, "LossTensor is inf or nan")
        with control_dependencies([apply]):
            train_op = array.identity(total_loss)
    operations = graph.get_collection_ref(GraphKeys.TRAIN_OP)
    if train_op not in operations:
        operations.append(train_op)
    return train_op


def train(
    train_op: Any,
    logdir: str | None,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Sequence[Any] | None = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: float | None = 600,
    save_summaries_steps: int | None = 100,
    config: Any = None,
    max_wait_secs: float = 7200,
) -> Any:
    """Runs ``train_op`` within a `MonitoredTrainingSession` until a hook stops it; the last loss.

    Raises `ValueError` for chief-only arguments in a task that is not the chief, and without a hook
    that could stop (``logdir`` may be None only where nothing is saved).
    """
    if logdir is None and is_chief and (save_summaries_steps or save_checkpoint_secs):
        raise ValueError(
            "logdir cannot be None when save_summaries_steps or save_checkpoint_secs is set"
        )
    loss = None
    with MonitoredTrainingSession(
        master=master,
        is_chief=is_chief,
        checkpoint_dir=logdir,
        scaffold=scaffold,
        hooks=hooks,
        chief_only_hooks=chief_only_hooks,
        save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps,
        config=config,
        max_wait_secs=max_wait_secs,
    ) as session:
        while not session.should_stop():
            loss = session.run(train_op)
    return loss


__getattr__ = explain_absent(__name__)
