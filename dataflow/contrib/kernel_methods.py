"""``tf.contrib.kernel_methods``: linear models on random Fourier features, which approximate a kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.column_classes import RealValuedColumn
from dataflow.contrib.feature_columns import real_valued_column
from dataflow.contrib.learn.canned import LinearClassifier
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.logging import warning
from dataflow.losses import Reduction, compute_weighted_loss
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.math import add, cos, matmul, maximum, reduce_max, reduce_sum

__all__ = ["KernelLinearClassifier", "RandomFourierFeatureMapper", "sparse_multiclass_hinge_loss"]


class InvalidShapeError(Exception):
    """A mapper was given a tensor of the wrong shape."""


class DenseKernelMapper:
    """Base class of mappings from float32 [batch, input_dim] to [batch, output_dim]; subclasses define `map`."""

    name: str
    input_dim: int
    output_dim: int

    def map(self, input_tensor: Tensor) -> Tensor:
        """The features; subclasses define it."""
        raise NotImplementedError("map is not implemented for DenseKernelMapper.")


class RandomFourierFeatureMapper(DenseKernelMapper):
    """sqrt(2 / output_dim) cos(x W + b): products of two of these are near exp(-|x - y|^2 / (2 stddev^2)).

    W is normal with a standard deviation of 1 / ``stddev``, b uniform in [0, 2 pi); both are
    drawn from ``seed``. Rahimi and Recht, Random features for large-scale kernel machines, 2007.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        stddev: float = 1.0,
        seed: int = 1,
        name: str | None = None,
    ) -> None:
        self.input_dim = input_dim
        self.output_dim = output_dim
        self._stddev = stddev
        self._seed = seed
        self.name = name or str(id(self))

    def map(self, input_tensor: Tensor) -> Tensor:
        """float32 [batch, output_dim]; raises `InvalidShapeError` for what is not [batch, input_dim]."""
        dims = input_tensor.shape
        if dims.ndims != 2:
            raise InvalidShapeError(
                f"The shape of the tensor should be 2. Got {dims.ndims} instead."
            )
        if dims.as_list()[1] != self.input_dim:
            raise InvalidShapeError(
                f"Invalid dimension: expected {self.input_dim} input features, "
                f"got {dims.as_list()[1]} instead."
            )
        drawn = np.random.RandomState(self._seed)
        shape = [self.input_dim, self.output_dim]
        weights = drawn.normal(scale=1.0 / self._stddev, size=shape).astype(np.float32)
        shift = drawn.uniform(0.0, 2 * np.pi, self.output_dim).astype(np.float32)
        waves: Tensor = cos(add(matmul(input_tensor, weights), shift))
        scaled: Tensor = math.sqrt(2.0 / self.output_dim) * waves
        return scaled


def _mapped(column: Any) -> str:
    return f"{column.name}_MAPPED"


class KernelLinearClassifier(LinearClassifier):
    """Logistic regression of columns, and of what mappers make of real-valued ones.

    ``kernel_mappers``: lists of mappers by column, whose features go beside those of
    ``feature_columns``. Raises `ValueError` where there is neither, or a mapper is none.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any] | None = None,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: Any = None,
        optimizer: Any = None,
        kernel_mappers: dict[Any, list[Any]] | None = None,
        config: Any = None,
    ) -> None:
        if not feature_columns and not kernel_mappers:
            raise ValueError("You should set at least one of feature_columns, kernel_mappers.")
        mappers = dict(kernel_mappers or {})
        if not all(isinstance(m, DenseKernelMapper) for ms in mappers.values() for m in ms):
            raise ValueError("Invalid kernel mappers.")
        for column in [c for c in mappers if not isinstance(c, RealValuedColumn)]:
            warning(
                "Updates are currently supported on RealValuedColumns only. Metadata for "
                f"FeatureColumn {column.name} will not be updated."
            )
            del mappers[column]
        columns = list(feature_columns or [])
        for column, maps in mappers.items():
            columns.append(real_valued_column(_mapped(column), sum(m.output_dim for m in maps)))

        def engineer(features: Any, labels: Any) -> tuple[Any, Any]:
            made = {
                _mapped(column): array.concat([m.map(features[column.name]) for m in maps], 1)
                for column, maps in mappers.items()
            }
            return {**features, **made}, labels

        super().__init__(
            columns, model_dir, n_classes, weight_column_name, optimizer,
            config=config, feature_engineering_fn=engineer,
        )  # fmt: skip


def sparse_multiclass_hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """max(0, 1 + the highest other logit - the label's logit) of each example, weighted and reduced.

    ``labels``: int [batch] or [batch, 1]; ``logits``: float [batch, classes]. Raises `ValueError`
    for logits of another rank or without a fixed number of classes.
    """
    logits = convert_to_tensor(logits)
    labels = convert_to_tensor(labels)
    if logits.shape.ndims != 2 or logits.dims is None or logits.dims[1] is None:
        raise ValueError(
            f"logits must have rank 2 and a known number of classes, got shape {logits.shape}"
        )
    labels = array.reshape(labels, [-1])
    own = array.one_hot(labels, logits.dims[1], on_value=True, off_value=False, dtype=dtypes.bool_)
    zeros = array.zeros_like(logits)
    label_logits = reduce_sum(array.where(own, logits, zeros), 1)
    least = array.fill(array.shape(logits), convert_to_tensor(-np.inf, logits.dtype))
    others = reduce_max(array.where(own, least, logits), 1)
    losses = maximum(array.zeros_like(others), others - label_logits + 1.0)
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


__getattr__ = explain_absent(__name__)
