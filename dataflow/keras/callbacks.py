"""`tf.keras.callbacks`: what happens between the steps of `fit`."""

from __future__ import annotations

import csv
import os
import sys
import time
import warnings
from typing import Any

import numpy as np

from dataflow.keras import backend as K
from dataflow.keras.logs import Logs


class Callback:
    """Override what you need; ``self.model`` and ``self.params`` are set before training."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}
        self.validation_data: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Called by `fit`."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Called by `fit`."""
        self.model = model

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before each epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After each epoch; ``logs`` holds the means and the ``val_`` values."""

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before each batch."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """After each batch; ``logs`` holds its loss and metrics."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before each batch of training."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """After each batch of training."""
        self.on_batch_end(batch, logs)

    def on_train_begin(self, logs: Any = None) -> None:
        """Before the first epoch."""

    def on_train_end(self, logs: Any = None) -> None:
        """After the last epoch."""

    def on_test_begin(self, logs: Any = None) -> None:
        """Before an `evaluate`, and before the validation of each epoch of `fit`."""

    def on_test_end(self, logs: Any = None) -> None:
        """After an `evaluate` or a validation."""

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before each batch of an `evaluate` or a validation."""

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """After each such batch; ``logs`` holds its loss and metrics."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Before a `predict`."""

    def on_predict_end(self, logs: Any = None) -> None:
        """After a `predict`."""

    def on_predict_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Before each batch of a `predict`."""

    def on_predict_batch_end(self, batch: int, logs: Any = None) -> None:
        """After each batch of a `predict`; ``logs`` holds its ``outputs``."""


class History(Callback):
    """A list for each loss and metric, with an entry for each epoch; what `fit` returns."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = Logs()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for key, value in (logs or {}).items():
            self.history.setdefault(key, []).append(value)


class ProgressLine(Callback):
    """What ``verbose`` prints: 1 a bar that grows, 2 a line per epoch. No bar inside tests."""

    def on_train_begin(self, logs: Any = None) -> None:
        self._verbose = self.params.get("verbose", 1)
        if self._verbose == 1 and "PYTEST_CURRENT_TEST" in os.environ:
            self._verbose = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._start = self._shown = time.monotonic()
        self._seen = 0
        if self._verbose:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self._seen += (logs or {}).get("size", 0)
        now = time.monotonic()
        if self._verbose == 1 and now - self._shown > 0.2:
            self._shown = now
            self._bar(logs or {}, batch + 1, end="")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._verbose == 1:
            self._bar(logs or {}, self.params.get("steps"), end="\n")
        elif self._verbose:
            print(f" - {self._text(logs or {})}")

    def _text(self, logs: Any) -> str:
        elapsed = time.monotonic() - self._start
        numbers = [f"{k}: {v:.4f}" for k, v in logs.items() if k not in ("batch", "size")]
        return " - ".join([f"{elapsed:.0f}s", *numbers])

    def _bar(self, logs: Any, steps: int | None, end: str) -> None:
        samples, total = self.params.get("samples"), self.params.get("steps")
        done, of = (self._seen, samples) if samples else (steps or 0, total)
        bar = ""
        if of:
            filled = int(30 * done / of)
            bar = "[" + "=" * filled + ("" if filled >= 30 else ">" + "." * (29 - filled)) + "]"
        count = f"{done}/{of}" if of else f"{done}"
        sys.stdout.write(f"\r{count} {bar} - {self._text(logs)}   {end}")
        sys.stdout.flush()


def _given(callbacks: Any) -> list[Any]:
    """The callbacks of an argument: one, a list, or None. Raises `TypeError` for anything else."""
    given = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]
    given = [c for c in given if c is not None]
    for callback in given:
        if not hasattr(callback, "on_epoch_end"):
            raise TypeError(f"callbacks: {callback!r} is no tf.keras.callbacks.Callback object.")
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

    def on_end(self, logs: Any) -> None:
        """After the last batch."""
        self._tell("end", logs)

    def on_batch_begin(self, batch: int, logs: Any) -> None:
        """Before each batch."""
        self._tell("batch_begin", batch, logs)

    def on_batch_end(self, batch: int, logs: Any) -> None:
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

    def on_train_begin(self) -> None:
        """Before the first epoch."""
        for callback in self._all:
            callback.on_train_begin({})

    def on_train_end(self) -> None:
        """After the last epoch."""
        for callback in self._all:
            callback.on_train_end({})

    def on_epoch_begin(self, epoch: int) -> None:
        """Before each epoch."""
        for callback in self._all:
            callback.on_epoch_begin(epoch, {})

    def on_epoch_end(self, epoch: int, logs: Any) -> None:
        """After each epoch; what a callback adds to ``logs`` is in the history too."""
        for callback in self._all:
            callback.on_epoch_end(epoch, logs)

    def on_batch_begin(self, batch: int, logs: Any) -> None:
        """Before each batch."""
        for callback in self._all:
            callback.on_train_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: Any) -> None:
        """After each batch."""
        for callback in self._all:
            callback.on_train_batch_end(batch, logs)


class LambdaCallback(Callback):
    """Functions as a callback: ``on_epoch_end=lambda epoch, logs: ...``."""

    def __init__(self, **functions: Any) -> None:
        super().__init__()
        for name, function in functions.items():
            if not hasattr(Callback, name):
                raise TypeError(f"LambdaCallback: there is no event called {name!r}.")
            if function is not None:
                setattr(self, name, function)


