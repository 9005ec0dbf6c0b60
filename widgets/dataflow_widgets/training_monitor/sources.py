"""How points reach a monitor without a line in the loop: estimator hooks and Keras callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook
from dataflow_widgets.training_monitor.recordings import StepRecorder


class MonitorHook(SessionRunHook):
    """Logs tensors of a monitored session; made by `TrainingMonitor.hook`."""

    def __init__(
        self,
        monitor: Any,
        tensors: Any,
        run: str,
        every: int,
        steps: int | None,
        recorder: StepRecorder,
    ) -> None:
        self._monitor, self._tensors, self._name = monitor, tensors, run
        self._every, self._steps, self._recorder = every, steps, recorder

    def begin(self) -> None:
        from dataflow.graph.default_stacks import default_graph
        from dataflow.train.global_step import get_global_step

        graph = default_graph()
        self._fetches = {
            str(name): graph.as_graph_element(t, allow_operation=False) if isinstance(t, str) else t
            for name, t in self._tensors.items()
        }
        self._global_step = get_global_step(graph)
        self._count = 0
        self._run = self._monitor._new_run(self._name, self._steps)

    def before_run(self, run_context: Any) -> Any:
        is_recorded = self._recorder.wants(self._count)
        self._wanted = is_recorded or self._count % self._every == 0
        if is_recorded:
            self._recorder.begin()
        if not self._wanted:
            return None
        fetches = {"values": self._fetches}
        if self._global_step is not None:
            fetches["step"] = self._global_step
        return SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._count += 1
        found = self._recorder.end()
        if self._wanted:
            step = float(run_values.results.get("step", self._count))
            self._monitor._log(self._run, step, run_values.results["values"])
            self._monitor._keep_recorded(self._run, step, found)

    def end(self, session: Any) -> None:
        self._monitor._end(self._run, "done")


def keras_callback(monitor: Any, run: str, with_weights: bool, recorder: StepRecorder) -> Any:
    """A Keras callback that logs every batch, the ``val_`` values of an epoch, and the weights."""
    from dataflow.keras.callbacks import Callback

    class MonitorCallback(Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            self._batches = 0
            steps, epochs = self.params.get("steps"), self.params.get("epochs")
            if not steps and self.params.get("samples"):
                size = self.params.get("batch_size") or 32
                steps = -(-self.params["samples"] // size)
            self._run = monitor._new_run(run, steps * epochs if steps and epochs else None)

        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if recorder.wants(self._batches):
                recorder.begin()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            found = recorder.end()
            self._batches += 1
            monitor._log(self._run, self._batches, _numbers(logs))
            monitor._keep_recorded(self._run, self._batches, found)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            found = {k: v for k, v in _numbers(logs).items() if k.startswith("val_")}
            if with_weights:
                for weight in self.model.weights:
                    name = weight.name.removesuffix(":0")
                    found[f"weights/{name}"] = monitor._value_of(weight)
            monitor._log(self._run, self._batches, found)

        def on_train_end(self, logs: Any = None) -> None:
            monitor._end(self._run, "done")

    return MonitorCallback()


def _numbers(logs: Mapping[str, Any] | None) -> dict[str, Any]:
    return {k: v for k, v in (logs or {}).items() if k not in ("batch", "size")}
