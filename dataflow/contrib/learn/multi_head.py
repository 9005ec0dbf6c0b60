"""Heads of heads: several at once, and one that has nothing but a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.contrib.learn.head_parts import Head, no_op_train_fn
from dataflow.contrib.learn.keys import MetricKey
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.concat_split import split
from dataflow.ops.control_flow import group
from dataflow.ops.summary import scalar
from dataflow.ops.sums import add_n
from dataflow.ops.variable_scope import variable_scope


class _LossOnlyHead(Head):
    """A loss of its own, a regularization say: no logits, labels or predictions."""

    def __init__(self, loss_fn: Callable[[], Any], head_name: str | None) -> None:
        self._loss_fn = loss_fn
        self.head_name = head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        return 0

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[..., Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        loss = train_op = None
        if mode != ModeKeys.INFER:
            with variable_scope(scope, default_name=self.head_name):
                loss = self._loss_fn()
                if isinstance(loss, (list, tuple)):
                    loss = add_n(list(loss))
                scalar(MetricKey.LOSS, loss)
                if mode == ModeKeys.TRAIN:
                    if train_op_fn is None:
                        raise ValueError("train_op_fn can not be None in TRAIN mode")
                    train_op = train_op_fn(loss)
        return ModelFnOps(mode, {}, loss, train_op, {})


class _MultiHead(Head):
    """Several heads: their losses are summed, names have those of the heads."""

    def __init__(self, heads: Sequence[Any], loss_merger: Callable[..., Any]) -> None:
        for head in heads:
            if not getattr(head, "head_name", None):
                raise ValueError("Members of MultiHead must have names: give each a head_name.")
        self._heads = list(heads)
        self._loss_merger = loss_merger

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[..., Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        parts = self._split(logits)
        found = {
            head.head_name: head.create_model_fn_ops(
                features, mode, labels, no_op_train_fn, part, logits_input, scope
            )
            for head, part in zip(self._heads, parts, strict=True)
        }
        if mode == ModeKeys.TRAIN:
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None in TRAIN mode.")
            loss = self._loss_merger([ops.loss for ops in found.values()])
            own = [ops.train_op for ops in found.values() if ops.train_op is not None]
            return ModelFnOps(mode, loss=loss, train_op=group(train_op_fn(loss), *own))
        predictions: dict[Any, Any] = {}
        for name, ops in found.items():
            predictions.update({(name, k): v for k, v in (ops.predictions or {}).items()})
        if mode == ModeKeys.INFER:
            alternatives: dict[Any, Any] = {}
            for ops in found.values():
                alternatives.update(ops.output_alternatives or {})
            return ModelFnOps(mode, predictions, output_alternatives=alternatives)
        metrics: dict[str, Any] = {}
        for ops in found.values():
            metrics.update(ops.eval_metric_ops or {})
        loss = self._loss_merger([ops.loss for ops in found.values()])
        return ModelFnOps(mode, predictions, loss, eval_metric_ops=metrics)

    def _split(self, logits: Any) -> list[Any]:
        """The logits of each head: by name, or side by side in this order."""
        if logits is None:
            return [None] * len(self._heads)
        if isinstance(logits, dict):
            return [
                logits[head.head_name] if head.logits_dimension else None for head in self._heads
            ]
        sizes = [head.logits_dimension for head in self._heads if head.logits_dimension]
        parts = iter(split(convert_to_tensor(logits), sizes, axis=1))
        return [next(parts) if head.logits_dimension else None for head in self._heads]


def loss_only_head(loss_fn: Callable[[], Any], head_name: str | None = None) -> Head:
    """A head with nothing but ``loss_fn()``, a loss or several, which are summed."""
    return _LossOnlyHead(loss_fn, head_name)


def multi_head(heads: Sequence[Any], loss_weights: Sequence[float] | None = None) -> Head:
    """Several heads on one model; ``loss_weights``: how much the loss of each counts.

    Raises `ValueError` for a head without a name, and for another number of weights.
    """
    if loss_weights is None:
        return _MultiHead(heads, add_n)
    if len(loss_weights) != len(heads):
        raise ValueError("heads and loss_weights must have same size.")
    weights = list(loss_weights)

    def merged(losses: list[Any]) -> Any:
        if len(losses) != len(weights):
            raise ValueError("losses and loss_weights must have same size.")
        return add_n([loss * weight for loss, weight in zip(losses, weights, strict=True)])

    return _MultiHead(heads, merged)
