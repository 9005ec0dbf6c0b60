"""The canned estimators of `tf.contrib.learn`: losses are means, predictions are plain.

`predict` gives classes (or numbers), `predict_proba` probabilities; those of `tf.estimator` sum
losses and give dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataflow.contrib.learn import canned_models
from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.heads import Head, multi_class_head, regression_head
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.contrib.linear_optimizer import SDCAOptimizer
from dataflow.ops.activation import relu


class CannedEstimator(Estimator):
    """Parameters by name, and predictions by what they are."""

    _model_fn: Callable[..., Any]
    #: What `predict` gives without ``outputs``.
    _plain: str

    def __init__(
        self, model_dir: Any, config: Any, feature_engineering_fn: Any, params: dict[str, Any]
    ) -> None:
        super().__init__(type(self)._model_fn, model_dir, config, params, feature_engineering_fn)

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
        if outputs:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)
        return self._plainly(self._plain, x, input_fn, batch_size, as_iterable)

    def _plainly(self, key: str, x: Any, input_fn: Any, batch_size: Any, as_iterable: bool) -> Any:
        found = Estimator.predict(self, x, input_fn, batch_size, [key], as_iterable)
        if not as_iterable:
            return found[key]

        def values() -> Iterator[Any]:
            for row in found:
                yield row[key]

        return values()


class ClassesEstimator(CannedEstimator):
    """Classes are numbers, or texts where the constructor was given ``label_keys``."""

    _plain = PredictionKey.CLASSES

    def predict_classes(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The class of each example."""
        return self._plainly(PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The probabilities of the classes for each example."""
        return self._plainly(PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class NumbersEstimator(CannedEstimator):
    _plain = PredictionKey.SCORES

    def predict_scores(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The number of each example."""
        return self._plainly(PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)


def numbers_head(dimension: int, weights: Any, centered: bool) -> Head:
    return regression_head(
        label_dimension=dimension, weight_column_name=weights, enable_centered_bias=centered
    )


def classes_head(n_classes: int, weights: Any, centered: bool, label_keys: Any) -> Head:
    return multi_class_head(
        n_classes,
        weight_column_name=weights,
        enable_centered_bias=centered,
        label_keys=label_keys,
    )


class DNNClassifier(ClassesEstimator):
    """A deep network for classes."""

    _model_fn = staticmethod(canned_models.dnn_model_fn)

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
        head = classes_head(n_classes, weight_column_name, enable_centered_bias, label_keys)
        params = _deep(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)


class DNNRegressor(NumbersEstimator):
    """A deep network for numbers."""

    _model_fn = staticmethod(canned_models.dnn_model_fn)

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
        head = numbers_head(label_dimension, weight_column_name, enable_centered_bias)
        params = _deep(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)


class DNNEstimator(CannedEstimator):
    """A deep network with a head of one's own; `predict` gives dicts."""

    _model_fn = staticmethod(canned_models.dnn_model_fn)

    def __init__(
        self,
        head: Head,
        hidden_units: Any,
        feature_columns: Sequence[Any],
        model_dir: Any = None,
        optimizer: Any = None,
        activation_fn: Callable[..., Any] = relu,
        dropout: Any = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: Any = None,
    ) -> None:
        params = _deep(
            head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
            gradient_clip_norm, embedding_lr_multipliers, input_layer_min_slice_size,
        )  # fmt: skip
        super().__init__(model_dir, config, feature_engineering_fn, params)

    predict = Estimator.predict


def _deep(
    head: Head,
    hidden_units: Any,
    feature_columns: Any,
    optimizer: Any,
    activation_fn: Any,
    dropout: Any,
    clip: Any,
    multipliers: Any,
    slice_size: Any,
) -> dict[str, Any]:
    return {
        "head": head,
        "hidden_units": hidden_units,
        "feature_columns": tuple(feature_columns or ()),
        "optimizer": optimizer,
        "activation_fn": activation_fn,
        "dropout": dropout,
        "gradient_clip_norm": clip,
        "embedding_lr_multipliers": multipliers,
        "input_layer_min_slice_size": slice_size,
    }


class LinearClassifier(ClassesEstimator):
    """Logistic (softmax) regression."""

    _model_fn = staticmethod(canned_models.linear_model_fn)

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
        head = classes_head(n_classes, weight_column_name, enable_centered_bias, label_keys)
        params = _linear(head, feature_columns, optimizer, gradient_clip_norm, _joint_weight)
        _take_sdca(params, weight_column_name, enable_centered_bias)
        super().__init__(model_dir, config, feature_engineering_fn, params)


class LinearRegressor(NumbersEstimator):
    """Linear regression."""

    _model_fn = staticmethod(canned_models.linear_model_fn)

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
        head = numbers_head(label_dimension, weight_column_name, enable_centered_bias)
        params = _linear(head, feature_columns, optimizer, gradient_clip_norm, _joint_weights)
        _take_sdca(params, weight_column_name, enable_centered_bias)
        super().__init__(model_dir, config, feature_engineering_fn, params)


class LinearEstimator(CannedEstimator):
    """A linear model with a head of one's own; `predict` gives dicts."""

    _model_fn = staticmethod(canned_models.linear_model_fn)

    def __init__(
        self,
        feature_columns: Sequence[Any],
        head: Head,
        model_dir: Any = None,
        weight_column_name: Any = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if isinstance(optimizer, SDCAOptimizer):
            raise ValueError("LinearEstimator does not support SDCA: use LinearClassifier or SVM.")
        params = _linear(head, feature_columns, optimizer, gradient_clip_norm, _joint_weights)
        super().__init__(model_dir, config, feature_engineering_fn, params)

    predict = Estimator.predict


def _take_sdca(params: dict[str, Any], weights: str | None, centered: bool) -> None:
    """What an `SDCAOptimizer` needs more; `ValueError` for what it cannot train."""
    params["weight_column_name"] = weights
    if not isinstance(params["optimizer"], SDCAOptimizer):
        return
    if centered:
        raise ValueError("enable_centered_bias is not supported with SDCA")
    if params["joint_weights"]:
        raise ValueError("_joint_weight is incompatible with SDCAOptimizer")
    if params["head"].logits_dimension != 1:
        raise ValueError("SDCA only applies to binary classification, and to one number.")


def _linear(head: Head, columns: Any, optimizer: Any, clip: Any, joint: bool) -> dict[str, Any]:
    return {
        "head": head,
        "feature_columns": tuple(columns),
        "optimizer": optimizer,
        "gradient_clip_norm": clip,
        "joint_weights": joint,
    }
