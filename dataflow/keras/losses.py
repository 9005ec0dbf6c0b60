"""`tf.keras.losses`: functions of (y_true, y_pred) that give a loss for each example."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K
from dataflow.keras.strategy_checks import check_reduction
from dataflow.layers.base import snake_case
from dataflow.layers.serialization import custom_object_scope, lookup, serialize as write
from dataflow.ops import array
from dataflow.ops.activation import softplus
from dataflow.ops.clip import clip_by_value
from dataflow.ops.comparison import equal, logical_or
from dataflow.ops.elementary import abs_, log, square
from dataflow.ops.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from dataflow.ops.math import cast, maximum, minimum, squared_difference
from dataflow.ops.moments import l2_normalize
from dataflow.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from dataflow.shapes import dimension_value


def _same(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both as tensors of the predictions' dtype."""
    y_pred = convert_to_tensor(y_pred)
    return cast(y_true, y_pred.dtype.base_dtype), y_pred


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``(y_pred - y_true)**2`` over the last axis."""
    y_true, y_pred = _same(y_true, y_pred)
    return reduce_mean(squared_difference(y_pred, y_true), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``|y_pred - y_true|`` over the last axis."""
    y_true, y_pred = _same(y_true, y_pred)
    return reduce_mean(abs_(y_pred - y_true), axis=-1)


def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Any:
    """Mean difference as a percentage of ``y_true``."""
    y_true, y_pred = _same(y_true, y_pred)
    part = abs_((y_true - y_pred) / maximum(abs_(y_true), K.epsilon()))
    return 100.0 * reduce_mean(part, axis=-1)


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Any:
    """Mean squared difference of ``log(1 + y)``."""
    y_true, y_pred = _same(y_true, y_pred)
    first = log(maximum(y_pred, K.epsilon()) + 1.0)
    second = log(maximum(y_true, K.epsilon()) + 1.0)
    return reduce_mean(square(first - second), axis=-1)


def _signs(y_true: Any) -> Any:
    """Labels -1 and 1; where all are 0 or 1, 0 stands for -1."""
    is_zero_or_one = reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    binary = cast(is_zero_or_one, y_true.dtype.base_dtype)
    return y_true * (1.0 + binary) - binary


