"""Linear models of `tf.contrib.learn` that stochastic dual coordinate ascent trains: `SVM`, and two more."""

from __future__ import annotations

from typing import Any

from dataflow.contrib.learn.canned import ClassesEstimator, NumbersEstimator
from dataflow.contrib.learn.head_parts import Head
from dataflow.contrib.learn.heads import binary_svm_head, multi_class_head, regression_head
from dataflow.contrib.learn.sdca_models import sdca_model_fn
from dataflow.contrib.linear_optimizer import SDCAOptimizer


class SVM(ClassesEstimator):
    """A linear support vector machine for two classes; the features have an id for each example.

    The hinge loss, ``l1_regularization`` and ``l2_regularization`` of all examples together. Raises
    `ValueError` for ``kernels``.
    """

    _model_fn = staticmethod(sdca_model_fn)

    def __init__(
        self,
        example_id_column: str,
        feature_columns: Any,
        weight_column_name: str | None = None,
        model_dir: str | None = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        num_loss_partitions: int = 1,
        kernels: Any = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        if kernels is not None:
            raise ValueError("Kernel SVMs are not currently supported: an SVM here is linear.")
        optimizer = SDCAOptimizer(
            example_id_column,
            num_loss_partitions=num_loss_partitions,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
        )
        head = binary_svm_head(weight_column_name=weight_column_name)
        params = _params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(model_dir, config, feature_engineering_fn, params)


def _params(head: Head, columns: Any, optimizer: Any, weights: str | None) -> dict[str, Any]:
    return {
        "head": head,
        "feature_columns": tuple(columns),
        "optimizer": optimizer,
        "weight_column_name": weights,
    }


class SDCALogisticClassifier(ClassesEstimator):
    """Logistic regression by dual coordinate ascent."""

    _model_fn = staticmethod(sdca_model_fn)

    def __init__(
        self,
        example_id_column: str,
        feature_columns: Any,
        weight_column_name: str | None = None,
        model_dir: str | None = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        num_loss_partitions: int | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        partitioner: Any = None,
    ) -> None:
        optimizer = SDCAOptimizer(
            example_id_column,
            num_loss_partitions=num_loss_partitions or 1,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
            partitioner=partitioner,
        )
        head = multi_class_head(2, weight_column_name=weight_column_name)
        params = _params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(model_dir, config, feature_engineering_fn, params)


class SDCALinearRegressor(NumbersEstimator):
    """Linear regression by dual coordinate ascent."""

    _model_fn = staticmethod(sdca_model_fn)

    def __init__(
        self,
        example_id_column: str,
        feature_columns: Any,
        weight_column_name: str | None = None,
        model_dir: str | None = None,
        l1_regularization: float = 0.0,
        l2_regularization: float = 1.0,
        num_loss_partitions: int | None = None,
        config: Any = None,
        feature_engineering_fn: Any = None,
        partitioner: Any = None,
    ) -> None:
        optimizer = SDCAOptimizer(
            example_id_column,
            num_loss_partitions=num_loss_partitions or 1,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
            partitioner=partitioner,
        )
        head = regression_head(weight_column_name=weight_column_name)
        params = _params(head, feature_columns, optimizer, weight_column_name)
        super().__init__(model_dir, config, feature_engineering_fn, params)
