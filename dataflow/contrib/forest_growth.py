"""Random forests that grow while examples stream past: trees as arrays, and what leaves learn of their examples.

A leaf draws splits from its examples, each a feature and one of its values, and counts classes on both sides of
each. After so many examples it takes the split that leaves the least Gini impurity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dataflow.estimator.tree_growth import LEAF as LEAF, leaves_of

Array = np.ndarray[Any, Any]
#: So many splits are drawn from one example, at most.
_FROM_ONE = 3


class Tree(NamedTuple):
    """Of each node: the feature that it asks for, what goes left (up to the threshold), the left child (the
    right one follows it), and how often each class came by.
    """

    feature: Array
    threshold: Array
    left: Array
    counts: Array


class _Leaf:
    """The splits that a leaf weighs."""

    def __init__(self, num_splits: int, before: Array) -> None:
        self.features = np.zeros(num_splits, np.int64)
        self.thresholds = np.zeros(num_splits, np.float32)
        self.left = np.zeros((num_splits, len(before)), np.float32)
        self.before = before.copy()  #: classes that were here before
        self.filled = 0


class Grower:
    """Grows one tree; ``features`` are those that it may ask for."""

    def __init__(
        self, num_splits: int, split_after: int, features: Array, random: np.random.RandomState
    ) -> None:
        self._num_splits, self._split_after = num_splits, split_after
        self._features, self.random = features, random
        self._leaves: dict[int, _Leaf] = {}
        self._size = 1

    def grow(self, tree: Tree, size: int, x: Array, y: Array, weights: Array) -> int:
        """Takes examples [n, features] of classes [n] into ``tree``, and returns its new size."""
        if size != self._size:  # another session's, or one that was restored
            self._leaves, self._size = {}, size
        nodes = leaves_of(tree, x)
        np.add.at(tree.counts, (nodes, y), weights)
        for node in np.unique(nodes):
            if self._size + 2 > len(tree.feature):
                break
            rows = np.flatnonzero(nodes == node)
            self._learn(tree, int(node), x[rows], y[rows], weights[rows])
        return self._size

    def _learn(self, tree: Tree, node: int, x: Array, y: Array, weights: Array) -> None:
        leaf = self._leaves.get(node)
        if leaf is None:
            before = tree.counts[node].copy()
            np.subtract.at(before, y, weights)
            leaf = self._leaves[node] = _Leaf(self._num_splits, before)
        if more := min(self._num_splits - leaf.filled, _FROM_ONE * len(x)):
            own = slice(leaf.filled, leaf.filled + more)
            asked = self.random.choice(self._features, more)
            leaf.features[own] = asked
            leaf.thresholds[own] = x[self.random.randint(len(x), size=more), asked]
            leaf.filled += more
        goes_left = x[:, leaf.features[: leaf.filled]] <= leaf.thresholds[: leaf.filled]
        classes = np.zeros((len(y), tree.counts.shape[1]), np.float32)
        classes[np.arange(len(y)), y] = weights
        leaf.left[: leaf.filled] += goes_left.T.astype(np.float32) @ classes
        seen = tree.counts[node] - leaf.before
        if seen.sum() >= self._split_after:
            self._split(tree, node, leaf, seen)

    def _split(self, tree: Tree, node: int, leaf: _Leaf, seen: Array) -> None:
        left = leaf.left[: leaf.filled]
        right = np.maximum(seen - left, 0)
        del self._leaves[node]  # where no split parts its examples it draws others
        if np.count_nonzero(seen) < 2:
            return
        cost = _impurity(left) + _impurity(right)
        cost[(left.sum(1) == 0) | (right.sum(1) == 0)] = np.inf
        best = int(np.argmin(cost))
        if not np.isfinite(cost[best]):
            return
        tree.feature[node], tree.threshold[node] = leaf.features[best], leaf.thresholds[best]
        tree.left[node] = self._size
        tree.counts[self._size], tree.counts[self._size + 1] = left[best], right[best]
        self._size += 2


def _impurity(counts: Array) -> Array:
    """Gini impurity times the number of examples, of each row."""
    total = counts.sum(1)
    result: Array = total - (counts**2).sum(1) / np.maximum(total, 1e-9)
    return result


def shares(trees: Tree, x: Array) -> Array:
    """The mean over trees of the shares of classes in each example's leaf: float32 [n, classes]."""
    num_classes = trees.counts.shape[2]
    result = np.zeros((len(x), num_classes), np.float32)
    for parts in zip(*trees, strict=True):
        tree = Tree(*parts)
        counts = tree.counts[leaves_of(tree, x)]
        total = counts.sum(1, keepdims=True)
        known = total > 0
        result += np.where(known, counts / np.where(known, total, 1), np.float32(1 / num_classes))
    return result / np.float32(len(trees.feature))
