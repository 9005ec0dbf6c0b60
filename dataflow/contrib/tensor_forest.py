"""``tf.contrib.tensor_forest``: random forests for classification, trained batch by batch."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib import forest_growth as growth
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.math import negative
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.script_ops import py_func
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variables import Variable

__all__ = ["ForestHParams", "RandomForestGraphs"]

_DEFAULTS: dict[str, Any] = {
    "num_trees": 100,
    "max_nodes": 10000,
    "bagging_fraction": 1.0,
    "num_splits_to_consider": 0,
    "feature_bagging_fraction": 1.0,
    "max_fertile_nodes": 0,
    "split_after_samples": 250,
    "valid_leaf_threshold": 1,
    "dominate_method": "bootstrap",
    "dominate_fraction": 0.99,
    "model_name": "all_dense",
    "split_finish_name": "basic",
    "split_pruning_name": "none",
    "collate_examples": False,
    "checkpoint_stats": False,
    "use_running_stats_method": False,
    "initialize_average_splits": False,
    "inference_tree_paths": False,
    "param_file": None,
    "split_name": "less_or_equal",
    "early_finish_check_every_samples": 0,
    "prune_every_samples": 0,
    "regression": False,
    "base_random_seed": 0,
}
#: What is not supported, and the one value that may be given.
_FIXED = {
    "regression": False,
    "split_finish_name": "basic",
    "split_pruning_name": "none",
    "inference_tree_paths": False,
    "param_file": None,
    "split_name": "less_or_equal",
}


class ForestHParams:
    """The settings of a forest, as attributes; `fill` completes them.

    ``num_classes`` and ``num_features`` are required. ``num_trees`` trees of ``max_nodes`` nodes; a leaf is split
    after ``split_after_samples`` examples by the best of ``num_splits_to_consider`` splits. Each batch a tree
    takes ``bagging_fraction`` of the rows; it asks for ``feature_bagging_fraction`` of the features. With
    ``base_random_seed`` forests repeat. TensorFlow's other settings are accepted and ignored.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        vars(self).update({**_DEFAULTS, **dict(zip(_DEFAULTS, args, strict=False)), **kwargs})

    def values(self) -> dict[str, Any]:
        """All settings, by name."""
        return vars(self)

    def fill(self) -> ForestHParams:
        """Sets the values that follow from the others, and returns ``self``.

        Raises `AttributeError` without ``num_classes`` or ``num_features``, `ValueError` for what is not supported:
        regression, other ways to finish and prune splits.
        """
        for name, value in _FIXED.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"ForestHParams: {name}={getattr(self, name)!r} is not supported, only {value!r} "
                    "is. For regression use tf.estimator.BoostedTreesRegressor."
                )
        self.num_outputs = 1
        self.num_output_columns = self.num_classes + 1
        self.bagged_num_features = int(self.feature_bagging_fraction * self.num_features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            self.bagged_features = [
                random.sample(range(self.num_features), self.bagged_num_features)
                for _ in range(self.num_trees)
            ]
        fitting: int = min(max(10, math.isqrt(self.num_features)), 1000)
        vars(self)["num_splits_to_consider"] = self.num_splits_to_consider or fitting
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"ForestHParams has no {name!r}; give it as an argument.")


