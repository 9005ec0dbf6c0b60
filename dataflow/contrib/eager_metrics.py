"""``tf.contrib.eager.metrics``: metrics that accumulate over batches."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.keras import base_metric
from dataflow.namespaces import explain_absent
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal, greater
from dataflow.ops.reduce import argmax
from dataflow.ops.reshape import squeeze

__all__ = ["Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "Mean", "Metric", "SparseAccuracy"]


class Metric(base_metric.Metric):
    """Base class: ``metric(values)`` adds a batch, ``metric.result()`` returns the value so far.

    Subclasses create variables in ``build(values)`` (with `add_variable`) and update them in ``call``.
    """

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Creates the variables, on the first call."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch; the result is that of calling the metric."""
        raise NotImplementedError("Metrics must define a call() member function")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a batch, and returns it."""
        if not self.built:
            self.build(*args, **kwargs)
            self.built = True
        return self.call(*args, **kwargs)

    def add_variable(  # type: ignore[override]
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None
    ) -> Any:
        """Creates a variable of the metric, initialized by ``initializer`` (0 by default)."""
        return self.add_weight(
            name, shape=() if shape is None else shape, initializer=initializer, dtype=dtype
        )

    def init_variables(self) -> None:
        """Sets all variables to 0."""
        self.reset_states()


class Mean(Metric):
    """The (weighted) mean of all values, float64."""

    def __init__(
        self,
        name: str | None = None,
        dtype: Any = dtypes.float64,
        use_global_variables: bool = False,
    ) -> None:
        super().__init__(name or type(self).__name__, dtype)
        self._mean = base_metric.Mean(self.name, dtype)

    def call(self, values: Any, weights: Any = None) -> Any:
        """Adds ``values``, each with its weight, and returns them (with the weights, if given)."""
        self._mean.update_state(values, weights)
        return values if weights is None else (values, weights)

    def result(self, write_summary: bool = True) -> Any:
        """The mean so far, a scalar."""
        return self._mean.result()

    def reset_states(self) -> None:
        """Resets the sum and the count to 0."""
        self._mean.reset_states()

    @property
    def variables(self) -> list[Any]:
        """The sum and the count."""
        return self._mean.weights


class Accuracy(Mean):
    """The share of predictions that equal the labels; both have the same shape."""

    def __init__(self, name: str | None = None, dtype: Any = dtypes.float64) -> None:
        super().__init__(name or type(self).__name__, dtype)

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> Any:  # type: ignore[override]
        """Adds a batch, and returns it as tensors (with the weights, if given)."""
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        super().call(cast(equal(*self._compared(labels, predictions)), self.dtype), weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)

    def _compared(self, labels: Any, predictions: Any) -> tuple[Any, Any]:
        """The two tensors that are equal where a prediction is correct."""
        return labels, predictions


class CategoricalAccuracy(Accuracy):
    """How often predictions and labels, both [n, classes], have their maximum at the same class."""

    def _compared(self, labels: Any, predictions: Any) -> tuple[Any, Any]:
        return argmax(labels, axis=-1), argmax(predictions, axis=-1)


class BinaryAccuracy(Accuracy):
    """How often a probability is on the label's side of ``threshold``."""

    def __init__(
        self, threshold: float, name: str | None = None, dtype: Any = dtypes.float64
    ) -> None:
        super().__init__(name or type(self).__name__, dtype)
        self._threshold = threshold

    def _compared(self, labels: Any, predictions: Any) -> tuple[Any, Any]:
        return cast(labels, dtypes.bool_), greater(predictions, self._threshold)


class SparseAccuracy(Accuracy):
    """How often predictions, [n, classes], have their maximum at the label, [n] or [n, 1]."""

    def _compared(self, labels: Any, predictions: Any) -> tuple[Any, Any]:
        if labels.shape.ndims == 2:
            labels = squeeze(labels, [-1])
        return cast(labels, dtypes.int64), argmax(predictions, axis=-1)


__getattr__ = explain_absent(__name__)
