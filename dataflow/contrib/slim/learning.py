"""``slim.learning``: a training operation out of a loss, and the loop that runs it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dataflow import logging as log
from dataflow.contrib import training
from dataflow.contrib.training import (
    USE_GLOBAL_STEP,
    add_gradients_summaries,
    clip_gradient_norms,
    multiply_gradients,
)
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.math import equal, greater_equal
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.supervisor import Supervisor

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable
    from dataflow.runtime.session import BaseSession

USE_DEFAULT = Supervisor.USE_DEFAULT

__all__ = [
    "add_gradients_summaries",
    "clip_gradient_norms",
    "create_train_op",
    "multiply_gradients",
    "train",
    "train_step",
]


def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = 1,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: dict[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """`tf.contrib.training.create_train_op`, with multipliers and a largest norm of each gradient."""

    def transform(pairs: Any) -> Any:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return training.create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        gate_gradients,
        aggregation_method,
        colocate_gradients_with_ops,
        check_numerics,
    )


def train_step(
    sess: BaseSession,
    train_op: Any,
    global_step: Tensor | Variable,
    train_step_kwargs: dict[str, Any],
) -> tuple[Any, bool]:
    """One step: ``(loss, whether to stop)``. The arguments are tensors ``should_stop``, ``should_log``."""
    started = time.monotonic()
    loss, step = sess.run([train_op, global_step])
    seconds = time.monotonic() - started
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        log.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = "should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"])
    return loss, bool(stop)


def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Any = train_step,
    train_step_kwargs: Any = USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Graph | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = USE_DEFAULT,
    init_feed_dict: Any = None,
    local_init_op: Any = USE_DEFAULT,
    init_fn: Any = None,
    ready_op: Any = USE_DEFAULT,
    summary_op: Any = USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: Any = None,
    session_wrapper: Any = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Trains within a `tf.train.Supervisor` for ``number_of_steps`` (None: for ever); the last loss.

    Checkpoints and summaries go to ``logdir`` and training resumes from there; None writes nothing. Each step
    is ``train_step_fn(sess, train_op, global_step, kwargs) -> (loss, should_stop)``. Raises `ValueError` where
    ``train_op`` is None or the number of steps is negative.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    if sync_optimizer is not None:
        raise NotImplementedError(
            "slim.learning.train(sync_optimizer=...) is not here: use "
            "tf.train.MonitoredTrainingSession with sync_optimizer.make_session_run_hook()."
        )
    graph = graph or default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = get_or_create_global_step()
        if train_step_kwargs is USE_DEFAULT:
            train_step_kwargs = {}
            if number_of_steps:
                train_step_kwargs["should_stop"] = greater_equal(global_step, number_of_steps)
            if log_every_n_steps > 0:
                train_step_kwargs["should_log"] = equal(global_step % log_every_n_steps, 0)
        supervisor = Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            local_init_op=local_init_op,
            ready_op=ready_op,
            summary_op=summary_op if logdir is not None else None,
            summary_writer=summary_writer if logdir is not None else None,
            global_step=global_step,
            saver=USE_DEFAULT if saver is None else saver,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs if logdir is not None else 0,
            init_fn=init_fn,
        )
        loss = None
        with supervisor.managed_session(
            master, config=session_config, start_standard_services=False
        ) as session:
            if session_wrapper is not None:
                session = session_wrapper(session)
            if is_chief and logdir is not None:
                supervisor.start_standard_services(session)
            supervisor.start_queue_runners(session)
            stop = False
            while not stop and not supervisor.should_stop():
                loss, stop = train_step_fn(session, train_op, global_step, train_step_kwargs)
            if is_chief and logdir is not None:
                supervisor.saver.save(
                    session, supervisor.save_path, global_step=supervisor.global_step
                )
            supervisor.request_stop()
        return loss
