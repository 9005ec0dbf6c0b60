"""What estimators of `tf.contrib.learn` can do, as classes to derive from: `Trainable`, `Evaluable`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Trainable(ABC):
    """Has `fit`."""

    @abstractmethod
    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> Any:
        """Trains on arrays or an input function."""


class Evaluable(ABC):
    """Has `evaluate`, of what lies in `model_dir`."""

    @property
    @abstractmethod
    def model_dir(self) -> Any:
        """The folder of the checkpoints."""

    @abstractmethod
    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
        checkpoint_path: Any = None,
        hooks: Any = None,
    ) -> Any:
        """The metrics by name."""
