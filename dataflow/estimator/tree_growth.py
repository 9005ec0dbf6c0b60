"""Trees of boosted trees, as arrays: which way an example goes, and the next layer from sums of gradients.

A tree is grown layer by layer. Each node of the newest layer is split by the feature and the bucket that lower the
loss most, judged by the sums of gradients and hessians on both sides; its children's values are its own and a
Newton step. All sums are float32, and taken in TensorFlow's order, so equal gains are decided as there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

#: What the numbers of an ensemble's state are: trees (the last one grows), nodes and layers of the last one,
#: layers that were tried, and the range of nodes that are split next.
TREES, NODES, LAYERS, TRIED, FIRST, END = range(6)
#: The feature of a node that is a leaf.
LEAF = -1
_EQUAL = np.float32(1e-15)
#: Bias centering goes on while it changes the bias by more than this share.
_CENTERED = 0.01


class Tree(NamedTuple):
    """Of each node: the feature that it asks for, the last bucket that goes left, the left child (the right one
    follows it), its value, also of an inner node, and what its split has gained. Or, with an axis more, many trees.
    """

    feature: Array
    threshold: Array
    left: Array
    value: Array
    gain: Array


class Settings(NamedTuple):
    """How trees are grown; the estimators' arguments."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    pruning_mode: str


def empty_trees(count: int, max_depth: int) -> Tree:
    """``count`` trees of one node each, with room for all others."""
    shape = (count, 2 ** (max_depth + 1) - 1)
    return Tree(
        np.full(shape, LEAF, np.int32),
        np.zeros(shape, np.int32),
        np.zeros(shape, np.int32),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.float32),
    )


def leaves_of(tree: Any, values: Array) -> Array:
    """The leaf that each example comes to: int32 [n]; ``values`` [n, features] are compared with thresholds.

    ``tree`` is a `Tree`, or of another kind with its ``feature``, ``threshold`` and ``left``.
    """
    node = np.zeros(len(values), np.int32)
    rows = np.arange(len(values))
    while True:
        feature = tree.feature[node]
        inner = feature != LEAF
        if not inner.any():
            return node
        right = values[rows, np.maximum(feature, 0)] > tree.threshold[node]
        node = np.where(inner, tree.left[node] + right, node).astype(np.int32)


def path_of(tree: Tree, buckets: Array) -> tuple[list[int], list[float]]:
    """The features that one example is asked for on its way, and the values of the nodes, one more."""
    node, features, values = 0, [], [float(tree.value[0])]
    while (feature := int(tree.feature[node])) != LEAF:
        node = int(tree.left[node] + (buckets[feature] > tree.threshold[node]))
        features.append(feature)
        values.append(float(tree.value[node]))
    return features, values


def statistics(
    nodes: Array,
    buckets: Array,
    gradients: Array,
    hessians: Array,
    first: int,
    end: int,
    count: int,
) -> Array:
    """Sums of gradients and hessians: float32 [features, nodes from first to end, count buckets, 2]."""
    num_features = buckets.shape[1]
    result = np.zeros((num_features, (end - first) * count, 2), np.float32)
    kept = (nodes >= first) & (nodes < end)
    for feature in range(num_features):
        bucket = np.clip(buckets[kept, feature], 0, count - 1)
        places = (nodes[kept] - first) * count + bucket
        np.add.at(result[feature, :, 0], places, gradients[kept])
        np.add.at(result[feature, :, 1], places, hessians[kept])
    return result.reshape(num_features, end - first, count, 2)


def step_and_gain(gradient: Array, hessian: Array, l1: float, l2: float) -> tuple[Array, Array]:
    """The Newton step of a node with these sums, and by how much it lowers the loss (twice)."""
    if l1 > 0:
        small = np.abs(gradient) <= np.float32(l1)
        gradient = np.where(small, np.float32(0), gradient - np.sign(gradient) * np.float32(l1))
    weight = hessian + np.float32(l2)
    known = weight >= _EQUAL
    weight = np.where(known, weight, np.float32(1))
    gradient = np.where(known, gradient, np.float32(0))
    return -gradient / weight, gradient * gradient / weight


class _Splits(NamedTuple):
    """The best split of each node, and whether it may be split at all."""

    feature: Array
    threshold: Array
    gain: Array
    left: Array
    right: Array
    allowed: Array


