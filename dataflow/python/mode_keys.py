"""``tensorflow.python.saved_model.model_utils.mode_keys``: names of training, evaluation and prediction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dataflow.estimator import ModeKeys as EstimatorModeKeys

__all__ = [
    "EstimatorModeKeys",
    "KerasModeKeys",
    "ModeKeyMap",
    "ModeKeys",
    "is_eval",
    "is_predict",
    "is_train",
]


class KerasModeKeys:
    """The modes of Keras."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


ModeKeys = KerasModeKeys


def is_predict(mode: str) -> bool:
    """Whether Keras or Estimator means prediction by this name."""
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode: str) -> bool:
    """Whether Keras or Estimator means evaluation by this name."""
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode: str) -> bool:
    """Whether Keras and Estimator mean training by this name."""
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


class ModeKeyMap(Mapping[str, Any]):
    """A value for each mode, found by Keras's or Estimator's name of it; it cannot be changed.

    Raises `ValueError` for a name that is no mode's, and for two values of one mode.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._values: dict[str, Any] = {}
        self._given: dict[str, str] = {}
        for name, value in kwargs.items():
            mode = self._mode(name)
            if mode in self._values:
                raise ValueError(f"Multiple keys/values found for mode {mode}.")
            self._values[mode] = value
            self._given[name] = mode

    def _mode(self, name: str) -> str:
        for mode, means in (
            (EstimatorModeKeys.TRAIN, is_train),
            (EstimatorModeKeys.EVAL, is_eval),
            (EstimatorModeKeys.PREDICT, is_predict),
        ):
            if means(name):
                return mode
        raise ValueError(f"Invalid mode: {name}")

    def __getitem__(self, name: str) -> Any:
        return self._values[self._mode(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)
