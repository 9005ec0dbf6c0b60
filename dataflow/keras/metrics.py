"""`tf.keras.metrics`: functions, averaged over examples, and objects that count in variables."""

# ruff: noqa: F401  (names for users)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.keras import backend as K, losses
from dataflow.keras.base_metric import (
    Mean,
    MeanMetricWrapper,
    Metric,
    Sum,
    squeezed_alike,
)
from dataflow.keras.confusion_metrics import (
    AUC,
    FalseNegatives,
    FalsePositives,
    MeanIoU,
    MeanTensor,
    Precision,
    Recall,
    SensitivityAtSpecificity,
    SpecificityAtSensitivity,
    TrueNegatives,
    TruePositives,
)
from dataflow.layers.serialization import custom_object_scope, lookup, serialize as write
from dataflow.ops import array
from dataflow.ops.comparison import equal, greater
from dataflow.ops.elementary import abs_, sqrt
from dataflow.ops.math import cast, div_no_nan, squared_difference
from dataflow.ops.reduce import argmax, reduce_mean
from dataflow.shapes import dimension_value

mean_squared_error = mse = MSE = losses.mean_squared_error
mean_absolute_error = mae = MAE = losses.mean_absolute_error
mean_absolute_percentage_error = mape = MAPE = losses.mean_absolute_percentage_error
mean_squared_logarithmic_error = msle = MSLE = losses.mean_squared_logarithmic_error
categorical_crossentropy = losses.categorical_crossentropy
sparse_categorical_crossentropy = losses.sparse_categorical_crossentropy
binary_crossentropy = losses.binary_crossentropy
kullback_leibler_divergence = kld = KLD = losses.kullback_leibler_divergence
hinge = losses.hinge
squared_hinge = losses.squared_hinge
poisson = losses.poisson
cosine_proximity = cosine = losses.cosine_proximity
categorical_hinge = losses.categorical_hinge


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """How often ``y_pred > threshold`` equals ``y_true``, over the last axis."""
    guess = cast(greater(y_pred, threshold), y_pred.dtype.base_dtype)
    same = equal(cast(y_true, y_pred.dtype.base_dtype), guess)
    return reduce_mean(cast(same, K.floatx()), axis=-1)


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """Whether the largest of each row is where the label's is."""
    return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), K.floatx())


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: Any) -> Any:
    """Whether the largest of each row is at the label's number."""
    guess = argmax(y_pred, -1)
    labels = cast(y_true, "int64")
    if labels.shape.ndims is None or labels.shape.ndims == y_pred.shape.ndims:
        labels = array.reshape(labels, array.shape(guess))
    return cast(equal(labels, guess), K.floatx())


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether ``y_pred``, in the dtype of ``y_true``, equals it."""
    return cast(equal(y_true, cast(y_pred, y_true.dtype.base_dtype)), K.floatx())


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Any:
    """Whether the label is among the ``k`` largest."""
    return _among_largest(argmax(y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Any:
    """Whether the label's number is among the ``k`` largest."""
    return _among_largest(y_true, y_pred, k)


def _among_largest(y_true: TensorLike, y_pred: TensorLike, k: int) -> Any:
    from dataflow.ops.sequences import in_top_k

    labels = array.reshape(cast(y_true, "int32"), [-1])
    return cast(in_top_k(y_pred, labels, k), K.floatx())


def cosine_similarity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Any:
    """The cosine of the angle; `losses.cosine_similarity` is minus it."""
    return -losses.cosine_proximity(y_true, y_pred, axis)


