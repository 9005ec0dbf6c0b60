"""`tf.estimator.BoostedTreesClassifier`, `BoostedTreesRegressor` and `BoostedTreesEstimator`.

Arguments, their order and their defaults are TensorFlow 1.15's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.estimator import boosted_trees as boosted, tree_growth as growth
from dataflow.estimator.class_heads import CannedBinaryHead
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.heads import label_column
from dataflow.estimator.regression_heads import RegressionHead
from dataflow.estimator.tree_features import TreeFeatures
from dataflow.graph.tensor import Tensor
from dataflow.losses import Reduction
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.math import exp
from dataflow.train.checkpoint_management import load_variable

_BINARY = "For now only binary classification is supported. n_classes given as "


class _BoostedTrees(Estimator):
    """What all of them do: `train` grows ``n_trees`` trees, a layer with each ``n_batches_per_layer`` batches.

    Columns are bucketized ones, indicator ones, and those of numbers, which are cut at quantiles. A step grows
    one layer, so that all trees take ``n_trees * max_depth`` steps, and training ends by itself there.
    """

    def __init__(
        self,
        head: Any,
        feature_columns: Iterable[Any],
        settings: growth.Settings,
        options: boosted.Options,
        model_dir: str | None,
        config: Any,
    ) -> None:
        if head.logits_dimension != 1:
            raise ValueError(
                f"Boosted trees have one logit, and the head needs {head.logits_dimension}."
            )
        _check_pruning(settings)
        columns = list(feature_columns)
        self._columns = TreeFeatures(columns, options.num_quantiles)
        self._boosted_head, self._is_centered = head, options.center_bias

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return boosted.model_fn(
                features, labels, mode, config, head, columns, settings, options
            )

        def explained(features: Any, labels: Any, mode: str, config: Any) -> Any:
            return boosted.model_fn(
                features, labels, mode, config, head, columns, settings, options, with_buckets=True
            )

        self._explained_fn = explained
        super().__init__(model_fn, model_dir, config)

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict[str, float]:
        """The gain of the splits by each column, the largest first.

        With ``normalize`` they sum to 1. Raises `ValueError` before training, `AssertionError` where nothing,
        or less than nothing, was gained and ``normalize`` asks for shares.
        """
        trees = self._trees(None)
        asked = trees.feature != growth.LEAF
        names = self._columns.names
        gains: Any = np.bincount(trees.feature[asked], trees.gain[asked], minlength=len(names))
        if normalize:
            assert np.all(gains >= 0), "feature_importances must be non-negative."
            total = np.sum(gains)
            assert total > 0, "Trees are all empty or contain only a root node."
            gains = gains / total
        return _by_name(names, gains)

    def experimental_predict_with_explanations(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Any = None,
        checkpoint_path: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """`predict`, with ``bias``, the prediction before any split, and ``dfc``: each column's part in the rest.

        Of a classifier they are probabilities. Raises `ValueError` unless ``center_bias`` was given, or for a
        regression with a link function.
        """
        if not self._is_centered:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using "
                "experimental_predict_with_explanations."
            )
        is_class = isinstance(self._boosted_head, CannedBinaryHead)
        if getattr(self._boosted_head, "_inverse_link_fn", None) is not None:
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for "
                "experimental_predict_with_explanations."
            )
        trees = self._trees(checkpoint_path)
        keys = None if predict_keys is None else {*predict_keys, "buckets"}
        explained = Estimator(self._explained_fn, self.model_dir, self.config)
        for found in explained.predict(input_fn, keys, hooks, checkpoint_path):
            path, values = _path(trees, found.pop("buckets"))
            if is_class:
                values = 1 / (1 + np.exp(-values))
            names = self._columns.names
            parts = np.bincount(path, np.diff(values), minlength=len(names))
            yield {**found, "bias": values[0], "dfc": _by_name(names, parts)}

    def _trees(self, checkpoint_path: str | None) -> growth.Tree:
        """The trees grown so far."""
        path = checkpoint_path or self._trained()
        count = int(load_variable(path, f"{boosted.SCOPE}/state")[growth.TREES])
        parts = (load_variable(path, f"{boosted.SCOPE}/{name}") for name in growth.Tree._fields)
        return growth.Tree(*(part[:count] for part in parts))


def _path(trees: growth.Tree, buckets: Any) -> tuple[Any, Any]:
    """The features that an example is asked for, tree after tree, and the sum so far, one more."""
    features: list[int] = []
    sums: list[Any] = [trees.value[0, 0]]
    past = np.float32(0)
    for parts in zip(*trees, strict=True):
        asked, values = growth.path_of(growth.Tree(*parts), buckets)
        features += asked
        sums += [past + np.float32(v) for v in values[1:]]
        past += np.float32(values[-1])
    return np.array(features, np.int64), np.array(sums, np.float64)


def _by_name(names: Sequence[str], values: Any) -> OrderedDict[str, float]:
    """The sums of each name's values, the largest first."""
    sums: dict[str, float] = {}
    for name, value in zip(names, values, strict=True):
        sums[name] = sums.get(name, 0) + value
    return OrderedDict(sorted(sums.items(), key=lambda pair: abs(pair[1]), reverse=True))