class _Monitor(Callback):
    """Watches one of the logs and knows which of two values is better."""

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        super().__init__()
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode must be auto, min or max, got {mode!r}.")
        self.monitor = monitor
        is_max = mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.endswith("auc")))
        self._sign = 1.0 if is_max else -1.0
        self.min_delta = abs(min_delta)
        self.best = -self._sign * np.inf

    def _value(self, logs: Any) -> Any:
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{type(self).__name__}: there is no {self.monitor!r} to watch; there are: "
                f"{', '.join(sorted(logs or {}))}.",
                stacklevel=5,
            )
        return value

    def _is_better(self, value: float) -> bool:
        return self._sign * (value - self.best) > self.min_delta


class EarlyStopping(_Monitor):
    """Stops when a value has not become better for ``patience`` epochs."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: Any = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience = patience
        self.verbose = verbose
        self.baseline = baseline
        self.restore_best_weights = restore_best_weights
        self.stopped_epoch = 0

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.best = -self._sign * np.inf if self.baseline is None else self.baseline
        self._weights: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        value = self._value(logs)
        if value is None:
            return
        if self._is_better(value):
            self.best, self.wait = value, 0
            if self.restore_best_weights:
                self._weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self._weights is not None:
                self.model.set_weights(self._weights)

    def on_train_end(self, logs: Any = None) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(_Monitor):
    """Saves the model after epochs; the path may hold ``{epoch:02d}`` and ``{val_loss:.2f}``."""

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        period: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(monitor, mode)
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.period = period

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if (epoch + 1) % self.period:
            return
        if self.save_best_only:
            value = self._value(logs)
            if value is None or not self._is_better(value):
                return
            self.best = value
        path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: saving model to {path}")
        (self.model.save_weights if self.save_weights_only else self.model.save)(path)


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch: ``schedule(epoch)`` or ``schedule(epoch, lr)``."""

    def __init__(self, schedule: Any, verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        lr = float(K.get_value(self.model.optimizer.lr))
        try:
            new = self.schedule(epoch, lr)
        except TypeError:
            new = self.schedule(epoch)
        if not isinstance(new, (float, int, np.floating)):
            raise ValueError(f'The output of the "schedule" function should be float, got {new!r}.')
        K.set_value(self.model.optimizer.lr, new)
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: LearningRateScheduler setting learning rate to {new}.")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        logs["lr"] = float(K.get_value(self.model.optimizer.lr))


class ReduceLROnPlateau(_Monitor):
    """Multiplies the learning rate by ``factor`` after ``patience`` epochs without progress."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
        **kwargs: Any,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        super().__init__(monitor, mode, min_delta)
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr

    def on_train_begin(self, logs: Any = None) -> None:
        self.wait = self._resting = 0
        self.best = -self._sign * np.inf

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        lr = float(K.get_value(self.model.optimizer.lr))
        logs["lr"] = lr
        value = self._value(logs)
        if value is None:
            return
        if self._resting > 0:
            self._resting -= 1
            self.wait = 0
        if self._is_better(value):
            self.best, self.wait = value, 0
        elif self._resting <= 0:
            self.wait += 1
            if self.wait >= self.patience and lr > self.min_lr:
                new = max(lr * self.factor, self.min_lr)
                K.set_value(self.model.optimizer.lr, new)
                self._resting, self.wait = self.cooldown, 0
                if self.verbose:
                    print(f"\nEpoch {epoch + 1:05d}: reducing learning rate to {new}.")


class CSVLogger(Callback):
    """Writes the logs of each epoch to a CSV file."""

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename = os.fspath(filename)
        self.separator = separator
        self.append = append

    def on_train_begin(self, logs: Any = None) -> None:
        self._needs_header = not (self.append and os.path.exists(self.filename))
        self._file = open(self.filename, "a" if self.append else "w", newline="")  # noqa: SIM115
        self._writer: Any = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._writer is None:
            names = ["epoch", *sorted(logs)]
            self._writer = csv.DictWriter(
                self._file, names, delimiter=self.separator, extrasaction="ignore"
            )
            if self._needs_header:
                self._writer.writeheader()
        self._writer.writerow({"epoch": epoch, **logs})
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._file.close()


class TerminateOnNaN(Callback):
    """Stops when the loss is not a number."""

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class TensorBoard(Callback):
    """Writes the graph, and the logs of each epoch, for TensorBoard.

    ``histogram_freq``: every so many epochs, the values of all weights.
    """

    def __init__(
        self,
        log_dir: Any = "./logs",
        histogram_freq: int = 0,
        batch_size: int = 32,
        write_graph: bool = True,
        write_grads: bool = False,
        write_images: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        if write_grads or write_images:
            raise NotImplementedError(
                "TensorBoard: write_grads and write_images are not supported."
            )

    def on_train_begin(self, logs: Any = None) -> None:
        from dataflow.ops.summary import histogram, merge
        from dataflow.summary.file_writer import FileWriter

        self._writer = FileWriter(self.log_dir, self.model._graph if self.write_graph else None)
        self._histograms: Any = None
        if self.histogram_freq and self.model.weights:
            self._histograms = merge(
                [histogram(w.op.name, w) for w in self.model.weights], collections=[]
            )

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        from dataflow.summary import Summary

        summary = Summary()
        for name, value in (logs or {}).items():
            summary.value.add(tag="epoch_" + name, simple_value=float(value))
        self._writer.add_summary(summary, epoch)
        if self._histograms is not None and epoch % self.histogram_freq == 0:
            self._writer.add_summary(K.get_session().run(self._histograms), epoch)
        self._writer.flush()

    def on_train_end(self, logs: Any = None) -> None:
        self._writer.close()
