"""Kernels of stochastic dual coordinate ascent: fingerprints of examples, and the pass over a batch."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.hashing import fingerprint128
from dataflow.kernels.registry import kernel
from dataflow.kernels.sdca_losses import LOSSES, Loss
from dataflow.kernels.string import strings

_REASON = "examples are visited one after another"
_LOW = 2**64


@kernel("SdcaFprint", cpu_only="strings live in the host's memory")
def sdca_fprint_kernel(xp: Module, x: Array) -> Any:
    rows = []
    for text in strings(x).ravel().tolist():
        low, high = fingerprint128(text)
        rows.append(((low - 2) % _LOW if low < 2 else low, high))
    return np.array(rows, np.uint64).reshape(-1, 2).view(np.int64)


class _Row(NamedTuple):
    """The features of an example: where their weights are, and their values."""

    at: Array
    values: Array


class _Model(NamedTuple):
    """All weights in one vector, what is to be added to it, and the penalties."""

    weights: Array
    deltas: Array
    shrinkage: float
    l2: float
    parts: int

    def products(self, row: _Row) -> tuple[float, float, float]:
        """(prediction now, prediction before the pass, squared norm / l2)."""
        before = self.weights[row.at]
        now = before + self.parts * self.deltas[row.at]
        norm = float(row.values @ row.values) / self.l2
        return self._sum(row, now), self._sum(row, before), norm

    def _sum(self, row: _Row, weights: Array) -> float:
        if self.shrinkage:
            size = np.maximum(np.abs(weights) - self.shrinkage, 0.0)
            weights = np.copysign(size, weights)
        return float(row.values @ weights)


@kernel("SdcaOptimizerV2", cpu_only=_REASON)
def sdca_optimizer_kernel(
    xp: Module,
    sparse_example_indices: list[Array],
    sparse_feature_indices: list[Array],
    sparse_feature_values: list[Array],
    dense_features: list[Array],
    example_weights: Array,
    example_labels: Array,
    sparse_indices: list[Array],
    sparse_weights: list[Array],
    dense_weights: list[Array],
    example_state_data: Array,
    *,
    loss_type: str,
    l1: float,
    l2: float,
    num_loss_partitions: int,
    num_inner_iterations: int,
    adaptive: bool = True,
) -> Any:
    weights, labels, loss = example_weights, example_labels, LOSSES[loss_type]
    every = [*sparse_weights, *dense_weights]
    starts = np.cumsum([0, *(w.size for w in every)])
    sparse = sparse_example_indices, sparse_feature_indices, sparse_feature_values, sparse_indices
    rows = _rows(len(weights), sparse, (dense_features, dense_weights), starts)
    flat = np.concatenate([w.ravel() for w in every]).astype(np.float64) if every else np.zeros(0)
    model = _Model(flat, np.zeros_like(flat), l1 / l2, l2, num_loss_partitions)
    label_of = [loss.label(float(label)) for label in labels]
    state = example_state_data.copy()
    for i in _order(loss, model, rows, label_of, weights, state, adaptive):
        row, label, weight, dual = rows[i], label_of[i], float(weights[i]), float(state[i, 0])
        now, before, norm = model.products(row)
        new = loss.dual(label, weight, dual, now, norm, num_loss_partitions)
        np.add.at(model.deltas, row.at, (new - dual) * weight / l2 * row.values)
        state[i] = (
            new,
            loss.primal_loss(before, label, weight),
            loss.dual_loss(dual, label, weight),
            weight,
        )
    parts = np.split(model.deltas.astype(np.float32), starts[1:-1]) if every else []
    return [state, *(part.reshape(w.shape) for part, w in zip(parts, every, strict=True))]


def _rows(n: int, sparse: Any, dense: Any, starts: Array) -> list[_Row]:
    """The features of each example, sparse ones before dense ones."""
    where: list[Array] = []
    at: list[Array] = []
    values: list[Array] = []
    examples, features, given, ids = sparse
    for k, (example, feature, known) in enumerate(zip(examples, features, ids, strict=True)):
        at.append(starts[k] + _positions(feature, known))
        where.append(example)
        values.append(given[k] if k < len(given) else np.ones(len(feature), np.float32))
    for k, (numbers, weights) in enumerate(zip(*dense, strict=True), start=len(ids)):
        if numbers.ndim != 2 or numbers.shape[1] > weights.size:
            raise ValueError(
                f"More dense features than we have parameters for: {list(numbers.shape)} for "
                f"weights of shape {list(weights.shape)}"
            )
        width = numbers.shape[1]
        where.append(np.repeat(np.arange(len(numbers)), width))
        at.append(np.tile(starts[k] + np.arange(width), len(numbers)))
        values.append(numbers.ravel())
    if not where:
        return [_Row(np.zeros(0, np.int64), np.zeros(0))] * n
    example_of = np.concatenate(where)
    if example_of.size and not 0 <= example_of.min() <= example_of.max() < n:
        raise ValueError(f"Example indices must lie in [0, {n}), got {example_of.max()}")
    order = np.argsort(example_of, kind="stable")
    cuts = np.searchsorted(example_of[order], np.arange(1, n))
    all_at, all_values = np.concatenate(at)[order], np.concatenate(values)[order].astype(np.float64)
    pairs = zip(np.split(all_at, cuts), np.split(all_values, cuts), strict=True)
    return [_Row(*pair) for pair in pairs]


def _positions(feature: Array, known: Array) -> Array:
    """Where each feature is among the known ones."""
    if not feature.size:
        return feature.astype(np.int64)
    sorter = np.argsort(known, kind="stable")
    found = np.searchsorted(known, feature, sorter=sorter)
    found = sorter[np.minimum(found, len(known) - 1)] if len(known) else found
    if not len(known) or not np.array_equal(known[found], feature):
        raise ValueError(
            "Found sparse feature indices out of valid range: no weight is given for some"
        )
    return found


def _order(
    loss: Loss,
    model: _Model,
    rows: list[_Row],
    labels: list[float],
    weights: Array,
    state: Array,
    adaptive: bool,
) -> list[int]:
    """The order in which examples are visited, each at least once where it is not adaptive.

    Adaptive: drawn by how much the dual of each can gain (Csiba, Qu and Richtarik, 2015), and then those
    that were not drawn. The draw is the same in every run of the same batch.
    """
    n = len(rows)
    random = np.random.RandomState(n)
    if not adaptive or not n:
        return random.permutation(n).tolist()  # type: ignore[no-any-return]
    chances = np.zeros(n)
    for i, row in enumerate(rows):
        now, _, norm = model.products(row)
        gain = abs(float(state[i, 0]) + loss.slope(now, labels[i]))
        chances[i] = (
            float(weights[i]) * math.sqrt(norm * model.l2 + model.l2 * loss.smoothness) * gain
        )
    total = chances.sum()
    if not np.isfinite(total) or total <= 0:
        return random.permutation(n).tolist()  # type: ignore[no-any-return]
    drawn = random.choice(n, n, p=chances / total)
    unseen = np.setdiff1d(random.permutation(n), drawn)
    return [*drawn.tolist(), *unseen.tolist()]