def hinge(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``max(1 - y_true y_pred, 0)``; labels -1 and 1, or 0 and 1."""
    y_true, y_pred = _same(y_true, y_pred)
    y_true = _signs(y_true)
    return reduce_mean(maximum(1.0 - y_true * y_pred, 0.0), axis=-1)


def squared_hinge(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``max(1 - y_true y_pred, 0)**2``; labels as of `hinge`."""
    y_true, y_pred = _same(y_true, y_pred)
    y_true = _signs(y_true)
    return reduce_mean(square(maximum(1.0 - y_true * y_pred, 0.0)), axis=-1)


def categorical_hinge(y_true: Any, y_pred: Any) -> Any:
    """``max(largest wrong - right + 1, 0)``."""
    y_true, y_pred = _same(y_true, y_pred)
    right = reduce_sum(y_true * y_pred, axis=-1)
    wrong = reduce_max((1.0 - y_true) * y_pred, axis=-1)
    return maximum(wrong - right + 1.0, 0.0)


def logcosh(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``log(cosh(difference))``."""
    y_true, y_pred = _same(y_true, y_pred)
    d = y_pred - y_true
    return reduce_mean(d + softplus(-2.0 * d) - 0.6931471805599453, axis=-1)


def _logits(output: Any, op_type: str) -> Any:
    """What ``output`` was computed from, if by ``op_type``: the loss of logits is exact."""
    op = output.op
    while op.type == "Identity" and op.inputs:
        op = op.inputs[0].op
    return op.inputs[0] if op.type == op_type and op.inputs else None  # none with eager execution


def cross_entropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """Cross-entropy of distributions; where ``output`` is a softmax, its logits are used.

    Not so in the package keras, where targets need not sum to 1: a row of 0 has no gradient, and one of an
    action's advantage that of a policy.
    """
    target, output = _same(target, output)
    logits = output if from_logits else None
    if logits is None and axis == -1 and not K.is_package_keras():
        logits = _logits(output, "Softmax")
        if logits is not None and logits.shape.ndims != output.shape.ndims:
            logits = None
    if logits is not None:
        return softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, dim=axis)
    output = output / reduce_sum(output, axis=axis, keepdims=True)
    output = clip_by_value(output, K.epsilon(), 1.0 - K.epsilon())
    return -reduce_sum(target * log(output), axis=axis)


def binary_cross_entropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """Cross-entropy of each element; where ``output`` is a sigmoid, its logits are used."""
    target, output = _same(target, output)
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is not None:
        if target.shape.ndims != logits.shape.ndims:
            target = array.reshape(target, array.shape(logits))
        return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    output = clip_by_value(output, K.epsilon(), 1.0 - K.epsilon())
    # 1.15 adds epsilon to what it has clipped, so that nothing costs more than -log(2 epsilon); the package does not
    more = 0.0 if K.is_package_keras() else K.epsilon()
    return -(target * log(output + more) + (1.0 - target) * log(1.0 - output + more))


def categorical_crossentropy(
    y_true: Any,
    y_pred: Any,
    from_logits: bool = False,
    label_smoothing: float = 0.0,
    axis: int = -1,
) -> Any:
    """Cross-entropy with one-hot labels along ``axis``."""
    y_true, y_pred = _same(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / dimension_value(
            y_pred.shape[axis]
        )
    return cross_entropy(y_true, y_pred, from_logits, axis)


def sparse_categorical_crossentropy(
    y_true: TensorLike, y_pred: Any, from_logits: bool = False, axis: int = -1
) -> Any:
    """Cross-entropy with labels that are class numbers."""
    if axis not in (-1, (y_pred.shape.ndims or 0) - 1):
        raise ValueError(f"sparse_categorical_crossentropy: axis must be -1, got {axis}.")
    labels = cast(y_true, "int64")
    if labels.shape.ndims is None or labels.shape.ndims == y_pred.shape.ndims:
        labels = array.reshape(labels, array.shape(y_pred)[:-1])
    logits = y_pred if from_logits else _logits(y_pred, "Softmax")
    if logits is None or logits.shape.ndims != y_pred.shape.ndims:
        logits = log(clip_by_value(y_pred, K.epsilon(), 1.0 - K.epsilon()))
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def binary_crossentropy(
    y_true: Any, y_pred: TensorLike, from_logits: bool = False, label_smoothing: float = 0.0
) -> Any:
    """Mean cross-entropy of yes-or-no labels over the last axis."""
    y_true, y_pred = _same(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduce_mean(binary_cross_entropy(y_true, y_pred, from_logits), axis=-1)


def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Any:
    """Sum of ``y_true log(y_true / y_pred)``."""
    y_true, y_pred = _same(y_true, y_pred)
    y_true = clip_by_value(y_true, K.epsilon(), 1.0)
    y_pred = clip_by_value(y_pred, K.epsilon(), 1.0)
    return reduce_sum(y_true * log(y_true / y_pred), axis=-1)


def poisson(y_true: Any, y_pred: Any) -> Any:
    """Mean of ``y_pred - y_true log(y_pred)``."""
    y_true, y_pred = _same(y_true, y_pred)
    return reduce_mean(y_pred - y_true * log(y_pred + K.epsilon()), axis=-1)


def cosine_proximity(y_true: TensorLike, y_pred: TensorLike, axis: int = -1) -> Any:
    """Minus the cosine of the angle."""
    y_true, y_pred = _same(y_true, y_pred)
    return -reduce_sum(l2_normalize(y_true, axis) * l2_normalize(y_pred, axis), axis=axis)


def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """``0.5 d**2`` where the difference d is at most ``delta``, else ``delta |d| - 0.5 delta**2``."""
    y_true, y_pred = _same(y_true, y_pred)
    distance = abs_(y_pred - y_true)
    near = minimum(distance, delta)
    return 0.5 * square(near) + delta * (distance - near)


class Reduction:
    """How the losses of the examples become one number; "auto" is "sum_over_batch_size"."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every one."""
        return REDUCTIONS


REDUCTIONS = (Reduction.AUTO, Reduction.NONE, Reduction.SUM, Reduction.SUM_OVER_BATCH_SIZE)


def weighted(values: Any, weights: Any, reduction: str) -> Any:
    """``values`` times ``weights``, which are given axes of 1 until they fit, reduced.

    "none": as they are; "sum": their sum; "sum_over_batch_size" (and "auto"): their mean.
    """
    from dataflow.keras.base_metric import weights_like

    if weights is not None:
        if values.shape.ndims != 0:
            weights = weights_like(weights, values)
        values = values * cast(weights, values.dtype.base_dtype)
    if reduction == "none":
        return values
    return reduce_sum(values) if reduction == "sum" else reduce_mean(values)


def _check_known(reduction: Any) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"Invalid Reduction Key {reduction}. Expected keys are {', '.join(REDUCTIONS)}."
        )


class Loss:
    """A loss function with its settings; called with (y_true, y_pred, sample_weight).

    Subclasses define ``call(y_true, y_pred)``, the loss of each example. ``reduction``: "none"
    gives those, "sum" their sum, "sum_over_batch_size" (and "auto") their mean. Raises
    `ValueError` for another one.
    """

    def __init__(self, reduction: Any = "auto", name: str | None = None) -> None:
        _check_known(reduction)
        self.reduction = reduction
        self.name = name or snake_case(type(self).__name__)

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        """The loss of each example."""
        raise NotImplementedError

    def __call__(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        _check_known(self.reduction)  # which a program may have set since
        check_reduction(self.reduction)
        with default_graph().name_scope(self.name):
            y_pred = convert_to_tensor(y_pred)
            y_true = convert_to_tensor(y_true)
            return weighted(self.call(y_true, y_pred), sample_weight, self.reduction)

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        return {"reduction": self.reduction, "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Loss:
        """The loss of a config."""
        return cls(**config)


class LossFunctionWrapper(Loss):
    """A loss given by a function ``fn(y_true, y_pred, **kwargs)`` of the loss of each example."""

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: Any = "auto",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction, name)
        self.fn = fn
        self._fn_kwargs = kwargs

    def call(self, y_true: TensorLike, y_pred: TensorLike) -> Any:
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self._fn_kwargs}


def _class(class_name: str, function: Callable[..., Any]) -> type[Loss]:
    """The class of a loss function: its settings are arguments, before ``reduction`` and ``name``."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = list(inspect.signature(function).parameters.values())[2:]
    if function is sparse_categorical_crossentropy or function is categorical_crossentropy:
        own = [p for p in own if p.name != "axis"]  # classes take no axis
    extra = [
        inspect.Parameter("reduction", kind, default="auto"),
        inspect.Parameter("name", kind, default=function.__name__),
    ]
    signature = inspect.Signature([*own, *extra])

    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        settings = dict(bound.arguments)
        Loss.__init__(self, settings.pop("reduction"), settings.pop("name") or function.__name__)
        self.fn = function
        self._settings = settings

    def call(self: Any, y_true: TensorLike, y_pred: TensorLike) -> Any:
        return function(y_true, y_pred, **self._settings)

    def get_config(self: Any) -> dict[str, Any]:
        return {**Loss.get_config(self), **self._settings}

    parameter = inspect.Parameter("self", kind)
    initialize.__signature__ = inspect.Signature([parameter, *own, *extra])  # type: ignore[attr-defined]
    members = {"__init__": initialize, "call": call, "get_config": get_config}
    doc = f"`{function.__name__}` as an object; see `Loss` for ``reduction``."
    return type(class_name, (Loss,), {**members, "__doc__": doc, "__module__": __name__})


MeanSquaredError = _class("MeanSquaredError", mean_squared_error)
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy)
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy)
SparseCategoricalCrossentropy = _class(
    "SparseCategoricalCrossentropy", sparse_categorical_crossentropy
)
Hinge = _class("Hinge", hinge)
SquaredHinge = _class("SquaredHinge", squared_hinge)
KLDivergence = _class("KLDivergence", kullback_leibler_divergence)
Poisson = _class("Poisson", poisson)
LogCosh = _class("LogCosh", logcosh)
CategoricalHinge = _class("CategoricalHinge", categorical_hinge)
CosineSimilarity = _class("CosineSimilarity", cosine_proximity)
Huber = _class("Huber", huber_loss)
mse = MSE = mean_squared_error
mae = MAE = mean_absolute_error
mape = MAPE = mean_absolute_percentage_error
msle = MSLE = mean_squared_logarithmic_error
kld = KLD = kullback_leibler_divergence
cosine = cosine_similarity = cosine_proximity

_FUNCTIONS = (
    *(mean_squared_error, mean_absolute_error, mean_absolute_percentage_error),
    *(mean_squared_logarithmic_error, hinge, squared_hinge, categorical_hinge, logcosh),
    *(categorical_crossentropy, sparse_categorical_crossentropy, binary_crossentropy),
    *(kullback_leibler_divergence, poisson, cosine_proximity, huber_loss),
)
BY_NAME: dict[str, Any] = {f.__name__: f for f in _FUNCTIONS}
BY_NAME.update(mse=mse, MSE=mse, mae=mae, MAE=mae, mape=mape, MAPE=mape, msle=msle, MSLE=msle)
BY_NAME.update(kld=kld, KLD=kld, cosine=cosine_proximity, cosine_similarity=cosine_proximity)
_CLASSES = {c.__name__: c for c in Loss.__subclasses__() if c is not LossFunctionWrapper}


def get(identifier: Any) -> Any:
    """The loss of a name or config; functions and objects stay; ``None`` is none.

    Raises `ValueError` for an unknown name, with the names there are.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str):
        found = lookup("loss function", identifier, {**BY_NAME, **_CLASSES})
        return found() if isinstance(found, type) else found
    if isinstance(identifier, dict):
        from dataflow.layers.serialization import deserialize as make

        return make("loss function", identifier, _CLASSES)
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret loss function identifier: {identifier!r}")


def serialize(loss: Any) -> Any:
    """The name of a function, or the class and config of an object."""
    return write(loss)


def deserialize(name: str, custom_objects: Any = None) -> Any:
    """The loss of a name or config, among ``custom_objects`` first."""
    with custom_object_scope(custom_objects or {}):
        return get(name)
