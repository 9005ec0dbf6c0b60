"""``slim.learning``: a training operation out of a loss, and the loop that runs it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dataflow import logging as log
from dataflow.contrib import training
from dataflow.contrib.training import (
    USE_GLOBAL_STEP,
    add_gradients_summaries,
    clip_gradient_norms,
    multiply_gradients,
)
from dataflow.errors import AbortedError, OutOfRangeError
from dataflow.gfile import GFile
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.lookup_tables import tables_initializer
from dataflow.ops.math import equal, greater_equal
from dataflow.ops.variable_lists import local_variables_initializer
from dataflow.runtime.config import RunOptions
from dataflow.summary.chrome_trace import Timeline
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.supervisor import Supervisor
from dataflow.train.sync_replicas import SyncReplicasOptimizer

if TYPE_CHECKING:
    from dataflow.ops.variables import Variable
    from dataflow.runtime.base_session import BaseSession

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
    """One step: ``(loss, whether to stop)``.

    The arguments are scalar tensors of bool: ``should_stop``, ``should_log``, and ``should_trace``, where the step's
    times go to ``logdir`` as ``tf_trace-<step>.json`` (which Chrome's tracing shows) and, where there is a
    ``summary_writer``, into the events. Raises `ValueError` for ``should_trace`` without ``logdir``.
    """
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "train_step_kwargs has should_trace and no logdir to write the trace to"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            from tensorboard.compat.proto.config_pb2 import RunMetadata

            options = RunOptions(trace_level=RunOptions.FULL_TRACE)
            metadata = RunMetadata()
    started = time.monotonic()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.monotonic() - started
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        log.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = "should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"])
    return loss, bool(stop)


def _write_trace(metadata: Any, step: int, train_step_kwargs: dict[str, Any]) -> None:
    trace = Timeline(metadata.step_stats).generate_chrome_trace_format()
    with GFile(os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json"), "w") as file:
        file.write(trace)
    if train_step_kwargs.get("summary_writer") is not None:
        train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


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
    """Trains within a `tf.train.Supervisor` for ``number_of_steps`` (None: forever); the last loss.

    Checkpoints and summaries go to ``logdir`` and training resumes from there; None writes nothing. Each step
    is ``train_step_fn(sess, train_op, global_step, kwargs) -> (loss, should_stop)``; an `OutOfRangeError` in it ends
    the training, an `AbortedError` begins it anew from the last checkpoint. A worker that is not the chief begins
    after ``startup_delay_steps`` of the others. ``sync_optimizer`` is a `tf.train.SyncReplicasOptimizer`, or a list
    of them. Each ``trace_every_n_steps`` steps one is traced (see `train_step`).

    Raises `ValueError` where ``train_op`` is None, the number of steps is not positive, ``logdir`` is None with a
    ``summary_op``, ``saver`` or ``trace_every_n_steps``, or ``startup_delay_steps`` meets a ``sync_optimizer``.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        _check_writes_nothing(summary_op, saver, trace_every_n_steps)
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    if sync_optimizer and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be 0 where sync_optimizer is given")
    graph = graph or default_graph()
    with graph.as_default():
        if global_step is None:
            global_step = get_or_create_global_step()
        synchronous = _Synchronous.of(sync_optimizer, local_init_op, is_chief)
        if train_step_kwargs is USE_DEFAULT:
            train_step_kwargs = _step_arguments(
                global_step,
                number_of_steps,
                log_every_n_steps,
                trace_every_n_steps,
                logdir,
                is_chief,
            )
        supervisor = Supervisor(
            graph=graph,
            is_chief=is_chief,
            logdir=logdir,
            init_op=init_op,
            init_feed_dict=init_feed_dict,
            local_init_op=synchronous.local_init_op,
            ready_for_local_init_op=synchronous.ready_for_local_init_op,
            ready_op=ready_op,
            summary_op=summary_op if logdir is not None else None,
            summary_writer=summary_writer if logdir is not None else None,
            global_step=global_step,
            saver=USE_DEFAULT if saver is None else saver,
            save_summaries_secs=save_summaries_secs,
            save_model_secs=save_interval_secs if logdir is not None else 0,
            init_fn=init_fn,
        )
        if summary_writer is not None:
            train_step_kwargs["summary_writer"] = supervisor.summary_writer

        loop = _TrainLoop(
            supervisor,
            lambda session: train_step_fn(session, train_op, global_step, train_step_kwargs),
            is_chief,
            saves=logdir is not None,
            synchronous=synchronous,
        )

        def run(session: Any) -> Any:
            if session_wrapper is not None:
                session = session_wrapper(session)
            if not is_chief and startup_delay_steps > 0:
                _wait_for_step(session, global_step, startup_delay_steps, number_of_steps)
            return loop.run(session)

        return _run_in_sessions(supervisor, master, session_config, run)


def _run_in_sessions(
    supervisor: Supervisor, master: str, config: Any, run: Callable[[Any], Any]
) -> Any:
    """``run(session)`` in a session of the supervisor's, and in another after each `AbortedError`."""
    while True:
        try:
            with supervisor.managed_session(
                master, config=config, start_standard_services=False
            ) as session:
                return run(session)
        except AbortedError:
            log.info("A task of the cluster was lost: training begins anew from its checkpoint.")


def _check_writes_nothing(summary_op: Any, saver: Any, trace_every_n_steps: int | None) -> None:
    """Raises `ValueError` for arguments that say what to write, where there is no folder."""
    for name, missing in (
        ("summary_op", summary_op is USE_DEFAULT or summary_op is None),
        ("saver", saver is None),
        ("trace_every_n_steps", trace_every_n_steps is None),
    ):
        if not missing:
            raise ValueError(f"{name} writes to logdir, which is None: give a folder")


@dataclass
class _TrainLoop:
    """The steps of `train` in one session, with the services around them."""

    supervisor: Supervisor
    step: Callable[[Any], tuple[Any, bool]]
    is_chief: bool
    #: Whether there is a folder for checkpoints and summaries.
    saves: bool
    synchronous: _Synchronous

    def run(self, session: Any) -> Any:
        """Train until the supervisor or a step ends it; the last loss."""
        supervisor = self.supervisor
        if self.is_chief and self.saves:
            supervisor.start_standard_services(session)
        supervisor.start_queue_runners(session)
        runners, tokens = self.synchronous.runners, self.synchronous.tokens
        if runners:
            supervisor.start_queue_runners(session, runners)
        if tokens:
            session.run(tokens)
        loss, stop = None, False
        try:
            while not stop and not supervisor.should_stop():
                loss, stop = self.step(session)
        except OutOfRangeError as error:
            log.info("The inputs are used up (%s): training ends.", error)
        if self.is_chief and self.saves:
            supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
        supervisor.request_stop()
        if runners:
            # Their threads wait for gradients that nobody sends any more.
            session.close()
        return loss


@dataclass
class _Synchronous:
    """What `tf.train.SyncReplicasOptimizer`s add to a training; without one, nothing."""

    #: What a worker runs before its first step, and what has to be initialized before that.
    local_init_op: Any
    ready_for_local_init_op: Any = None
    #: The chief's: what fills the queues of tokens, and the queues' runners.
    tokens: Sequence[Any] = ()
    runners: Sequence[Any] = ()

    @classmethod
    def of(cls, sync_optimizer: Any, local_init_op: Any, is_chief: bool) -> _Synchronous:
        """For an optimizer, a list of them or None; ``local_init_op`` is the caller's. Raises `ValueError`."""
        optimizers = [] if sync_optimizer is None else _checked_optimizers(sync_optimizer)
        if not optimizers:
            return cls(local_init_op)
        chief = optimizers if is_chief else []
        return cls(
            _synchronous_local_init(optimizers, local_init_op, is_chief),
            optimizers[0].ready_for_local_init_op,
            [opt.get_init_tokens_op() for opt in chief],
            [opt.get_chief_queue_runner() for opt in chief],
        )


def _checked_optimizers(sync_optimizer: Any) -> list[SyncReplicasOptimizer]:
    optimizers = sync_optimizer if isinstance(sync_optimizer, list) else [sync_optimizer]
    for optimizer in optimizers:
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError(
                f"sync_optimizer is a tf.train.SyncReplicasOptimizer or a list of them, got {optimizer!r}"
            )
    return optimizers


def _synchronous_local_init(
    optimizers: list[SyncReplicasOptimizer], local_init_op: Any, is_chief: bool
) -> Any:
    """What a worker runs before its first step: its local variables, then its local steps."""
    if local_init_op is USE_DEFAULT:
        local_init_op = group(local_variables_initializer(), tables_initializer())
    with control_dependencies([] if local_init_op is None else [local_init_op]):
        return group(
            *[opt.chief_init_op if is_chief else opt.local_step_init_op for opt in optimizers]
        )


def _step_arguments(
    global_step: Any,
    number_of_steps: int | None,
    log_every_n_steps: int,
    trace_every_n_steps: int | None,
    logdir: str | None,
    is_chief: bool,
) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    with name_scope("train_step"):
        if number_of_steps:
            arguments["should_stop"] = greater_equal(global_step, number_of_steps)
        if log_every_n_steps > 0:
            arguments["should_log"] = equal(global_step % log_every_n_steps, 0)
        if is_chief and trace_every_n_steps is not None:
            arguments["should_trace"] = equal(global_step % trace_every_n_steps, 0)
            arguments["logdir"] = logdir
    return arguments


def _wait_for_step(session: Any, global_step: Any, delay: int, number_of_steps: int | None) -> None:
    """Wait until the other workers have made ``delay`` steps, or all of them."""
    needed = delay if number_of_steps is None else min(delay, number_of_steps)
    while session.run(global_step) < needed:
        time.sleep(1)
