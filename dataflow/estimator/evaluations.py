"""Evaluations of estimators: the metrics of a model in a graph, run to the end, and written for TensorBoard."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from dataflow import logging
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.estimator.result_summaries import result_summary
from dataflow.formats.summary_protos import merge_summaries
from dataflow.graph.collections import GraphKeys
from dataflow.graph.operation import Operation
from dataflow.metrics.means import mean
from dataflow.ops.control_flow import group
from dataflow.summary.file_writer import FileWriterCache
from dataflow.train.hooks import FinalOpsHook
from dataflow.train.monitored_session import MonitoredSession
from dataflow.train.scaffold import ChiefSessionCreator, Scaffold
from dataflow.train.session_run_hook import SessionRunContext, SessionRunHook


@dataclass(frozen=True)
class Evaluation:
    """A model built for evaluation: its scaffold, the op of one batch, and what is read at the end."""

    scaffold: Scaffold | None
    updates: Operation
    results: dict[str, Any]
    hooks: list[Any]
    steps: int | None


def evaluation_of(
    spec: EstimatorSpec, step: Any, steps: int | None, hooks: list[Any]
) -> Evaluation:
    """The metrics of ``spec``, its loss and the global ``step``, over ``steps`` batches, or all.

    Raises `ValueError` for a metric called "loss" or "global_step".
    """
    metrics = dict(spec.eval_metric_ops)
    for name in ("loss", GraphKeys.GLOBAL_STEP):
        if name in metrics and not (name == "loss" and spec.reports_loss):
            raise ValueError(f"Metric with name `{name}` is not allowed, because Estimator has it.")
    if "loss" not in metrics:
        metrics["loss"] = mean(spec.loss)
    updates = group(*[update for _, update in metrics.values()])
    results = {key: metrics[key][0] for key in sorted(metrics)}
    results[GraphKeys.GLOBAL_STEP] = step
    scaffold = _with_local_variables(spec.scaffold)
    return Evaluation(scaffold, updates, results, [*hooks, *spec.evaluation_hooks], steps)


def run_evaluation(evaluation: Evaluation, creator: ChiefSessionCreator) -> dict[str, Any]:
    """Runs all batches in a session that ``creator`` makes; returns the numbers."""
    final = FinalOpsHook(evaluation.results)
    hooks = [*evaluation.hooks, final]
    if evaluation.steps is not None:
        hooks.insert(0, _StopAfterRuns(evaluation.steps))
    logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%dT%H:%M:%SZ"))
    with MonitoredSession(creator, hooks) as session:
        while not session.should_stop():
            session.run(evaluation.updates)
    logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S"))
    results = dict(final.final_ops_values)
    logging.info(
        "Saving dict for global step %d: %s",
        results[GraphKeys.GLOBAL_STEP],
        ", ".join(
            f"{key} = {value!s}"
            for key, value in sorted(results.items())
            if not isinstance(value, bytes)
        ),
    )
    return results


def write_results(folder: str, results: dict[str, Any]) -> None:
    """Writes numbers, among them the global step, as an event file in ``folder``."""
    found = [
        result_summary(key, value) for key, value in results.items() if key != GraphKeys.GLOBAL_STEP
    ]
    parts = [summary for summary in found if summary is not None]
    if parts:
        writer = FileWriterCache.get(folder)
        writer.add_summary(merge_summaries(parts), int(results[GraphKeys.GLOBAL_STEP]))
        writer.flush()


def _with_local_variables(scaffold: Scaffold | None) -> Scaffold | None:
    """The scaffold with a ``local_init_op`` that also initializes the metrics' variables, which were made after it."""
    if scaffold is None or scaffold.local_init_op is None:
        return scaffold
    both = group(scaffold.local_init_op, Scaffold.default_local_init_op())
    return Scaffold(local_init_op=both, copy_from_scaffold=scaffold)


class _StopAfterRuns(SessionRunHook):
    """Stops after so many batches."""

    def __init__(self, num_runs: int) -> None:
        self._left = num_runs

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Counts one."""
        self._left -= 1
        if self._left <= 0:
            run_context.request_stop()