def _class(name: str, function: Callable[..., Any]) -> type[MeanMetricWrapper]:
    def initialize(
        self: Any, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        MeanMetricWrapper.__init__(self, function, name, dtype, **kwargs)

    doc = f"The mean of `{function.__name__}`."
    return type(name, (MeanMetricWrapper,), {"__init__": initialize, "__doc__": doc})


Accuracy = _class("Accuracy", accuracy)
BinaryAccuracy = _class("BinaryAccuracy", binary_accuracy)
CategoricalAccuracy = _class("CategoricalAccuracy", categorical_accuracy)
SparseCategoricalAccuracy = _class("SparseCategoricalAccuracy", sparse_categorical_accuracy)
TopKCategoricalAccuracy = _class("TopKCategoricalAccuracy", top_k_categorical_accuracy)
MeanSquaredError = _class("MeanSquaredError", mean_squared_error)
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error)
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy)
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy)
SparseCategoricalCrossentropy = _class(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy
)
SparseTopKCategoricalAccuracy = _class(
    "SparseTopKCategoricalAccuracy", sparse_top_k_categorical_accuracy
)
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
CosineSimilarity = _class("CosineSimilarity", cosine_similarity)
Hinge = _class("Hinge", hinge)
SquaredHinge = _class("SquaredHinge", squared_hinge)
CategoricalHinge = _class("CategoricalHinge", categorical_hinge)
LogCoshError = _class("LogCoshError", losses.logcosh)
Poisson = _class("Poisson", poisson)
KLDivergence = _class("KLDivergence", kullback_leibler_divergence)


class MeanRelativeError(Mean):
    """The mean of ``|y_pred - y_true| / normalizer``; 0 where the normalizer is 0."""

    def __init__(
        self, normalizer: Any, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name or "mean_relative_error", dtype)
        self.normalizer = cast(convert_to_tensor(normalizer), self.dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        difference = abs_(cast(y_true, self.dtype) - cast(y_pred, self.dtype))
        return super().update_state(div_no_nan(difference, self.normalizer), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "normalizer": K.eval(self.normalizer)}


class RootMeanSquaredError(Mean):
    """The square root of the mean of the squared errors, over all elements."""

    def __init__(
        self, name: str = "root_mean_squared_error", dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name, dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        y_pred, y_true = squeezed_alike(cast(y_pred, self.dtype), cast(y_true, self.dtype))
        return super().update_state(squared_difference(y_pred, y_true), sample_weight)

    def result(self) -> Any:
        return sqrt(super().result())


_FUNCTIONS = (
    *(cosine_similarity, binary_accuracy, categorical_accuracy, sparse_categorical_accuracy),
    *(top_k_categorical_accuracy, sparse_top_k_categorical_accuracy),
)
_BY_NAME: dict[str, Any] = {**losses.BY_NAME, **{f.__name__: f for f in _FUNCTIONS}}
_CLASSES = {k: v for k, v in globals().items() if isinstance(v, type) and issubclass(v, Metric)}


def get(identifier: Any) -> Any:
    """The metric of a name or config; functions and objects stay."""
    if isinstance(identifier, str):
        found = lookup("metric function", identifier, {**_BY_NAME, **_CLASSES})
        return found() if isinstance(found, type) else found
    if isinstance(identifier, dict):
        from dataflow.layers.serialization import deserialize as make

        return make("metric function", identifier, _CLASSES)
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier!r}")


def serialize(metric: Any) -> Any:
    """The name of a function, or of an object that has one; the class and config of a metric."""
    if hasattr(metric, "get_config") or not hasattr(metric, "__name__"):
        return write(metric)
    return metric.__name__


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric of a name or config, among ``custom_objects`` first.

    Raises `ValueError` for a name that no metric has.
    """
    if isinstance(config, str) and config in (custom_objects or {}):
        return custom_objects[config]
    with custom_object_scope(custom_objects or {}):
        return get(config)


def of_name(name: str, loss: Any, y_pred: Any) -> Any:
    """The function that "accuracy" or "crossentropy" stands for, given the loss and the output."""
    kind: str = getattr(loss, "__name__", "") or getattr(loss, "name", "")
    one_column = y_pred.shape.ndims is not None and dimension_value(y_pred.shape[-1]) == 1
    if "sparse" in kind:
        which = "sparse_categorical"
    elif one_column or kind == "binary_crossentropy":
        which = "binary"
    else:
        which = "categorical"
    return _BY_NAME[which + ("_accuracy" if name in ("acc", "accuracy") else "_crossentropy")]