class RandomForestGraphs:
    """A forest in the default graph; the statistics that its leaves split by are kept outside the graph."""

    def __init__(
        self,
        params: ForestHParams,
        device_assigner: Any = None,
        variables: Any = None,
        training: bool = True,
    ) -> None:
        if variables is not None:
            raise ValueError("RandomForestGraphs makes its own variables: leave `variables` out.")
        self.params = params
        shape = (params.num_trees, params.max_nodes)
        parts = growth.Tree(
            np.full(shape, growth.LEAF, np.int32),
            np.zeros(shape, np.float32),
            np.zeros(shape, np.int32),
            np.zeros((*shape, params.num_classes), np.float32),
        )
        with name_scope("tensor_forest"):
            self._parts = [
                Variable(value, trainable=False, name=name)
                for name, value in parts._asdict().items()
            ]
            self._sizes = Variable(np.ones(shape[0], np.int32), trainable=False, name="sizes")
        self._growers = [self._grower(number) for number in range(params.num_trees)]

    def _grower(self, number: int) -> growth.Grower:
        params, seed = self.params, self.params.base_random_seed
        features = np.arange(params.num_features)
        if params.bagged_features is not None:
            features = np.array(params.bagged_features[number])
        return growth.Grower(
            params.num_splits_to_consider,
            int(params.split_after_samples),
            features,
            np.random.RandomState(seed + number if seed else None),
        )

    def training_graph(
        self,
        input_data: TensorLike,
        input_labels: TensorLike,
        num_trainers: int = 1,
        trainer_id: int = 0,
        input_weights: Any = None,
        **tree_kwargs: Any,
    ) -> Any:
        """An operation that trains on a batch: features [n, num_features], classes [n] and weights [n]."""
        x, y = _dense(input_data), cast(convert_to_tensor(input_labels), dtypes.int32)
        weights = array.ones([1]) if input_weights is None else input_weights
        kept = [*self._parts, self._sizes]
        types = [v.dtype.base_dtype for v in kept]
        made = py_func(self._grow, [*kept, x, y, cast(weights, dtypes.float32)], types)
        updates = []
        for variable, value in zip(kept, made, strict=True):
            value.set_shape(variable.shape)
            updates.append(variable.assign(value))
        return group(*updates, name="train")

    def _grow(self, *values: Any) -> list[Any]:
        *parts, sizes, x, y, weights = values
        parts, sizes = [part.copy() for part in parts], sizes.copy()
        y = y.reshape(-1)
        weights = np.broadcast_to(weights.reshape(-1), y.shape)
        fraction = self.params.bagging_fraction
        for number, grower in enumerate(self._growers):
            tree = growth.Tree(*(part[number] for part in parts))
            rows = np.arange(len(y))
            if fraction < 1.0:
                rows = np.flatnonzero(grower.random.rand(len(y)) < fraction)
            sizes[number] = grower.grow(tree, int(sizes[number]), x[rows], y[rows], weights[rows])
        return [*parts, sizes]

    def inference_graph(
        self, input_data: TensorLike, **inference_args: Any
    ) -> tuple[Any, Any, Any]:
        """(probabilities of classes, float32 [n, num_classes]; None; None)."""

        def shares(*values: Any) -> Any:
            *parts, x = values
            return growth.shares(growth.Tree(*parts), x)

        result = py_func(shares, [*self._parts, _dense(input_data)], dtypes.float32, stateful=False)
        result.set_shape([None, self.params.num_classes])
        return result, None, None

    def average_size(self) -> Tensor:
        """The average number of nodes in a tree."""
        size: Tensor = reduce_mean(cast(self._sizes, dtypes.float32))
        return size

    def training_loss(self, features: Any, labels: Any, name: str = "training_loss") -> Tensor:
        """Minus the average size: a forest grows, and minimizes no loss."""
        loss: Tensor = negative(self.average_size(), name=name)
        return loss

    def validation_loss(self, features: Any, labels: Any) -> Tensor:
        """As `training_loss`."""
        return self.training_loss(features, labels, name="validation_loss")

    def feature_importances(self) -> Tensor:
        """The share of splits that ask for each feature: float32 [num_features]."""

        def importances(feature: Any) -> Any:
            asked = feature[feature != growth.LEAF]
            counts = np.bincount(asked, minlength=self.params.num_features).astype(np.float32)
            return counts / np.float32(max(counts.sum(), 1))

        result: Tensor = py_func(importances, [self._parts[0]], dtypes.float32, stateful=False)
        result.set_shape([self.params.num_features])
        return result


def _dense(input_data: Any) -> Tensor:
    if isinstance(input_data, SparseTensor):
        raise ValueError("tensor_forest takes dense features here: use tf.sparse.to_dense.")
    return cast(convert_to_tensor(input_data), dtypes.float32)  # type: ignore[no-any-return]


__getattr__ = explain_absent(__name__)
