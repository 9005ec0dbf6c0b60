"""The canned estimators of `tf.contrib.learn`: losses are means, predictions are plain.

`predict` gives classes (or numbers), `predict_proba` probabilities; those of `tf.estimator` sum
losses and give dicts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataflow import losses
from dataflow.contrib.feature_column_sums import weighted_sum_from_feature_columns
from dataflow.contrib.feature_columns import UNNAMED, input_from_feature_columns
from dataflow.contrib.layers import fully_connected
from dataflow.contrib.learn.estimator import Estimator
from dataflow.estimator import canned
from dataflow.estimator.class_heads import CannedBinaryHead, MultiClassHead
from dataflow.estimator.heads import Head
from dataflow.estimator.regression_heads import RegressionHead
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.activation import relu
from dataflow.ops.clip import clip_by_global_norm
from dataflow.ops.variable_scope import get_variable_scope

_MEAN = losses.Reduction.SUM_OVER_BATCH_SIZE


def _columns(features: Any, columns: Any) -> Any:
    return input_from_feature_columns(features, columns, scope=get_variable_scope())


def _layer(net: Tensor, width: int, activation: Any, name: str) -> Any:
    return fully_connected(net, width, activation, scope=name)


def _sums(features: Any, columns: Any, units: int, sparse_combiner: str) -> Tensor:
    return weighted_sum_from_feature_columns(features, columns, units, scope=get_variable_scope())[
        0
    ]


#: The variables are ``hiddenlayer_0/weights`` and ``/biases``, ``linear/age/weight``, ...
_BUILDING = canned.Building(_columns, _layer, _sums)


class _Canned(Estimator):
    """A function of `dataflow.estimator.canned` with a head, as an `Estimator`."""

    #: What `predict` takes out of the head's predictions.
    _plain = "predictions"

    def __init__(
        self,
        function: Callable[..., Any],
        head: Head,
        arguments: Any,
        model_dir: str,
        config: Any,
        engineer: Any,
    ) -> None:
        def model_fn(features: Any, labels: TensorLike, mode: str, config: Any) -> Any:
            if not isinstance(features, dict):
                features = {UNNAMED: features}
            build = functools.partial(function, building=_BUILDING)
            return build(features, labels, mode, head, *arguments, config)

        super().__init__(model_fn, model_dir, config, feature_engineering_fn=engineer)

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Classes, or numbers: an iterator, or an array; dicts where ``outputs`` names some."""
        if outputs is not None:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)
        return self._plainly(self._plain, x, input_fn, batch_size, as_iterable)

    def _plainly(self, key: str, x: Any, input_fn: Any, batch_size: Any, as_iterable: bool) -> Any:
        if not as_iterable:
            found = Estimator.predict(self, x, input_fn, batch_size, [key], as_iterable=False)[key]
            return found[:, 0] if found.shape[1:] == (1,) else found
        rows = Estimator.predict(self, x, input_fn, batch_size, [key])

        def values() -> Iterator[Any]:
            for row in rows:
                value = row[key]  # a text is no array
                yield value[0] if getattr(value, "shape", ()) == (1,) else value

        return values()


#: Metrics by the names that they had: those of `tf.estimator` are others.
_NAMES = {
    "accuracy_baseline": "accuracy/baseline_label_mean",
    "prediction/mean": "labels/prediction_mean",
    "label/mean": "labels/actual_label_mean",
    "precision": "precision/positive_threshold_0.500000_mean",
    "recall": "recall/positive_threshold_0.500000_mean",
}


