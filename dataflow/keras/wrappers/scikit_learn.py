"""Keras models as scikit-learn's estimators, for pipelines, cross-validation and grid searches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.extras import install
from dataflow.keras import losses
from dataflow.keras.sequential import Sequential
from dataflow.keras.utils import to_categorical

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
except ImportError as error:
    raise ImportError(
        f"tf.keras.wrappers.scikit_learn needs scikit-learn: {install('data')}"
    ) from error

__all__ = ["KerasClassifier", "KerasRegressor"]


class _Wrapper(BaseEstimator):  # type: ignore[misc]
    """``build_fn(**arguments)`` makes and compiles a model.

    ``sk_params`` are arguments of ``build_fn``, and of the model's ``fit``, ``predict`` and
    ``evaluate``, such as ``epochs`` and ``batch_size``. Instead of giving ``build_fn``, a subclass
    may define ``__call__``.
    """

    def __init__(self, build_fn: Any = None, **sk_params: Any) -> None:
        self.build_fn = build_fn
        self.sk_params = sk_params
        self._check()

    def _builder(self) -> Any:
        return type(self).__call__ if self.build_fn is None else self.build_fn

    def _check(self) -> None:
        if self.build_fn is None and not callable(self):
            raise TypeError("Give build_fn=, a function that returns a compiled model.")
        functions = (Sequential.fit, Sequential.predict, Sequential.evaluate, self._builder())
        known = {name for f in functions for name in inspect.signature(f).parameters}
        for name in self.sk_params:
            if name not in known and name != "nb_epoch":
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, with ``build_fn``."""
        return {**self.sk_params, "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Changes parameters; raises `ValueError` for one that nothing takes."""
        if "build_fn" in params:
            self.build_fn = params.pop("build_fn")
        self.sk_params = {**self.sk_params, **params}
        self._check()
        return self

    def filter_sk_params(self, fn: Callable[..., Any], override: Any = None) -> dict[str, Any]:
        """The parameters that ``fn`` takes, and ``override``."""
        accepted = inspect.signature(fn).parameters
        return {**{k: v for k, v in self.sk_params.items() if k in accepted}, **(override or {})}

    def _fit(self, x: Any, y: Any, kwargs: dict[str, Any]) -> Any:
        builder = self._builder()
        arguments = self.filter_sk_params(builder)
        self.model = builder(self, **arguments) if self.build_fn is None else builder(**arguments)
        if _needs_one_hot(self.model.loss) and np.ndim(y) != 2:
            y = to_categorical(y)
        self.history = self.model.fit(x, y, **self.filter_sk_params(Sequential.fit, kwargs))
        return self.history

    def _predict(self, x: Any, kwargs: dict[str, Any]) -> Any:
        return self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs))


def _needs_one_hot(loss: Any) -> bool:
    function = losses.get(loss)
    name = getattr(function, "__name__", getattr(function, "name", ""))
    return bool(name == "categorical_crossentropy")


class KerasClassifier(ClassifierMixin, _Wrapper):  # type: ignore[misc]
    """A classifier; labels may be any values, or rows with one 1."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Makes a new model and trains it; returns Keras's history."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_, y = np.unique(y.reshape(-1), return_inverse=True)
        return self._fit(x, y, kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The class of each example."""
        found = self._predict(x, kwargs)
        if found.shape[-1] > 1:
            return self.classes_[found.argmax(axis=-1)]
        return self.classes_[(found[:, 0] > 0.5).astype("int64")]

    def predict_proba(self, x: Any, **kwargs: Any) -> Any:
        """The probability of each class, [examples, classes]."""
        found = self._predict(x, kwargs)
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """The share of examples whose class is right."""
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            y = self.classes_[y.argmax(axis=1)]
        return float(np.mean(self.predict(x, **kwargs) == y.reshape(-1)))


class KerasRegressor(RegressorMixin, _Wrapper):  # type: ignore[misc]
    """A regressor."""

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Makes a new model and trains it; returns Keras's history."""
        return self._fit(x, y, kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """The predictions; a single column as a vector."""
        return np.squeeze(self._predict(x, kwargs), -1)

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Minus the model's loss: more is better."""
        settings = self.filter_sk_params(Sequential.evaluate, {"verbose": 0, **kwargs})
        found = self.model.evaluate(x, y, **settings)
        return -float(found[0] if isinstance(found, list) else found)
