"""`train_and_evaluate` in a cluster: what the process does that is one of its tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow import logging
from dataflow.cluster.management.server import Server
from dataflow.estimator.cluster_task import TaskType
from dataflow.graph.collections import GraphKeys
from dataflow.train.device_setter import STANDARD_PS_OPS, replica_device_setter
from dataflow.train.saving_hooks import CheckpointSaverListener

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

#: Workers begin one after the other, so that they do not all compute from the same parameters.
_SECONDS_BETWEEN_WORKERS = 5
_LONGEST_DELAY_SECONDS = 60


class CheckpointEvaluator:
    """Evaluates the latest checkpoint by an `EvalSpec`, once each, and exports it."""

    def __init__(self, estimator: Any, spec: Any, max_steps: int | None) -> None:
        self._estimator = estimator
        self._spec = spec
        self._max_steps = max_steps
        self._done: str | None = None
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] = []

    @property
    def has_seen_the_end(self) -> bool:
        """Whether a checkpoint of step ``max_steps`` was evaluated."""
        if self.metrics is None or self._max_steps is None:
            return False
        return int(self.metrics[GraphKeys.GLOBAL_STEP]) >= self._max_steps

    def evaluate_latest(self, is_last: bool = False) -> bool:
        """Evaluates the latest checkpoint; False where there is none, or no new one."""
        checkpoint = self._estimator.latest_checkpoint()
        if checkpoint is None:
            logging.warning("Estimator is not trained yet. Will start an evaluation when it is.")
            return False
        if checkpoint == self._done:
            logging.info("No new checkpoint ready for evaluation.")
            return False
        spec, estimator = self._spec, self._estimator
        self.metrics = estimator.evaluate(
            spec.input_fn,
            steps=spec.steps,
            hooks=spec.hooks,
            checkpoint_path=checkpoint,
            name=spec.name,
        )
        self._done = checkpoint
        self.exports = [
            exporter.export(
                estimator=estimator,
                export_path=os.path.join(estimator.model_dir, "export", exporter.name),
                checkpoint_path=checkpoint,
                eval_result=self.metrics,
                is_the_final_export=is_last or self.has_seen_the_end,
            )
            for exporter in spec.exporters
        ]
        return True


class EvaluateCheckpoints(CheckpointSaverListener):
    """Evaluates when a checkpoint was saved, but not more often than every throttle_secs."""

    def __init__(
        self, evaluator: CheckpointEvaluator, throttle_secs: float, max_steps: Any
    ) -> None:
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs
        self._max_steps = max_steps
        self._last_time: float | None = None

    def after_save(self, session: BaseSession, global_step_value: int) -> None:
        """Evaluates, if it is time; the checkpoint before the first step does not count."""
        if self._last_time is None:
            self._last_time = time.monotonic()
            return
        last = self._max_steps is not None and global_step_value >= self._max_steps
        if not last and time.monotonic() - self._last_time < self._throttle_secs:
            return
        self._last_time = time.monotonic()
        self._evaluator.evaluate_latest(last)

    def end(self, session: BaseSession, global_step_value: int) -> None:
        """Evaluates the last checkpoint, unless that was done."""
        self._evaluator.evaluate_latest(True)


def device_function(config: Any) -> Callable[[Any], str] | None:
    """What puts variables on the parameter servers of the configuration's cluster, in turn."""
    if config.device_fn is not None or config.num_ps_replicas == 0:
        return config.device_fn  # type: ignore[no-any-return]
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=(
            f"/job:{config.task_type}/task:{config.task_id}" if config.task_type else "/job:worker"
        ),
        cluster=config.cluster_spec,
        ps_ops=STANDARD_PS_OPS,
    )


def run_task(estimator: Any, train_spec: Any, eval_spec: Any) -> None:
    """Does what the estimator's task does: trains, serves parameters, or evaluates checkpoints."""
    config = estimator.config
    if config.task_type == TaskType.EVALUATOR:
        _evaluate_until_the_end(estimator, train_spec, eval_spec)
    elif config.task_type == TaskType.PS:
        start_server(config).join()
    else:
        _train(estimator, train_spec, eval_spec)


def start_server(config: Any) -> Server:
    """The server of the configuration's task."""
    return Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        protocol=config.protocol,
    )


def _train(estimator: Any, train_spec: Any, eval_spec: Any) -> None:
    config = estimator.config
    listeners = list(train_spec.saving_listeners)
    if config.task_type == TaskType.MASTER:
        evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
        listeners.append(
            EvaluateCheckpoints(evaluator, eval_spec.throttle_secs, train_spec.max_steps)
        )
    server = start_server(config) if config.master else None
    try:
        if config.task_type == TaskType.WORKER:
            longest = config.experimental_max_worker_delay_secs
            longest = _LONGEST_DELAY_SECONDS if longest is None else int(longest)
            delay = min(longest, (config.task_id + 1) * _SECONDS_BETWEEN_WORKERS)
            if delay > 0:
                logging.info("Waiting %d secs before starting training.", delay)
                time.sleep(delay)
        estimator.train(
            train_spec.input_fn,
            hooks=list(train_spec.hooks),
            max_steps=train_spec.max_steps,
            saving_listeners=listeners,
        )
    finally:
        if server is not None:
            server.stop()


def _evaluate_until_the_end(estimator: Any, train_spec: Any, eval_spec: Any) -> None:
    if estimator.config.task_id > 0:
        raise ValueError(
            "For distributed training, there can only be one `evaluator` task (with task id 0). "
            f"Given task id {estimator.config.task_id}"
        )
    if eval_spec.start_delay_secs:
        logging.info("Waiting %f secs before starting eval.", eval_spec.start_delay_secs)
        time.sleep(eval_spec.start_delay_secs)
    evaluator = CheckpointEvaluator(estimator, eval_spec, train_spec.max_steps)
    while not evaluator.has_seen_the_end:
        started = time.monotonic()
        found = evaluator.evaluate_latest()
        if evaluator.has_seen_the_end:
            break
        left = eval_spec.throttle_secs - (time.monotonic() - started)
        # Without a pause at all, the wait for a checkpoint would keep a processor busy.
        pause = left if found or eval_spec.throttle_secs else 0.1
        if pause > 0:
            time.sleep(pause)