def _check_pruning(settings: growth.Settings) -> None:
    if settings.pruning_mode not in ("none", "pre", "post"):
        raise ValueError(
            f"Invalid pruning mode {settings.pruning_mode!r}: it is one of none, pre, post."
        )
    if settings.tree_complexity > 0 and settings.pruning_mode == "none":
        raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
    if settings.tree_complexity <= 0 and settings.pruning_mode != "none":
        raise ValueError("For pruning, tree_complexity must be positive.")


def _check_in_memory(train_in_memory: bool, n_batches_per_layer: Any) -> None:
    if train_in_memory and n_batches_per_layer != 1:
        raise ValueError(
            "When train_in_memory is enabled, input_fn should return the entire dataset as a single "
            "batch, and n_batches_per_layer should be set as 1."
        )


def _logistic_derivatives(logits: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
    """Gradients and hessians of the mean logistic loss."""
    guess = 1.0 / (exp(-logits) + 1.0)
    share = 1.0 / cast(array.size(guess), dtypes.float32)
    truth = label_column(cast(labels, dtypes.float32), 1)
    return (guess - truth) * share, guess * (1.0 - guess) * share


class BoostedTreesClassifier(_BoostedTrees):
    """Boosted trees for binary classification.

    ``train_in_memory`` says that each batch is all of the data. Pruning needs ``tree_complexity``, what a leaf
    costs. Raises `ValueError` for more classes and for settings that contradict each other.
    """

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if n_classes != 2:
            raise ValueError(f"{_BINARY}{n_classes}")
        _check_in_memory(train_in_memory, n_batches_per_layer)
        head = CannedBinaryHead(
            weight_column, None, label_vocabulary, Reduction.SUM_OVER_BATCH_SIZE
        )
        plain = weight_column is None and label_vocabulary is None
        super().__init__(
            head,
            feature_columns,
            growth.Settings(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
                tree_complexity, min_node_weight, pruning_mode,
            ),
            boosted.Options(
                center_bias, quantile_sketch_epsilon, n_batches_per_layer, weight_column, train_in_memory,
                _logistic_derivatives if plain else None,
            ),
            model_dir,
            config,
        )  # fmt: skip


class BoostedTreesRegressor(_BoostedTrees):
    """Boosted trees for regression; arguments as for `BoostedTreesClassifier`."""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if label_dimension != 1:
            raise ValueError(
                "For now only 1 dimension regression is supported. label_dimension given as "
                f"{label_dimension}"
            )
        _check_in_memory(train_in_memory, n_batches_per_layer)
        super().__init__(
            RegressionHead(1, weight_column, Reduction.SUM_OVER_BATCH_SIZE),
            feature_columns,
            growth.Settings(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
                tree_complexity, min_node_weight, pruning_mode,
            ),
            boosted.Options(
                center_bias, quantile_sketch_epsilon, n_batches_per_layer, weight_column, train_in_memory,
            ),
            model_dir,
            config,
        )  # fmt: skip


class BoostedTreesEstimator(_BoostedTrees):
    """Boosted trees for what ``head`` makes of one logit; other arguments as for `BoostedTreesClassifier`."""

    def __init__(
        self,
        feature_columns: Iterable[Any],
        n_batches_per_layer: Any,
        head: Any,
        model_dir: str | None = None,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: Any = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
    ) -> None:
        super().__init__(
            head,
            feature_columns,
            growth.Settings(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization,
                tree_complexity, min_node_weight, pruning_mode,
            ),
            boosted.Options(
                center_bias, quantile_sketch_epsilon, n_batches_per_layer, weight_column
            ),
            model_dir,
            config,
        )  # fmt: skip