class _Classifier(_Canned):
    """Classes are numbers, or texts where the constructor was given ``label_keys``."""

    _plain = "classes"

    def __init__(
        self, n_classes: int, weights: TensorLike, label_keys: Any, *arguments: Any
    ) -> None:
        function, *others = arguments
        key = "classes" if label_keys else "class_ids"

        def with_classes(*inputs: Any, **building: Any) -> Any:
            # `tf.estimator` has texts in "classes", [batch, 1]; here they are what labels are, [batch].
            spec = function(*inputs, **building)
            classes = spec.predictions[key][:, 0]
            return spec._replace(predictions={**spec.predictions, "classes": classes})

        super().__init__(with_classes, _class_head(n_classes, weights, label_keys), *others)

    def _renamed(self, metrics: dict[str, Any]) -> dict[str, Any]:
        found = {_NAMES.get(name, name): value for name, value in metrics.items()}
        found.pop("average_loss", None)  # the loss is the mean
        if "auc" in found:
            found["accuracy/threshold_0.500000_mean"] = found["accuracy"]
        return found

    def predict_classes(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The class of each example."""
        return self._plainly(self._plain, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The probabilities of the classes for each example."""
        return self._plainly("probabilities", x, input_fn, batch_size, as_iterable)


class _Regressor(_Canned):
    def _renamed(self, metrics: dict[str, Any]) -> dict[str, Any]:
        own = ("average_loss", "prediction/mean", "label/mean")
        return {name: value for name, value in metrics.items() if name not in own}

    def predict_scores(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The number of each example."""
        return self._plainly("predictions", x, input_fn, batch_size, as_iterable)


def _class_head(n_classes: int, weights: TensorLike, label_keys: Any) -> Head:
    if n_classes == 2:
        return CannedBinaryHead(weights, None, label_keys, _MEAN)
    return MultiClassHead(n_classes, weights, label_keys, _MEAN)


def _clipped(optimizer: Any, rate: float, name: str, clip_norm: float | None) -> Any:
    """The optimizer, ``name`` with ``rate`` without one; its gradients' norm held below ``clip_norm``."""

    def make() -> Any:
        made = canned.optimizer_instance(optimizer or name, rate)
        if not clip_norm:
            return made
        apply = made.apply_gradients

        def apply_gradients(grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = [(g, v) for g, v in grads_and_vars if g is not None]
            grads, _ = clip_by_global_norm([g for g, _ in pairs], clip_norm)
            return apply(list(zip(grads, [v for _, v in pairs], strict=True)), *args, **kwargs)

        made.apply_gradients = apply_gradients  # type: ignore[method-assign]
        return made

    return make  # a fresh one for every graph


def _deep(
    hidden_units: Any, columns: Any, optimizer: Any, activation_fn: Any, dropout: Any, clip: Any
) -> Any:
    chosen = _clipped(optimizer, 0.05, "Adagrad", clip)
    return [hidden_units, list(columns), chosen, activation_fn, dropout, False, None]


class DNNClassifier(_Classifier):
    """A deep network for classes."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: Any = None,
        optimizer: Any = None,
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
        label_keys: Any = None,
    ) -> None:
        super().__init__(
            n_classes,
            weight_column_name,
            label_keys,
            canned.dnn_model_fn,
            _deep(
                hidden_units, feature_columns, optimizer, activation_fn, dropout, gradient_clip_norm
            ),
            model_dir,
            config,
            feature_engineering_fn,
        )


class DNNRegressor(_Regressor):
    """A deep network for numbers."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        weight_column_name: Any = None,
        optimizer: Any = None,
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
    ) -> None:
        super().__init__(
            canned.dnn_model_fn,
            RegressionHead(label_dimension, weight_column_name, _MEAN),
            _deep(
                hidden_units, feature_columns, optimizer, activation_fn, dropout, gradient_clip_norm
            ),
            model_dir,
            config,
            feature_engineering_fn,
        )


def _linear(columns: Any, optimizer: Any, clip: float | None) -> Any:
    columns = list(columns)
    rate = min(0.2, 1.0 / max(len(columns), 1) ** 0.5)
    return [columns, _clipped(optimizer, rate, "Ftrl", clip), None, "sum"]


class LinearClassifier(_Classifier):
    """Logistic (softmax) regression."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: Any = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        label_keys: Any = None,
    ) -> None:
        super().__init__(
            n_classes,
            weight_column_name,
            label_keys,
            canned.linear_model_fn,
            _linear(feature_columns, optimizer, gradient_clip_norm),
            model_dir,
            config,
            feature_engineering_fn,
        )


class LinearRegressor(_Regressor):
    """Linear regression."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        weight_column_name: Any = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        super().__init__(
            canned.linear_model_fn,
            RegressionHead(label_dimension, weight_column_name, _MEAN),
            _linear(feature_columns, optimizer, gradient_clip_norm),
            model_dir,
            config,
            feature_engineering_fn,
        )


def _both(
    linear_columns: Any,
    linear_optimizer: Any,
    dnn_columns: Any,
    dnn_optimizer: Any,
    hidden_units: Any,
    activation_fn: Callable[..., Any],
    dropout: Any,
    clip: float | None,
) -> Any:
    columns, wide, _, combiner = _linear(linear_columns or (), linear_optimizer, clip)
    units, *deep = _deep(
        hidden_units, dnn_columns or (), dnn_optimizer, activation_fn, dropout, clip
    )
    dnn, chosen, *rest = deep
    return [columns, wide, combiner, dnn, chosen, units, *rest]


class DNNLinearCombinedClassifier(_Classifier):
    """Wide and deep, for classes."""

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
        label_keys: Any = None,
        fix_global_step_increment_bug: bool = False,  # there is none here
    ) -> None:
        super().__init__(
            n_classes,
            weight_column_name,
            label_keys,
            canned.combined_model_fn,
            _both(
                linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
                dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm,
            ),
            model_dir,
            config,
            feature_engineering_fn,
        )  # fmt: skip


class DNNLinearCombinedRegressor(_Regressor):
    """Wide and deep, for numbers."""

    def __init__(
        self,
        model_dir: Any = None,
        weight_column_name: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
        fix_global_step_increment_bug: bool = False,  # there is none here
    ) -> None:
        super().__init__(
            canned.combined_model_fn,
            RegressionHead(label_dimension, weight_column_name, _MEAN),
            _both(
                linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
                dnn_hidden_units, dnn_activation_fn, dnn_dropout, gradient_clip_norm,
            ),
            model_dir,
            config,
            feature_engineering_fn,
        )  # fmt: skip
