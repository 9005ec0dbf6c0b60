"""Heads for several things at once: classes that do not exclude each other, several heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes, losses
from dataflow.estimator.class_heads import at_thresholds, checked_thresholds
from dataflow.estimator.export_outputs import ClassificationOutput, PredictOutput
from dataflow.estimator.heads import SERVING, Head, HeadParts
from dataflow.estimator.label_checks import check_labels
from dataflow.estimator.model_fn import ModeKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics import means, thresholds as threshold_metrics
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater_equal, less_equal, logical_and
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.loss import sigmoid_cross_entropy_with_logits
from dataflow.ops.math import add_n, sigmoid
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.sparse import sparse_to_indicator
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.string import as_string
from dataflow.ops.vocabulary_tables import index_table_from_tensor


class MultiLabelHead(Head):
    """Classes of which an example may have several: one sigmoid each, the mean of their losses.

    Labels: multi-hot [batch, n_classes], or a SparseTensor of class numbers (of names with
    ``label_vocabulary``). ``classes_for_class_based_metrics`` names classes with an AUC of their own.
    """

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = losses.Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Any = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(
                "n_classes must be > 1 for multi-label classification. Given: " + str(n_classes)
            )
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"Length of label_vocabulary must be n_classes ({n_classes}). Given: "
                f"{len(label_vocabulary)}"
            )
        self._vocabulary = label_vocabulary
        self._thresholds = checked_thresholds(thresholds)
        self._classes = [self._class_id(c) for c in classes_for_class_based_metrics or ()]

    def _class_id(self, value: Any) -> int:
        if isinstance(value, str):
            if self._vocabulary is None or value not in self._vocabulary:
                raise ValueError(
                    f"The class {value!r} is not in label_vocabulary {self._vocabulary}."
                )
            return list(self._vocabulary).index(value)
        if not 0 <= value < self.logits_dimension:
            raise ValueError(
                f"All classes_for_class_based_metrics must be in range [0, "
                f"{self.logits_dimension - 1}]. Given: {value}"
            )
        return int(value)

    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        names = (
            as_string(array.range_(0, self.logits_dimension))
            if self._vocabulary is None
            else convert_to_tensor(list(self._vocabulary), dtypes.string)
        )
        return {
            "logits": logits,
            "probabilities": sigmoid(logits, name="probabilities"),
            "classes": array.tile(
                array.expand_dims(names, 0), array.stack([array.shape(logits)[0], 1])
            ),
        }

    def checked_labels(self, labels: Any) -> Tensor:
        count = self.logits_dimension
        if isinstance(labels, SparseTensor):
            values = labels.values
            if values.dtype.base_dtype is dtypes.string:
                if self._vocabulary is None:
                    raise ValueError("Labels that are strings need a label_vocabulary.")
                table = index_table_from_tensor(list(self._vocabulary), name="class_id_lookup")
                values = table.lookup(values)
            ids = SparseTensor(labels.indices, cast(values, dtypes.int64), labels.dense_shape)
            return cast(sparse_to_indicator(ids, count), dtypes.int64)  # type: ignore[no-any-return]
        dense = convert_to_tensor(labels)
        if dense.dims is not None and dense.dims[-1:] not in ((count,), (None,)):
            raise ValueError(
                f"labels shape must be [D0, D1, ... DN, {count}]: multi-hot, got {dense.shape}. Class "
                "numbers are given as a SparseTensor."
            )
        kind = dense.dtype.base_dtype
        valid = logical_and(
            greater_equal(dense, convert_to_tensor(0, kind)),
            less_equal(dense, convert_to_tensor(1, kind)),
        )
        with control_dependencies([check_labels(dense, valid, "Labels must be 0 or 1")]):
            return array.identity(dense)

    def losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        each = sigmoid_cross_entropy_with_logits(labels=cast(labels, dtypes.float32), logits=logits)
        return reduce_mean(each, axis=-1, keepdims=True)

    def metrics(
        self, labels: Tensor, predictions: dict[str, Tensor], each_loss: Tensor, weights: Any
    ) -> dict[str, Any]:
        probabilities = predictions["probabilities"]
        result = {
            **at_thresholds(self._thresholds, labels, probabilities, weights),
            "average_loss": means.mean(each_loss, weights, name="average_loss"),
            **_aucs(labels, probabilities, weights, ""),
        }
        for i in self._classes:
            name = f"class{i}" if self._vocabulary is None else str(self._vocabulary[i])
            part = probabilities[:, i : i + 1]
            tag = f"probability_mean/{name}"
            result[tag] = means.mean(part, weights, name=tag)
            result.update(_aucs(labels[:, i : i + 1], part, weights, f"/{name}"))
        return result

    def export_outputs(self, predictions: dict[str, Tensor]) -> dict[str, Any]:
        classes = ClassificationOutput(
            scores=predictions["probabilities"], classes=predictions["classes"]
        )
        return {
            SERVING: classes,
            "classification": classes,
            "predict": PredictOutput(predictions),
        }


def _aucs(labels: Tensor, probabilities: Tensor, weights: Any, suffix: str) -> dict[str, Any]:
    return {
        f"auc{suffix}": threshold_metrics.auc(labels, probabilities, weights, name=f"auc{suffix}"),
        f"auc_precision_recall{suffix}": threshold_metrics.auc(
            labels,
            probabilities,
            weights,
            curve="PR",
            name=f"auc_precision_recall{suffix}",
            summation_method="careful_interpolation",
        ),
    }


class MultiHead(Head):
    """Several heads over one model, each with labels of its own: ``{head name: labels}``.

    Logits: a dict by head name, or a tensor cut into the heads' widths in their order. The loss is
    the sum of theirs, weighted by ``head_weights``. Predictions have keys (head name, key), metrics
    and signatures end with, or begin with, the head's name.
    """

    def __init__(self, heads: Any, head_weights: Any = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights is not None and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
                f"Given len(head_weights): {len(head_weights)}."
            )
        names = [head.name for head in heads]
        if not all(names):
            raise ValueError(f"All given heads must have name specified. Given: {names}")
        if len(set(names)) != len(names):
            raise ValueError(f"All heads must have names of their own. Given: {names}")
        super().__init__(
            sum(head.logits_dimension for head in heads), None, heads[0].loss_reduction
        )
        self.name = "_".join(names)
        self._heads = list(heads)
        self._head_weights = list(head_weights) if head_weights else [1.0] * len(self._heads)

    def _logits(self, logits: Any) -> dict[str, Any]:
        if isinstance(logits, dict):
            missing = [h.name for h in self._heads if h.name not in logits]
            if missing:
                raise ValueError(f"logits has no entry for the heads {missing}: {sorted(logits)}")
            return logits
        sizes = [head.logits_dimension for head in self._heads]
        parts = array.split(convert_to_tensor(logits), sizes, axis=-1)
        return {head.name: part for head, part in zip(self._heads, parts, strict=True)}

    def parts(self, features: Any, mode: str, logits: TensorLike, labels: Any) -> HeadParts:
        """The heads' predictions, the sum of their losses, and all metrics."""
        given = self._logits(logits)
        if mode != ModeKeys.PREDICT and not isinstance(labels, dict):
            raise ValueError(
                f"labels must be a dict with a key for each head: {[h.name for h in self._heads]}"
            )
        predictions: dict[Any, Tensor] = {}
        metrics: dict[str, Any] = {}
        weighted = []
        for head, weight in zip(self._heads, self._head_weights, strict=True):
            own = None if labels is None else labels.get(head.name)
            part = head.parts(features, mode, given[head.name], own)
            predictions.update({(head.name, k): v for k, v in part.predictions.items()})
            if part.loss is not None:
                weighted.append(part.loss * weight)
            if mode == ModeKeys.EVAL:
                tag = f"loss/{head.name}"
                metrics[tag] = means.mean(part.loss, name=tag)
                metrics.update(part.metrics)
        return HeadParts(predictions, add_n(weighted) if weighted else None, metrics)

    def loss(
        self,
        labels: Any,
        logits: TensorLike,
        features: Any = None,
        mode: str | None = None,
        regularization_losses: Any = None,
    ) -> Tensor:
        given = self._logits(logits)
        total = add_n(
            [
                head.loss(labels[head.name], given[head.name], features, mode) * weight
                for head, weight in zip(self._heads, self._head_weights, strict=True)
            ]
        )
        return add_n([total, *regularization_losses]) if regularization_losses else total

    def export_outputs(self, predictions: dict[Any, Tensor]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for i, head in enumerate(self._heads):
            own = {key: v for (name, key), v in predictions.items() if name == head.name}
            for key, output in head.export_outputs(own).items():
                if key == SERVING:
                    result[head.name or ""] = output
                    if i == 0:
                        result[SERVING] = output
                else:
                    result[f"{head.name}/{key}"] = output
        result["predict"] = PredictOutput(
            {f"{name}/{key}": v for (name, key), v in predictions.items()}
        )
        return result
