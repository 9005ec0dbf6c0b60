"""`Callback`, and the order in which `fit` calls its callbacks."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph import nest
from dataflow.graph.eager import outside_symbolic_graph
from dataflow.graph.tensor import Tensor
from dataflow.keras import backend as K
from dataflow.keras.logs import Logs

if TYPE_CHECKING:
    from dataflow.keras.network import Model


class Callback:
    """Override what you need; ``self.model`` and ``self.params`` are set before training."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self.validation_data: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Called by `fit`."""
        self.params = params

    def set_model(self, model: Model) -> None:
        """Called by `fit`."""
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Before each epoch."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """After each epoch; ``logs`` holds the means and the ``val_`` values."""

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before each batch."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After each batch; ``logs`` holds its loss and metrics."""

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before each batch of training."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After each batch of training."""
        self.on_batch_end(batch, logs)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before the first epoch."""

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """After the last epoch."""

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before an `evaluate`, and before the validation of each epoch of `fit`."""

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """After an `evaluate` or a validation."""

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before each batch of an `evaluate` or a validation."""

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After each such batch; ``logs`` holds its loss and metrics."""

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before a `predict`."""

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """After a `predict`."""

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before each batch of a `predict`."""

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After each batch of a `predict`; ``logs`` holds its ``outputs``."""


class History(Callback):
    """A list for each loss and metric, with an entry for each epoch; what `fit` returns."""

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = Logs()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class ProgressLine(Callback):
    """What ``verbose`` prints: 1 a bar that grows, 2 a line per epoch. No bar inside tests.

    The lines are those of 1.15's `tf.keras`, or of the package ``keras`` for a program that uses it.
    """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._verbose = self.params.get("verbose", 1)
        if self._verbose == 1 and "PYTEST_CURRENT_TEST" in os.environ:
            self._verbose = 0
        info = self.params.get("train_info")
        if self._verbose and info and not (K.is_package_keras() and "," not in info):
            print(info)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._start = self._shown = time.monotonic()
        self._seen = self._batches = 0
        if self._verbose and (self.params["epochs"] > 1 or K.is_package_keras()):
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._seen += (logs or {}).get("size", 0)
        self._batches = batch + 1
        now = time.monotonic()
        if self._verbose == 1 and now - self._shown > 0.2:
            self._shown = now
            self._bar(logs or {}, self.params.get("steps"), end="")

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self._verbose == 1:
            self._bar(logs or {}, self.params.get("steps") or self._batches, end="\n")
        elif self._verbose:
            done = self._seen if self.params.get("samples") else self._batches
            count = "" if K.is_package_keras() else f"{done}/{done}"
            print(f"{count} - {time.monotonic() - self._start:.0f}s{_numbers(logs or {})}")

    def _bar(self, logs: dict[str, Any], steps: int | None, end: str) -> None:
        samples = self.params.get("samples")
        done, of = (self._seen, samples) if samples else (self._batches, steps)
        bar = ""
        if of:
            filled = int(30 * done / of)
            bar = "[" + "=" * filled + ("" if filled >= 30 else ">" + "." * (29 - filled)) + "]"
        elapsed = time.monotonic() - self._start
        unit = "sample" if samples and not K.is_package_keras() else "step"
        each = f" {_duration(elapsed / max(done, 1))}/{unit}"
        count = f"{done}/{of} {bar}" if of else f"{done}/Unknown"
        sys.stdout.write(f"\r{count} - {elapsed:.0f}s{each}{_numbers(logs)}{end}")
        sys.stdout.flush()


def print_evaluation(verbose: int, number: int, unit: str, start: float, logs: Any) -> None:
    """The line of an `evaluate` of so many samples or steps, begun at ``start``."""
    package = K.is_package_keras()
    seconds = time.monotonic() - start
    count, numbers = f"{number}/{number}", "" if package else _numbers(logs)
    if verbose == 1 and "PYTEST_CURRENT_TEST" not in os.environ:
        each = f"{_duration(seconds / max(number, 1))}/{'step' if package else unit}"
        print(f"\r{count} [{'=' * 30}] - {seconds:.0f}s {each}{numbers}")
    elif verbose == 2 and not package:
        print(f"{count} - {seconds:.0f}s{numbers}")


def train_info(arrays: Any, steps: Any, held: Any, others: Any, other_steps: Any) -> str:
    """The line that 1.15 prints before the first epoch: on how many samples it trains and validates."""
    unit = "steps" if arrays is None else "samples"
    number = steps if arrays is None else len(arrays[0])
    if held is not None:
        others = len(held[0])
    elif isinstance(others, (tuple, list)) and len(others):
        first = nest.flatten(others[0])
        sized = first and not isinstance(first[0], Tensor) and hasattr(first[0], "__len__")
        others = len(first[0]) if sized else other_steps
    else:
        others = other_steps
    validated = f", validate on {others} {unit}" if others else ""
    return f"Train on {number} {unit}{validated}"


def _duration(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds / 1e-6:.0f}us"


def _numbers(logs: dict[str, Any]) -> str:
    # A metric of several values is shown as their mean.
    shown = {k: np.mean(v) for k, v in logs.items() if k not in ("batch", "size")}
    return "".join(
        f" - {k}: {v:.4f}" if abs(v) > 1e-3 else f" - {k}: {v:.4e}" for k, v in shown.items()
    )


def _given(callbacks: Any) -> list[Any]:
    """The callbacks of an argument: one, a list, or None. Raises `TypeError` for anything else."""
    given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    given = [c for c in given if c is not None]
    for callback in given:
        if not hasattr(callback, "on_epoch_end"):
            raise TypeError(f"callbacks: {callback!r} is not a tf.keras.callbacks.Callback.")
    return given


class StageCallbacks:
    """The callbacks around an evaluation (``kind`` "test") or a prediction ("predict")."""

    def __init__(self, kind: str, callbacks: Any, model: Any = None) -> None:
        self._kind = kind
        self._all = _given(callbacks)
        for callback in self._all if model is not None else []:
            callback.set_model(model)

    def _tell(self, event: str, *arguments: Any) -> None:
        for callback in self._all:
            # A class of a program's own may know of no more than `fit`.
            method = getattr(callback, f"on_{self._kind}_{event}", None)
            if method is not None:
                method(*arguments)

    def on_begin(self) -> None:
        """Before the first batch."""
        self._tell("begin", {})

    def on_end(self, logs: dict[str, Any]) -> None:
        """After the last batch."""
        self._tell("end", logs)

    def on_batch_begin(self, batch: int, logs: dict[str, Any]) -> None:
        """Before each batch."""
        self._tell("batch_begin", batch, logs)

    def on_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        """After each batch."""
        self._tell("batch_end", batch, logs)


class CallbackList:
    """All callbacks of a `fit`, the history last; calls go to each in turn."""

    def __init__(self, callbacks: Any, model: Any, params: dict[str, Any]) -> None:
        model.history = History()
        self._all = [ProgressLine(), *_given(callbacks), model.history]
        #: Who is told of validations.
        self.of_tests = StageCallbacks("test", self._all)
        for callback in self._all:
            callback.set_params(params)
            callback.set_model(model)

    def set_validation_data(self, arrays: list[Any] | None) -> None:
        """Gives callbacks the validation data: inputs, targets and weights."""
        for callback in self._all:
            callback.validation_data = arrays

    def _tell(self, what: str, *arguments: Any) -> None:
        with outside_symbolic_graph():  # where what a callback computes has values
            for callback in self._all:
                getattr(callback, what)(*arguments)

    def on_train_begin(self) -> None:
        """Before the first epoch."""
        self._tell("on_train_begin", {})

    def on_train_end(self) -> None:
        """After the last epoch."""
        self._tell("on_train_end", {})

    def on_epoch_begin(self, epoch: int) -> None:
        """Before each epoch."""
        self._tell("on_epoch_begin", epoch, {})

    def on_epoch_end(self, epoch: int, logs: dict[str, Any]) -> None:
        """After each epoch; what a callback adds to ``logs`` is in the history too."""
        self._tell("on_epoch_end", epoch, logs)

    def on_batch_begin(self, batch: int, logs: dict[str, Any]) -> None:
        """Before each batch."""
        self._tell("on_train_batch_begin", batch, logs)

    def on_batch_end(self, batch: int, logs: dict[str, Any]) -> None:
        """After each batch."""
        self._tell("on_train_batch_end", batch, logs)
