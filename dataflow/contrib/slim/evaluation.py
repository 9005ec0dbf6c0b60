"""``slim.evaluation``: metrics of a checkpoint, or of each that a training writes."""

from __future__ import annotations

from typing import Any

from dataflow.contrib import evaluation
from dataflow.contrib.evaluation import checkpoints_iterator, wait_for_new_checkpoint
from dataflow.train.saver import Saver
from dataflow.train.scaffold import Scaffold

__all__ = ["checkpoints_iterator", "evaluate_once", "evaluation_loop", "wait_for_new_checkpoint"]

_USE_DEFAULT = object()


def _hooks(
    num_evals: int | None, logdir: Any, summary_op: Any, summary_op_feed_dict: Any, hooks: Any
) -> list[Any]:
    from dataflow import summary

    if summary_op is _USE_DEFAULT:
        summary_op = summary.merge_all()
    made: list[Any] = [evaluation.StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        made.append(
            evaluation.SummaryAtEndHook(
                log_dir=logdir, summary_op=summary_op, feed_dict=summary_op_feed_dict
            )
        )
    return [*made, *(hooks or [])]


def _saver(variables_to_restore: Any) -> Any:
    return None if variables_to_restore is None else Saver(variables_to_restore)


def evaluate_once(
    master: str,
    checkpoint_path: Any,
    logdir: Any,
    num_evals: int | None = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> Any:
    """Runs ``eval_op`` ``num_evals`` times with a checkpoint's values, then ``final_op``; its values.

    Summaries (all of the graph by default) are written to ``logdir`` at the end. ``initial_op`` runs
    instead of the initialization of variables that the checkpoint does not have;
    ``variables_to_restore`` are those that it has (None: all).
    """
    return evaluation.evaluate_once(
        checkpoint_path,
        master=master,
        scaffold=Scaffold(
            init_op=initial_op,
            init_feed_dict=initial_op_feed_dict,
            saver=_saver(variables_to_restore),
        ),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: Any,
    logdir: Any,
    num_evals: int | None = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Any = None,
    hooks: Any = None,
) -> Any:
    """`evaluate_once` of each checkpoint that appears in ``checkpoint_dir``; the last values.

    Not more often than every ``eval_interval_secs``, ``max_number_of_evaluations`` times (None: until
    no new one has come for ``timeout`` seconds). ``init_fn(scaffold, session)`` runs after restoring.
    """
    return evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master=master,
        scaffold=Scaffold(
            init_op=initial_op,
            init_feed_dict=initial_op_feed_dict,
            init_fn=init_fn,
            saver=_saver(variables_to_restore),
        ),
        eval_ops=eval_op,
        feed_dict=eval_op_feed_dict,
        final_ops=final_op,
        final_ops_feed_dict=final_op_feed_dict,
        eval_interval_secs=eval_interval_secs,
        hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        config=session_config,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
