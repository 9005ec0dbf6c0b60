"""Metrics of `tf.keras` that count hits and misses: precision, recall, AUC, intersection over union."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.keras import backend as K
from dataflow.keras.base_metric import Metric, weights_like
from dataflow.metrics.thresholds import interpolated_area
from dataflow.ops import array
from dataflow.ops.comparison import greater, not_equal
from dataflow.ops.control_flow import group
from dataflow.ops.counting import confusion_matrix
from dataflow.ops.elementary import abs_
from dataflow.ops.math import cast, div_no_nan, maximum, minimum
from dataflow.ops.matrix_diag import diag_part
from dataflow.ops.reduce import argmin, reduce_sum
from dataflow.ops.sequences import top_k as largest
from dataflow.ops.state import assign_add

#: Every score is above it: the threshold where ``top_k`` alone decides.
_LOWEST = -1e10


def _checked(thresholds: Any, default: float) -> list[float]:
    """Thresholds as a list; raises `ValueError` for those outside [0, 1]."""
    given = thresholds if isinstance(thresholds, (list, tuple)) else [thresholds]
    if thresholds is None:
        return [default]
    bad = [t for t in given if t is None or not (0 <= t <= 1 or t == _LOWEST)]
    if bad:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {bad}")
    return [float(t) for t in given]


def filter_top_k(x: Any, k: int) -> Any:
    """``x`` with the ``k`` largest values of each row as they are, and -1e10 in the other places.

    Of equal values the first ones count.
    """
    numbers = largest(x, k, sorted=False)[1]
    kept = reduce_sum(array.one_hot(numbers, array.shape(x)[-1], dtype=x.dtype.base_dtype), -2)
    kept.set_shape(x.shape)
    return x * kept + _LOWEST * (1 - kept)


class ConfusionMetric(Metric):
    """Counts, at each threshold, of true and false positives and negatives."""

    _kinds: tuple[str, ...] = ("tp", "tn", "fp", "fn")
    _names = {
        "tp": "true_positives",
        "fp": "false_positives",
        "tn": "true_negatives",
        "fn": "false_negatives",
    }

    def __init__(
        self,
        cuts: list[float],
        name: str | None,
        dtype: DTypeLike,
        top_k: int | None = None,
        class_id: int | None = None,
    ) -> None:
        super().__init__(name, dtype)
        self._cuts = cuts
        self.top_k = top_k
        self.class_id = class_id
        self._counts = {
            kind: self.add_weight(self._names[kind], (len(cuts),)) for kind in self._kinds
        }
        for kind, variable in self._counts.items():
            setattr(self, self._names[kind], variable)

    def update_state(
        self, y_true: Any, y_pred: Any, sample_weight: TensorLike | None = None
    ) -> Any:
        y_pred = cast(convert_to_tensor(y_pred), self.dtype)
        y_true = cast(convert_to_tensor(y_true), self.dtype)
        if self.top_k is not None:
            y_pred = filter_top_k(y_pred, self.top_k)
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        weights: Any = 1.0
        if sample_weight is not None:
            weights = weights_like(convert_to_tensor(sample_weight), y_pred)
            weights = array.reshape(weights * array.ones_like(y_pred), [1, -1])
        actual = cast(array.reshape(cast(y_true, "bool"), [1, -1]), self.dtype)
        cuts = np.asarray(self._cuts, "float32")[:, None]
        guess = cast(greater(array.reshape(y_pred, [1, -1]), cuts), self.dtype)
        found = {
            "tp": actual * guess,
            "fp": (1 - actual) * guess,
            "tn": (1 - actual) * (1 - guess),
            "fn": actual * (1 - guess),
        }
        return group(
            *(
                assign_add(variable, reduce_sum(found[kind] * weights, 1))
                for kind, variable in self._counts.items()
            )
        )

    def _now(self, kind: str) -> Any:
        return self._counts[kind].read_value()

    def _scalar(self, values: Any) -> Any:
        """The only value, or the vector of several thresholds."""
        return values[0] if len(self._cuts) == 1 else values


class _OneCount(ConfusionMetric):
    def __init__(self, thresholds: Any = None, name: str | None = None, dtype: Any = None) -> None:
        self.thresholds = thresholds
        super().__init__(_checked(thresholds, 0.5), name, dtype)

    def result(self) -> Any:
        return self._scalar(self._now(self._kinds[0]))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.thresholds}


class TruePositives(_OneCount):
    """How many positives are guessed to be such."""

    _kinds = ("tp",)


class FalsePositives(_OneCount):
    """How many negatives are guessed to be positive."""

    _kinds = ("fp",)


class TrueNegatives(_OneCount):
    """How many negatives are guessed to be such."""

    _kinds = ("tn",)


class FalseNegatives(_OneCount):
    """How many positives are guessed to be negative."""

    _kinds = ("fn",)


class _Share(ConfusionMetric):
    """True positives among two counts."""

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        self.thresholds = thresholds
        default = 0.5 if top_k is None else _LOWEST
        super().__init__(_checked(thresholds, default), name, dtype, top_k, class_id)

    def result(self) -> Any:
        hits, others = (self._now(kind) for kind in self._kinds)
        return self._scalar(div_no_nan(hits, hits + others))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "thresholds": self.thresholds,
            "top_k": self.top_k,
            "class_id": self.class_id,
        }


class Precision(_Share):
    """How many of the positive guesses are right; with ``top_k``, the k best guesses of a row."""

    _kinds = ("tp", "fp")


class Recall(_Share):
    """How many of the positives are found; with ``top_k``, among the k best guesses of a row."""

    _kinds = ("tp", "fn")


class _AtBest(ConfusionMetric):
    """One rate at the threshold where another is nearest to a value."""

    def __init__(
        self, value: float, what: str, num_thresholds: int, name: str | None, dtype: DTypeLike
    ) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"`{what}` must be in the range [0, 1], got {value}.")
        if num_thresholds <= 0:
            raise ValueError(f"`num_thresholds` must be > 0, got {num_thresholds}.")
        self._value, self._what, self.num_thresholds = value, what, num_thresholds
        last = num_thresholds - 1
        cuts = [0.5] if num_thresholds == 1 else [i / last for i in range(num_thresholds)]
        super().__init__(cuts, name, dtype)

    def _rates(self) -> tuple[Any, Any]:
        tp, tn, fp, fn = (self._now(kind) for kind in self._kinds)
        return div_no_nan(tp, tp + fn), div_no_nan(tn, tn + fp)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            self._what: self._value,
            "num_thresholds": self.num_thresholds,
        }


class SensitivityAtSpecificity(_AtBest):
    """The share of positives found where ``specificity`` of the negatives are."""

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(specificity, "specificity", num_thresholds, name, dtype)
        self.specificity = specificity

    def result(self) -> Any:
        sensitivity, specificity = self._rates()
        return array.gather(sensitivity, argmin(abs_(specificity - self._value), 0))


class SpecificityAtSensitivity(_AtBest):
    """The share of negatives found where ``sensitivity`` of the positives are."""

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(sensitivity, "sensitivity", num_thresholds, name, dtype)
        self.sensitivity = sensitivity

    def result(self) -> Any:
        sensitivity, specificity = self._rates()
        return array.gather(specificity, argmin(abs_(sensitivity - self._value), 0))


class AUC(ConfusionMetric):
    """The area under the "ROC" or "PR" curve, from counts at ``num_thresholds`` thresholds.

    ``summation_method``: "interpolation" (for PR: Davis and Goadrich 2006), "minoring" or
    "majoring". ``thresholds`` lists the inner thresholds instead.
    """

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid AUC curve value "{curve}": it is "ROC" or "PR".')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(
                f'Invalid AUC summation method value "{summation_method}": it is "interpolation", '
                '"minoring" or "majoring".'
            )
        if thresholds is None:
            if num_thresholds <= 1:
                raise ValueError(f"`num_thresholds` must be > 1, got {num_thresholds}.")
            inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        else:
            inner = sorted(_checked(list(thresholds), 0.5))
        self.num_thresholds, self.curve, self.summation_method = (
            len(inner) + 2,
            curve,
            summation_method,
        )
        self._given_thresholds = None if thresholds is None else inner
        self.thresholds = [-K.epsilon(), *inner, 1.0 + K.epsilon()]
        super().__init__(self.thresholds, name, dtype)

    def result(self) -> Any:
        tp, tn, fp, fn = (self._now(kind) for kind in self._kinds)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return interpolated_area(tp, fp, fn, "interpolate_pr_auc")
        recall = div_no_nan(tp, tp + fn)
        if self.curve == "ROC":
            x, y = div_no_nan(fp, fp + tn), recall
        else:
            x, y = recall, div_no_nan(tp, tp + fp)
        if self.summation_method == "interpolation":
            heights = (y[:-1] + y[1:]) / 2.0
        else:
            pick = minimum if self.summation_method == "minoring" else maximum
            heights = pick(y[:-1], y[1:])
        return reduce_sum((x[:-1] - x[1:]) * heights)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve,
            "summation_method": self.summation_method,
            "thresholds": self._given_thresholds,
        }


class MeanIoU(Metric):
    """Mean over the classes that occur of intersection / union; labels and guesses are numbers."""

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self.total = self.add_weight("total_confusion_matrix", (num_classes, num_classes))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        labels, guesses = (
            array.reshape(cast(convert_to_tensor(y), "int64"), [-1]) for y in (y_true, y_pred)
        )
        if sample_weight is not None:
            sample_weight = array.reshape(cast(sample_weight, self.dtype), [-1])
        found = confusion_matrix(
            labels, guesses, self.num_classes, weights=sample_weight, dtype=self.dtype
        )
        return assign_add(self.total, found).op

    def result(self) -> Any:
        total = self.total.read_value()
        hits = diag_part(total)
        unions = reduce_sum(total, 0) + reduce_sum(total, 1) - hits
        present = reduce_sum(cast(not_equal(unions, 0.0), self.dtype))
        return div_no_nan(reduce_sum(div_no_nan(hits, unions)), present)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_classes": self.num_classes}


class MeanTensor(Metric):
    """The mean of each element, over batches; the shape is that of the first values."""

    def __init__(self, name: str = "mean_tensor", dtype: DTypeLike | None = None) -> None:
        super().__init__(name, dtype)
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: Any, sample_weight: TensorLike | None = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if self.total is None:
            shape = values.shape.as_list()
            self.total = self.add_weight("total", shape)
            self.count = self.add_weight("count", shape)
        weights = array.ones_like(values)
        if sample_weight is not None:
            weights = weights * weights_like(convert_to_tensor(sample_weight), values)
        return group(assign_add(self.total, values * weights), assign_add(self.count, weights))

    def result(self) -> Any:
        if self.total is None:
            raise ValueError("MeanTensor has no result before the first update_state(values).")
        return div_no_nan(self.total.read_value(), self.count.read_value())