def best_splits(sums: Array, settings: Settings) -> _Splits:
    """The best split of each node, from `statistics`; the first of equal ones."""
    upto = np.cumsum(sums, axis=2, dtype=np.float32)
    total = upto[:, :, -1:, :]
    l1, l2 = settings.l1, settings.l2
    left, gain_left = step_and_gain(upto[..., 0], upto[..., 1], l1, l2)
    rest = total - upto
    right, gain_right = step_and_gain(rest[..., 0], rest[..., 1], l1, l2)
    whole = step_and_gain(total[:, :, 0, 0], total[:, :, 0, 1], l1, l2)[1]
    gains = gain_left + gain_right
    threshold = _first_best(np.moveaxis(gains, 2, 0))
    gain = np.take_along_axis(gains, threshold[..., None], 2)[..., 0] - whole
    gain = gain - np.float32(settings.tree_complexity)
    allowed = total[:, :, 0, 1] >= settings.min_node_weight
    feature = _first_best(np.where(allowed, gain, -np.inf))
    node = np.arange(sums.shape[1])
    threshold = threshold[feature, node]
    return _Splits(
        feature,
        threshold,
        gain[feature, node],
        left[feature, node, threshold],
        right[feature, node, threshold],
        allowed[feature, node],
    )


def _first_best(gains: Array) -> Array:
    """The index of the maximum along the first axis, the first one of several."""
    best, place = gains[0], np.zeros(gains.shape[1:], np.int64)
    for i in range(1, len(gains)):
        with np.errstate(invalid="ignore"):  # what is not allowed is -inf
            larger = gains[i] - best >= _EQUAL
        best = np.where(larger, gains[i], best)
        place = np.where(larger, i, place)
    return place


def grown(tree: Tree, state: Array, sums: Array, settings: Settings) -> tuple[Tree, Array]:
    """The tree with its next layer, and the state after that; an empty tree is next where it is finished."""
    tree, state = Tree(*(part.copy() for part in tree)), state.copy()
    state[TRIED] += 1
    if state[TREES] == 0:
        state[TREES], state[NODES] = 1, 1
    splits = best_splits(sums, settings)
    start = state[NODES]
    for i, node in enumerate(range(state[FIRST], state[END])):
        gain = splits.gain[i]
        if not splits.allowed[i] or (settings.pruning_mode == "pre" and gain < 0):
            continue
        child = state[NODES]
        tree.feature[node], tree.threshold[node] = splits.feature[i], splits.threshold[i]
        tree.left[node], tree.gain[node] = child, gain
        for place, weight in ((child, splits.left[i]), (child + 1, splits.right[i])):
            tree.value[place] = tree.value[node] + np.float32(settings.learning_rate) * weight
        state[NODES] += 2
    if state[NODES] == start:
        return tree, state
    state[LAYERS] += 1
    state[FIRST], state[END] = start, state[NODES]
    if state[LAYERS] >= settings.max_depth:
        if settings.pruning_mode == "post":
            _prune(tree, 0)
        state[TREES] += 1
        state[NODES], state[LAYERS], state[FIRST], state[END] = 1, 0, 0, 1
    return tree, state


def _prune(tree: Tree, node: int) -> None:
    """Takes back splits that gained less than their cost, from the leaves up."""
    if tree.feature[node] == LEAF:
        return
    left = int(tree.left[node])
    _prune(tree, left)
    _prune(tree, left + 1)
    if tree.feature[left] == tree.feature[left + 1] == LEAF and tree.gain[node] < 0:
        tree.feature[node], tree.gain[node] = LEAF, 0


def centered(
    tree: Tree, state: Array, gradient: Any, hessian: Any, settings: Settings
) -> tuple[Tree, Array, bool]:
    """The first tree with its bias a Newton step further, the state, and whether to go on centering."""
    tree, state = Tree(*(part.copy() for part in tree)), state.copy()
    step = step_and_gain(
        np.float32(gradient).reshape(1), np.float32(hessian).reshape(1), settings.l1, settings.l2
    )[0][0]
    if state[TREES] == 0:
        state[TREES], state[NODES] = 1, 1
        tree.value[0] = step
        return tree, state, True
    with np.errstate(divide="ignore", invalid="ignore"):
        going_on = bool(np.abs(step / tree.value[0]) > _CENTERED)
    tree.value[0] += step
    return tree, state, going_on
