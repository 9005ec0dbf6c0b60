"""K-means as a graph: initial centers, distances, and one step of the algorithm for each run."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.ops.arithmetic import maximum, minimum
from dataflow.ops.array import concat, gather, identity, reshape, shape, unique
from dataflow.ops.assertions import assert_greater_equal
from dataflow.ops.casts import cast
from dataflow.ops.comparison import equal, less
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.embedding import embedding_lookup
from dataflow.ops.fills import ones, ones_like, zeros, zeros_like
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import add_n, argmin, log, matmul, reduce_min, reduce_sum, square
from dataflow.ops.moments import l2_normalize
from dataflow.ops.random import multinomial, random_shuffle, random_uniform
from dataflow.ops.segment import unsorted_segment_sum
from dataflow.ops.sequences import range_
from dataflow.ops.sources import placeholder_with_default
from dataflow.ops.state import assign, assign_sub, scatter_add
from dataflow.ops.variables import Variable
from dataflow.ops.while_loop import while_loop

SQUARED_EUCLIDEAN_DISTANCE = "squared_euclidean"
COSINE_DISTANCE = "cosine"
RANDOM_INIT = "random"
KMEANS_PLUS_PLUS_INIT = "kmeans_plus_plus"
KMC2_INIT = "kmc2"
CLUSTERS_VAR_NAME = "clusters"

#: A logarithm of a distance of 0 that is still a number.
_SMALLEST = 1e-30

__all__ = [
    "CLUSTERS_VAR_NAME",
    "COSINE_DISTANCE",
    "KMC2_INIT",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "KMeans",
]


def _squared_distances(points: Any, centers: Any) -> Any:
    """Of each point (n, d) to each center (k, d): shape (n, k), from 0 up."""
    of_points = reduce_sum(square(points), 1, keepdims=True)
    of_centers = reshape(reduce_sum(square(centers), 1), [1, -1])
    # Rounding makes the distance of a point to itself a little less than 0.
    return maximum(of_points - 2 * matmul(points, centers, transpose_b=True) + of_centers, 0)


def _append_until(count: Any, points: Any, first: Any, choose: Any) -> Any:
    """``count`` centers (count, d): ``first`` (1, d), then ``choose(centers so far)`` (1, d) for each further one."""
    from dataflow.shapes import TensorShape

    _, centers = while_loop(
        lambda i, centers: less(i, count),
        lambda i, centers: (i + 1, concat([centers, choose(centers)], 0)),
        (1, first),
        shape_invariants=(TensorShape([]), TensorShape([None, points.shape[1]])),
    )
    return centers


def _any_point(points: Any, seed: int | None) -> Any:
    index = random_uniform([1], 0, shape(points)[0], dtypes.int32, seed=seed)
    return gather(points, index)


def _kmeans_plus_plus(points: Any, count: Any, seed: int | None, retries: int) -> Any:
    """Centers by k-means++ (Arthur and Vassilvitskii 2007), the best of ``retries`` + 1 draws each."""
    if retries < 0:
        retries = 2

    def choose(centers: Any) -> Any:
        nearest = reduce_min(_squared_distances(points, centers), 1, keepdims=True)
        odds = reshape(log(maximum(nearest, _SMALLEST)), [1, -1])
        candidates = gather(points, multinomial(odds, retries + 1, seed=seed)[0])
        left = reduce_sum(minimum(nearest, _squared_distances(points, candidates)), 0)
        return gather(candidates, reshape(argmin(left, 0), [1]))

    return _append_until(count, points, _any_point(points, seed), choose)


def _kmc2(points: Any, count: Any, seed: int | None, chain_length: int) -> Any:
    """Centers by k-MC2 (Bachem et al. 2016): each the end of a Markov chain over the points."""

    def choose(centers: Any) -> Any:
        chain = random_uniform([chain_length], 0, shape(points)[0], dtypes.int32, seed=seed)
        candidates = gather(points, chain)
        far = reduce_min(_squared_distances(candidates, centers), 1)
        draws = random_uniform([chain_length], dtype=points.dtype, seed=seed)
        _, place = while_loop(
            lambda i, at: less(i, chain_length),
            lambda i, at: (
                i + 1,
                cond(less(draws[i] * far[at], far[i]), lambda: identity(i), lambda: identity(at)),
            ),
            (1, 0),
        )
        return gather(candidates, reshape(place, [1]))

    return _append_until(count, points, _any_point(points, seed), choose)


class KMeans:
    """Builds the graph of k-means for ``inputs``: points (n, d), or a list of such shards.

    Run ``init_op`` of `training_graph` until all centers are chosen, then its ``training_op``, an
    iteration over all points each; with ``use_mini_batch`` over a batch, where centers move by the
    mean of what they ever got. ``mini_batch_steps_per_iteration`` > 1 moves the centers that points
    are compared with only every so many steps.

    ``initial_clusters``: "random" (different points), "kmeans_plus_plus", "kmc2", the centers
    themselves, or a function (inputs, k) -> at most k centers. ``distance_metric``:
    "squared_euclidean" or "cosine". Raises `ValueError` for another of the two.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        self.check(initial_clusters, distance_metric)
        self._inputs = [convert_to_tensor(i) for i in _listed(inputs)]
        self._num_clusters = num_clusters
        self._initial_clusters = initial_clusters
        self._cosine = distance_metric == COSINE_DISTANCE
        self._use_mini_batch = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed = random_seed
        self._retries = kmeans_plus_plus_num_retries
        self._chain_length = kmc2_chain_length
        #: Whether what the variable holds has norm 1 already.
        self._normalized = self._cosine and (not use_mini_batch or self._steps > 1)

    @staticmethod
    def check(initial_clusters: Any, distance_metric: str) -> None:
        """Raises `ValueError` for a way to choose centers, or a distance, that there is not."""
        known = [RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT]
        if isinstance(initial_clusters, str) and initial_clusters not in known:
            raise ValueError(
                f"Unsupported initialization algorithm {initial_clusters!r}: one of {known}, the "
                "centers, or a function of the inputs and k."
            )
        metrics = [SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE]
        if distance_metric not in metrics:
            raise ValueError(f"Unsupported distance metric {distance_metric!r}: one of {metrics}.")

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """``(all_scores, cluster_idx, scores, cluster_centers_initialized, init_op, training_op)``.

        The first three are tuples with an element for each shard of inputs: distances to all centers
        (n, k), the nearest center's number (n,) as int64, and the distance to it (n,).
        ``cluster_centers_initialized`` is a bool variable.
        """
        chosen = self._initial_clusters
        fixed = not (isinstance(chosen, str) or callable(chosen))
        if fixed:
            chosen = convert_to_tensor(chosen, dtype=self._inputs[0].dtype)
        count = shape(chosen)[0] if fixed else convert_to_tensor(self._num_clusters, dtypes.int32)
        nothing = zeros([0, 0], self._inputs[0].dtype)
        empty = placeholder_with_default(nothing, shape=None)
        centers = Variable(empty, name=CLUSTERS_VAR_NAME, validate_shape=False)
        initialized = Variable(False, name="initialized")
        moving, counts, left = self._mini_batch_variables(centers, empty, count)
        init_op = self._init_op(chosen, fixed, count, centers, moving, initialized)

        inputs = [l2_normalize(i, 1) for i in self._inputs] if self._cosine else self._inputs
        compared: Any = identity(centers)
        if self._cosine and not self._normalized:
            compared = l2_normalize(compared, 1)
        distances = tuple(self._distances(points, compared) for points in inputs)
        nearest = tuple(argmin(d, 1) for d in distances)
        scores = tuple(reduce_min(d, 1) for d in distances)
        if self._use_mini_batch:
            with control_dependencies([self._sync(centers, moving, counts, left)]):
                training_op = _mini_batch_step(inputs, nearest, moving, counts)
        else:
            training_op = self._full_batch_step(inputs, nearest, centers, count)
        return distances, nearest, scores, initialized, init_op, training_op

    def _distances(self, points: Any, centers: Any) -> Any:
        if self._cosine:
            return 1 - matmul(points, centers, transpose_b=True)
        return _squared_distances(points, centers)

    def _mini_batch_variables(self, centers: Any, empty: Any, count: Any) -> tuple[Any, Any, Any]:
        """The centers that move, how many points each got, and steps until the others follow."""
        if not self._use_mini_batch:
            return centers, None, None
        if self._steps <= 1:
            return centers, Variable(ones([count], dtypes.int64)), None
        moving = Variable(empty, name="clusters_updated", validate_shape=False)
        left = Variable(self._steps, dtype=dtypes.int64, name="update_in_steps")
        return moving, Variable(zeros([count], dtypes.int64)), left

    def _init_op(
        self, chosen: Any, fixed: bool, count: Any, centers: Any, moving: Any, initialized: Any
    ) -> Any:
        """Chooses as many centers as the inputs have points for; sets ``initialized`` once all are chosen."""
        there = shape(centers)[0]

        def add() -> Any:
            new = chosen if fixed else self._new_centers(chosen, count - there)
            if self._cosine:
                new = l2_normalize(new, 1)
            whole = cond(equal(there, 0), lambda: identity(new), lambda: concat([centers, new], 0))
            updates = [assign(centers, whole, validate_shape=False)]
            if moving is not centers:
                updates.append(assign(moving, whole, validate_shape=False))
            with control_dependencies(updates):
                return identity(assign(initialized, equal(shape(whole)[0], count)))

        return cond(less(there, count), add, lambda: identity(initialized)).op

    def _new_centers(self, chosen: Any, missing: Any) -> Any:
        """Up to ``missing`` centers of the points; all points where there are not more of them.

        In a run, `InvalidArgumentError` for k-means++ with fewer points than centers.
        """
        if callable(chosen):
            return chosen(self._inputs, missing)
        points = self._inputs[0]
        if chosen == RANDOM_INIT:
            num_points = add_n([shape(i)[0] for i in self._inputs])
            order = random_shuffle(range_(num_points), seed=self._seed)[:missing]
            if len(self._inputs) == 1:
                return gather(points, order)
            return embedding_lookup(self._inputs, order, partition_strategy="div")
        if self._cosine:
            points = l2_normalize(points, 1)
        if chosen == KMEANS_PLUS_PLUS_INIT:
            message = "kmeans_plus_plus chooses all centers of one batch, which has fewer points than are missing"
            enough = assert_greater_equal(shape(points)[0], missing, message=message)
            with control_dependencies([enough]):
                points = identity(points)

        def choose() -> Any:
            if chosen == KMC2_INIT:
                return _kmc2(points, missing, self._seed, self._chain_length)
            return _kmeans_plus_plus(points, missing, self._seed, self._retries)

        return cond(less(missing, shape(points)[0]), choose, lambda: identity(points))

    def _sync(self, centers: Any, moving: Any, counts: Any, left: Any) -> Any:
        """Every so many steps, copies the updated centers to those that points are compared with."""
        if left is None:
            return no_op()

        def follow() -> Any:
            with control_dependencies([assign(left, self._steps - 1)]):
                now = l2_normalize(moving, 1) if self._cosine else identity(moving)
                with control_dependencies([assign(centers, now, validate_shape=False)]):
                    with control_dependencies([assign(counts, zeros_like(counts))]):
                        return identity(left)

        return cond(left <= 0, follow, lambda: identity(assign_sub(left, 1)))

    def _full_batch_step(self, inputs: Any, nearest: Any, centers: Any, count: Any) -> Any:
        """Each center becomes the mean of its points (one without points: 0)."""
        sums = [unsorted_segment_sum(p, n, count) for p, n in zip(inputs, nearest, strict=True)]
        numbers = [
            unsorted_segment_sum(ones_like(p[:, :1]), n, count)
            for p, n in zip(inputs, nearest, strict=True)
        ]
        means = add_n(sums) / (add_n(numbers) + 1e-6)
        if self._normalized:
            means = l2_normalize(means, 1)
        return assign(centers, means, validate_shape=False)


def _listed(inputs: Any) -> list[Any]:
    return inputs if isinstance(inputs, list) else [inputs]


def _mini_batch_step(inputs: Any, nearest: Any, centers: Any, counts: Any) -> Any:
    """Centers move to the mean of all that they ever got: by (sum - k center) / (n + k)."""
    updates = []
    for points, numbers in zip(inputs, nearest, strict=True):
        ids, places = unique(numbers)
        num_ids = shape(ids)[0]
        before = gather(counts, ids)
        added = unsorted_segment_sum(ones_like(places, dtype=counts.dtype), places, num_ids)
        total = reshape(cast(before + added, points.dtype), [-1, 1])
        pull = unsorted_segment_sum(points, places, num_ids)
        pull -= reshape(cast(added, points.dtype), [-1, 1]) * gather(centers, ids)
        change = pull / total
        with control_dependencies([change]):  # the counts as they were
            updates.append(scatter_add(counts, ids, added))
        updates.append(scatter_add(centers, ids, change))
    return group(*updates)
