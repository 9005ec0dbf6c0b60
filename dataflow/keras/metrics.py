"""`tf.keras.metrics`: functions, averaged over examples, and objects that count in variables."""

from __future__ import annotations

from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.keras import backend as K, losses
from dataflow.keras.serialization import lookup
from dataflow.ops import array
from dataflow.ops.comparison import equal, greater
from dataflow.ops.control_flow import group
from dataflow.ops.elementary import round_, sqrt
from dataflow.ops.math import cast, div_no_nan
from dataflow.ops.reduce import argmax, reduce_mean, reduce_sum
from dataflow.ops.state import assign_add
from dataflow.ops.variables import Variable

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


def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Any:
    """How often ``y_pred > threshold`` equals ``y_true``, over the last axis."""
    guess = cast(greater(y_pred, threshold), y_pred.dtype.base_dtype)
    same = equal(cast(y_true, y_pred.dtype.base_dtype), guess)
    return reduce_mean(cast(same, K.floatx()), axis=-1)


def categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether the largest of each row is where the label's is."""
    return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), K.floatx())


def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether the largest of each row is at the label's number."""
    guess = argmax(y_pred, -1)
    labels = cast(y_true, "int64")
    if labels.shape.ndims is None or labels.shape.ndims == y_pred.shape.ndims:
        labels = array.reshape(labels, array.shape(guess))
    return cast(equal(labels, guess), K.floatx())


def accuracy(y_true: Any, y_pred: Any) -> Any:
    """Whether ``y_true`` equals ``y_pred`` rounded."""
    same = equal(cast(y_true, y_pred.dtype.base_dtype), round_(y_pred))
    return reduce_mean(cast(same, K.floatx()), axis=-1)


def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Whether the label is among the ``k`` largest."""
    return sparse_top_k_categorical_accuracy(argmax(y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Any:
    """Whether the label's number is among the ``k`` largest."""
    from dataflow.ops.sequences import in_top_k

    labels = array.reshape(cast(y_true, "int32"), [-1])
    return cast(in_top_k(y_pred, labels, k), K.floatx())


class Metric:
    """A value that is counted over batches, in variables.

    Subclasses define ``update_state(y_true, y_pred, sample_weight=None)``, which returns an op,
    and ``result()``, a tensor. Each call of `add_weight` makes a variable.
    """

    def __init__(self, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        self.name = name or K.unique_name(type(self).__name__.lower())
        self.dtype = dtype or K.floatx()
        self.weights: list[Any] = []

    def add_weight(
        self, name: str, shape: Any = (), initializer: Any = "zeros", dtype: Any = None
    ) -> Any:
        """A variable that starts (and is reset) at 0."""
        with default_graph().name_scope(self.name), default_graph().control_dependencies(None):
            variable = Variable(
                array.zeros(list(shape), dtype or self.dtype), trainable=False, name=name
            )
        self.weights.append(variable)
        return variable

    @property
    def variables(self) -> list[Any]:
        """The variables."""
        return self.weights

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """An op that counts a batch."""
        raise NotImplementedError

    def result(self) -> Any:
        """The value so far."""
        raise NotImplementedError

    def reset_states(self) -> None:
        """Sets all variables to 0, in Keras's session."""
        import numpy as np

        K.batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.weights])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value after counting this batch too."""
        update = self.update_state(*args, **kwargs)
        with default_graph().control_dependencies([update]):
            return array.identity(self.result())

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {"name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Metric:
        """The metric of a config."""
        return cls(**config)


class Sum(Metric):
    """The sum of all values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if sample_weight is not None:
            values = values * cast(sample_weight, self.dtype)
        return assign_add(self.total, reduce_sum(values)).op

    def result(self) -> Any:
        # A read of its own, so that it can be made to come after an update.
        return assign_add(self.total, 0.0)


class Mean(Metric):
    """The (weighted) mean of all values."""

    def __init__(self, name: str = "mean", dtype: Any = None) -> None:
        super().__init__(name, dtype)
        self.total = self.add_weight("total")
        self.count = self.add_weight("count")

    def update_state(self, values: Any, sample_weight: Any = None) -> Any:
        values = cast(convert_to_tensor(values), self.dtype)
        if sample_weight is None:
            count = cast(array.size(values), self.dtype)
        else:
            weights = cast(sample_weight, self.dtype) * array.ones_like(values)
            values, count = values * weights, reduce_sum(weights)
        return group(assign_add(self.total, reduce_sum(values)), assign_add(self.count, count))

    def result(self) -> Any:
        return div_no_nan(assign_add(self.total, 0.0), assign_add(self.count, 0.0))


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred)."""

    def __init__(self, fn: Any, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name or fn.__name__, dtype)
        self._fn = fn
        self._settings = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: Any, y_pred: Any, sample_weight: Any = None
    ) -> Any:
        return super().update_state(self._fn(y_true, y_pred, **self._settings), sample_weight)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, **self._settings}


def _class(name: str, function: Any) -> type[MeanMetricWrapper]:
    def initialize(self: Any, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
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


class RootMeanSquaredError(MeanMetricWrapper):
    """The square root of the mean squared error."""

    def __init__(self, name: str = "root_mean_squared_error", dtype: Any = None) -> None:
        super().__init__(mean_squared_error, name, dtype)

    def result(self) -> Any:
        return sqrt(super().result())


class _Ratio(Metric):
    def __init__(self, thresholds: float = 0.5, name: Any = None, dtype: Any = None) -> None:
        super().__init__(name or type(self).__name__.lower(), dtype)
        self.thresholds = 0.5 if thresholds is None else thresholds
        self.hits = self.add_weight("true_positives")
        self.total = self.add_weight("total")

    def _counted(self, actual: Any, guess: Any) -> Any:
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        guess = cast(greater(y_pred, self.thresholds), self.dtype)
        actual = array.reshape(cast(y_true, self.dtype), array.shape(guess))
        weights: Any = 1.0 if sample_weight is None else cast(sample_weight, self.dtype)
        if sample_weight is not None and guess.shape.ndims == 2:
            weights = array.expand_dims(weights, -1)
        hits = reduce_sum(actual * guess * weights)
        return group(
            assign_add(self.hits, hits),
            assign_add(self.total, reduce_sum(self._counted(actual, guess) * weights)),
        )

    def result(self) -> Any:
        return div_no_nan(assign_add(self.hits, 0.0), assign_add(self.total, 0.0))


class Precision(_Ratio):
    """How many of the positive guesses are right."""

    def _counted(self, actual: Any, guess: Any) -> Any:
        return guess


class Recall(_Ratio):
    """How many of the positives are found."""

    def _counted(self, actual: Any, guess: Any) -> Any:
        return actual


_FUNCTIONS = (
    *(binary_accuracy, categorical_accuracy, sparse_categorical_accuracy),
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
        from dataflow.keras.serialization import deserialize as make

        return make("metric function", identifier, _CLASSES)
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier!r}")


deserialize = get


def of_name(name: str, loss: Any, y_pred: Any) -> Any:
    """The function that "accuracy" or "crossentropy" stands for, given the loss and the output."""
    kind: str = getattr(loss, "__name__", "") or getattr(loss, "name", "")
    one_column = y_pred.shape.ndims is not None and y_pred.shape[-1].value == 1
    if "sparse" in kind:
        which = "sparse_categorical"
    elif one_column or kind == "binary_crossentropy":
        which = "binary"
    else:
        which = "categorical"
    return _BY_NAME[which + ("_accuracy" if name in ("acc", "accuracy") else "_crossentropy")]
