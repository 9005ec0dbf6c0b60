"""Callbacks that tell others: means of the logs, a progress bar, a server."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow.keras.callback_list import Callback
from dataflow.keras.utils.progress import Progbar


class BaseLogger(Callback):
    """Puts the means of the batches' values, by their sizes, into the logs of each epoch."""

    def __init__(self, stateful_metrics: Iterable[str] | None = None) -> None:
        super().__init__()
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.seen = 0
        self.totals: dict[str, float] = {}

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        logs = logs or {}
        size = logs.get("size", 0)
        self.seen += size
        for name, value in logs.items():
            if name in self.stateful_metrics:
                self.totals[name] = value
            else:
                self.totals[name] = self.totals.get(name, 0) + value * size

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        for name in self.params.get("metrics", ()):
            if logs is not None and name in self.totals:
                kept = name in self.stateful_metrics
                logs[name] = self.totals[name] / (1 if kept else max(1, self.seen))


class ProgbarLogger(Callback):
    """A `Progbar` for each epoch; ``count_mode`` counts "samples" or "steps"."""

    def __init__(
        self, count_mode: str = "samples", stateful_metrics: Iterable[str] | None = None
    ) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.seen = 0
        self.target = self.params.get("steps" if self.use_steps else "samples")
        verbose = self.params.get("verbose", 1)
        if verbose:
            print(f"Epoch {epoch + 1}/{self.params.get('epochs', 1)}")
        self.progbar = Progbar(self.target, verbose=verbose, stateful_metrics=self.stateful_metrics)

    def _values(self, logs: dict[str, Any]) -> list[tuple[str, Any]]:
        names = self.params.get("metrics", ())
        return [(name, logs[name]) for name in names if name in (logs or {})]

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        self.seen += 1 if self.use_steps else (logs or {}).get("size", 0)
        if self.target is None or self.seen < self.target:
            self.progbar.update(self.seen, self._values(logs))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.progbar.stateful_metrics.update(name for name, _ in self._values(logs))
        self.progbar.target = self.target or self.seen
        self.progbar.update(self.progbar.target, self._values(logs))


class RemoteMonitor(Callback):
    """Sends the logs of each epoch to a server, by HTTP POST; one that does not answer is a warning.

    The address is ``root + path``. The body is JSON with ``send_as_json``, else a form whose
    ``field`` is JSON.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: dict[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers = dict(headers or {})
        self.send_as_json = send_as_json

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        values = {k: np.asarray(v).tolist() for k, v in (logs or {}).items()}
        text = json.dumps({"epoch": epoch, **values})
        kind = "application/json"
        if not self.send_as_json:
            text = urllib.parse.urlencode({self.field: text})
            kind = "application/x-www-form-urlencoded"
        request = urllib.request.Request(
            self.root + self.path, text.encode(), {"Content-Type": kind, **self.headers}
        )
        try:
            with urllib.request.urlopen(request, timeout=5):
                pass
        except OSError as error:
            warnings.warn(
                f"Could not reach RemoteMonitor root server at {self.root}: {error}", stacklevel=2
            )
