"""Evaluation of checkpoints: once, or of each new one as a training writes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dataflow import dtypes, logging
from dataflow.graph.collections import GraphKeys
from dataflow.graph.default_stacks import default_graph
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.state import assign_add
from dataflow.ops.variable_scope import get_variable, get_variable_scope, variable_scope
from dataflow.train.checkpoint_management import checkpoints_iterator, latest_checkpoint
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.hooks import FinalOpsHook
from dataflow.train.monitored_session import MonitoredSession
from dataflow.train.scaffold import ChiefSessionCreator
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

__all__ = [
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "checkpoints_iterator",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "wait_for_new_checkpoint",
]


def get_or_create_eval_step() -> Any:
    """The local variable that counts how often the operations of an evaluation ran, int64.

    Raises `ValueError` where the collection EVAL_STEP has several.
    """
    graph = default_graph()
    there = graph.get_collection(GraphKeys.EVAL_STEP)
    if len(there) == 1:
        return there[0]
    if there:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    with variable_scope(get_variable_scope(), reuse=False):
        return get_variable(
            "eval_step",
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
        )


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after ``num_evals`` runs; None goes on until the input ends."""

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._evals_completed: Any = None
        self._log_progress = log_progress
        few = num_evals is None or num_evals < 20
        self._log_frequency = 1 if few else int(num_evals or 1) // 10

    def count_by(self, updated_eval_step: Any) -> None:
        """Says which tensor has the number of runs; `evaluate_once` calls it."""
        self._evals_completed = updated_eval_step

    _set_evals_completed_tensor = count_by  # as tf_slim calls it

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the number of runs."""
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stops the loop where it was the last run."""
        done = run_values.results["evals_completed"]
        if self._log_progress:
            if self._num_evals is None:
                logging.info("Evaluation [%d]", done)
            elif done % self._log_frequency == 0 or done == self._num_evals:
                logging.info("Evaluation [%d/%d]", done, self._num_evals)
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries when an evaluation has ended.

    To ``summary_writer``, or to event files in ``log_dir``; ``summary_op`` None takes all summaries of
    the graph. Raises `ValueError` where neither place is given.
    """

    def __init__(
        self,
        log_dir: Any = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._all_summaries = summary_op is None
        self._summary_op = summary_op
        self._feed_dict = feed_dict
        self._summary_writer = summary_writer
        self._log_dir = log_dir
        self._global_step: Any = None

    def begin(self) -> None:
        """Gathers the graph's summaries."""
        from dataflow import summary

        if self._all_summaries:
            self._summary_op = summary.merge_all()
        self._global_step = get_or_create_global_step()

    def after_create_session(self, session: BaseSession, coord: Any) -> None:
        """Opens the event file."""
        from dataflow import summary

        if self._summary_writer is None:
            self._summary_writer = summary.FileWriterCache.get(self._log_dir)

    def end(self, session: BaseSession) -> None:
        """Writes them, with the global step."""
        if self._summary_op is not None:
            text, step = session.run([self._summary_op, self._global_step], self._feed_dict)
            self._summary_writer.add_summary(text, step)
        self._summary_writer.flush()


def wait_for_new_checkpoint(
    checkpoint_dir: Any,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The newest checkpoint of a folder, once it is another than ``last_checkpoint``.

    None where none has come after ``timeout`` seconds; a ``timeout`` of None waits forever.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            logging.info("Found new checkpoint at %s", found)
            return found
        if stop is not None and time.monotonic() + seconds_to_sleep > stop:
            return None
        time.sleep(seconds_to_sleep)


def _counted(eval_ops: Any, hooks: list[Any]) -> Any:
    """``eval_ops`` with one that counts their runs, which the hooks look at."""
    if eval_ops is None:
        return None
    update = assign_add(get_or_create_eval_step(), 1, use_locking=True)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.count_by(update)
    if isinstance(eval_ops, dict):
        return {**eval_ops, "update_eval_step": update}
    return [*eval_ops, update] if isinstance(eval_ops, list | tuple) else [eval_ops, update]


def _evaluate(
    checkpoint_path: str | None,
    master: str,
    scaffold: Any,
    eval_ops: Any,
    feed_dict: Mapping[Any, Any],
    hooks: list[Any],
    config: Any,
) -> None:
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        logging.info("Starting evaluation of %s", checkpoint_path)
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    logging.info("Finished evaluation of %s", checkpoint_path)


def evaluate_once(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    hooks: Any = None,
    config: Any = None,
) -> Any:
    """Runs ``eval_ops`` with the values of a checkpoint until a hook stops it, then ``final_ops``.

    `StopAfterNEvalsHook` among ``hooks`` says how often; without a hook it ends when the input does.
    ``checkpoint_path`` None evaluates the initial values. Returns the values of ``final_ops``, or None.
    """
    hooks = list(hooks or [])
    eval_ops = _counted(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    _evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, [*hooks, last], config)
    return last.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: Any,
    master: str = "",
    scaffold: Any = None,
    eval_ops: Any = None,
    feed_dict: Any = None,
    final_ops: Any = None,
    final_ops_feed_dict: Any = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: Any = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Any = None,
) -> Any:
    """`evaluate_once` of each checkpoint that appears in a folder, not more often than the interval.

    Ends after ``max_number_of_evaluations``, or when no checkpoint has come for ``timeout`` seconds
    and ``timeout_fn()``, where it is given, is true. Returns the last values of ``final_ops``.
    """
    hooks = list(hooks or [])
    eval_ops = _counted(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    new = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for done, path in enumerate(new, 1):
        _evaluate(path, master, scaffold, eval_ops, feed_dict, [*hooks, last], config)
        if max_number_of_evaluations is not None and done >= max_number_of_evaluations:
            break
    return last.final_ops_values


# Their names in TensorFlow 1.15's tensorflow.python.training.evaluation.
_StopAfterNEvalsHook = StopAfterNEvalsHook
_evaluate_once = evaluate_once
_get_or_create_eval_step = get_or_create_eval_step
