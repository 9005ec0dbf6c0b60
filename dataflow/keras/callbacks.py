"""`tf.keras.callbacks`: what happens between the steps of `fit`."""

from __future__ import annotations

import csv
import os
import re
import warnings
from typing import Any

import numpy as np

from dataflow.keras import backend as K
from dataflow.keras.callback_list import Callback, History
from dataflow.keras.callback_reports import BaseLogger, ProgbarLogger, RemoteMonitor
from dataflow.keras.callback_tensorboard import TensorBoard
from dataflow.keras.hdf5_format import is_available

__all__ = ["BaseLogger", "CSVLogger", "Callback", "EarlyStopping", "History", "LambdaCallback"]
__all__ += ["LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau"]
__all__ += ["RemoteMonitor", "TensorBoard", "TerminateOnNaN"]


class LambdaCallback(Callback):
    """Functions as a callback: ``on_epoch_end=lambda epoch, logs: ...``."""

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **functions: Any,
    ) -> None:
        super().__init__()
        functions.update(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end)
        functions.update(on_batch_begin=on_batch_begin, on_batch_end=on_batch_end)
        functions.update(on_train_begin=on_train_begin, on_train_end=on_train_end)
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
            warnings.warn(
                f"{type(self).__name__} mode {mode!r} is unknown (there are auto, min, max): taken as auto.",
                stacklevel=3,
            )
            mode = "auto"
        self.monitor = monitor
        is_max = mode == "max" or (mode == "auto" and ("acc" in monitor or monitor.endswith("auc")))
        self._sign = 1.0 if is_max else -1.0
        self.monitor_op = np.greater if is_max else np.less
        self.mode = mode
        self.min_delta = abs(min_delta)
        self.best = -self._sign * np.inf

    def _value(self, logs: dict[str, Any]) -> Any:
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"{type(self).__name__}: there is no {self.monitor!r} to watch; there are: "
                f"{', '.join(sorted(logs or {}))}.",
                stacklevel=5,
            )
        return value

    def get_monitor_value(self, logs: dict[str, Any]) -> Any:
        """The watched value among ``logs``; None, with a warning, where it is not there."""
        return self._value(logs)

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
        self.wait = 0
        #: The weights of the best epoch, with ``restore_best_weights``.
        self.best_weights: Any = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.wait = 0
        self.stopped_epoch = 0
        self.best = -self._sign * np.inf if self.baseline is None else self.baseline
        self.best_weights = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        value = self._value(logs)
        if value is None:
            return
        if self._is_better(value):
            self.best, self.wait = value, 0
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            return
        self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True
            if self.best_weights is not None:
                self.model.set_weights(self.best_weights)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1:05d}: early stopping")


class ModelCheckpoint(_Monitor):
    """Saves the model after epochs; the path may hold ``{epoch:02d}`` and ``{val_loss:.2f}``.

    ``save_freq``: "epoch" (every ``period`` of them), or after so many examples.
    ``load_weights_on_restart`` starts from the file, where it is there. A model that cannot be saved
    whole (a layer holds something that is no JSON) is saved as weights, with a warning.
    """

    def __init__(
        self,
        filepath: Any,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: Any = "epoch",
        period: int = 1,
        load_weights_on_restart: bool = False,
    ) -> None:
        super().__init__(monitor, mode)
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(
                f"Unrecognized save_freq: {save_freq!r}. It is 'epoch' or a number of examples."
            )
        self.save_freq = save_freq
        self.load_weights_on_restart = load_weights_on_restart
        self._examples_since_save = 0
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.period = period

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self._epoch = 0
        if self.load_weights_on_restart:
            found = self._get_most_recently_modified_file_matching_pattern(self.filepath)
            if found is not None:
                self.model.load_weights(found)

    def _get_most_recently_modified_file_matching_pattern(self, pattern: str) -> str | None:
        """The newest file that a path with ``{epoch:02d}`` and the like stands for; None where there is none.

        Of files of one moment it is the last by name.
        """
        folder, base = os.path.split(pattern)
        if not os.path.isdir(folder or "."):
            return None
        wanted = re.compile(".*".join(map(re.escape, re.split(r"{.*?}", base))))
        found = [n for n in os.listdir(folder or ".") if wanted.fullmatch(n)]
        paths = [os.path.join(folder, name) for name in found]
        return max(paths, key=lambda path: (os.path.getmtime(path), path), default=None)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.save_freq == "epoch":
            return
        self._examples_since_save += (logs or {}).get("size", 1)
        if self._examples_since_save >= self.save_freq:
            self._examples_since_save = 0
            self._save(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self.save_freq == "epoch" and not (epoch + 1) % self.period:
            self._save(epoch, logs)

    def _save(self, epoch: int, logs: dict[str, Any]) -> None:
        path = self.filepath.format(epoch=epoch + 1, **(logs or {}))
        what = f"saving model to {path}"
        if self.save_best_only:
            value = self._value(logs)
            if value is None:
                return
            if not self._is_better(value):
                if self.verbose:
                    said = f"{self.monitor} did not improve from {self.best:0.5f}"
                    print(f"\nEpoch {epoch + 1:05d}: {said}")
                return
            what = f"{self.monitor} improved from {self.best:0.5f} to {value:0.5f}, {what}"
            self.best = value
        if self.verbose:
            print(f"\nEpoch {epoch + 1:05d}: {what}")
        if self.save_weights_only:
            self.model.save_weights(path)
            return
        try:
            self.model.save(path)
        except TypeError as error:  # which must not end a training
            warnings.warn(
                f"ModelCheckpoint: {path} holds the weights only: build the model, then "
                f"model.load_weights(path). {error}",
                stacklevel=2,
            )
            self.model.save_weights(path, save_format="h5" if is_available() else "safetensors")


class LearningRateScheduler(Callback):
    """Sets the learning rate before each epoch: ``schedule(epoch)`` or ``schedule(epoch, lr)``."""

    def __init__(self, schedule: Any, verbose: int = 0) -> None:
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
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
        if "epsilon" in kwargs:
            min_delta = kwargs["epsilon"]
            warnings.warn(
                "ReduceLROnPlateau: the `epsilon` argument is deprecated, use `min_delta` instead.",
                stacklevel=2,
            )
        super().__init__(monitor, mode, min_delta)
        self.factor, self.patience, self.verbose = factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.wait = self.cooldown_counter = 0

    def in_cooldown(self) -> bool:
        """Whether the rate was reduced less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        self.wait = self.cooldown_counter = 0
        self.best = -self._sign * np.inf

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        lr = float(K.get_value(self.model.optimizer.lr))
        logs["lr"] = lr
        value = self._value(logs)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_better(value):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience and lr > self.min_lr:
                new = max(lr * self.factor, self.min_lr)
                K.set_value(self.model.optimizer.lr, new)
                self.cooldown_counter, self.wait = self.cooldown, 0
                if self.verbose:
                    print(f"\nEpoch {epoch + 1:05d}: reducing learning rate to {new}.")


class CSVLogger(Callback):
    """Writes the logs of each epoch to a CSV file."""

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename = os.fspath(filename)
        self.separator = separator
        self.append = append

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
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

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        self._file.close()


class TerminateOnNaN(Callback):
    """Stops when the loss is not a number."""

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
