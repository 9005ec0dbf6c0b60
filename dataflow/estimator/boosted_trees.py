"""Boosted trees as a model: `BoostedTreesClassifier` and the other estimators are in `tree_estimators`.

A model is a few variables (`tree_growth.Tree`, with an axis for the trees). Predictions are ordinary ops that
walk through all trees at once; a step of training ends with one Python function that grows the last tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow import dtypes
from dataflow.autodiff.gradients import gradients
from dataflow.estimator import tree_growth as growth
from dataflow.estimator.heads import Head
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.estimator.quantiles import Quantiles, batch_summary
from dataflow.estimator.tree_features import TreeFeatures
from dataflow.feature_column.numeric import numeric_column
from dataflow.feature_column.transformation import FeatureTransformationCache
from dataflow.graph.collections import GraphKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.comparison import greater, greater_equal
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.graph_functions import control_dependencies, name_scope
from dataflow.ops.math import maximum
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.script_ops import py_func
from dataflow.ops.sources import constant
from dataflow.ops.state import assign, scatter_update
from dataflow.ops.summary import scalar
from dataflow.ops.variables import Variable
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook

Array = np.ndarray[Any, Any]
SCOPE = "boosted_trees"


class Options(NamedTuple):
    """An estimator's options for its trees, apart from how they grow."""

    center_bias: bool
    quantile_sketch_epsilon: float
    n_batches_per_layer: Any
    weight_column: Any = None
    #: Whether each batch is all of the data, so that the sums of finished trees can be kept.
    train_in_memory: bool = False
    #: ``(logits, labels) -> (gradients, hessians)``; those of the head's loss where None.
    derivatives: Callable[[Tensor, Any], tuple[Tensor, Tensor]] | None = None

    @property
    def num_quantiles(self) -> int:
        """The number of buckets of a numeric feature."""
        return int(1.0 / self.quantile_sketch_epsilon)


class Model:
    """The variables of boosted trees in the default graph."""

    def __init__(self, settings: growth.Settings, options: Options, features: TreeFeatures) -> None:
        self._settings, self._features = settings, features
        trees = growth.empty_trees(settings.n_trees + 1, settings.max_depth)
        self.trees: list[Any] = [_variable(v, n) for n, v in trees._asdict().items()]
        self._width = trees.feature.shape[1]
        self.state = _variable(np.array([0, 0, 0, 0, 0, 1], np.int64), "state")
        #: Of each numeric feature; infinite after the first `num_boundaries`.
        shape = (features.num_floats, 2 * options.num_quantiles)
        self.boundaries = _variable(np.full(shape, np.inf, np.float32), "boundaries")
        self.sizes = _variable(np.zeros(shape[0], np.int32), "num_boundaries")

    def buckets(self, features: dict[Any, Any]) -> Tensor:
        """The features as the trees test them: int32 [n, features]."""
        return self._features.buckets(features, self.boundaries, self.sizes)

    def logits(self, buckets: Tensor, first: Any, end: Tensor) -> Tensor:
        """The sum of the leaves of the trees from ``first`` up to ``end``: float32 [n, 1]."""
        feature, threshold, left, value = (
            array.reshape(part[first:end], [-1]) for part in self.trees[:4]
        )
        num_features = len(self._features.names)
        flat = array.reshape(buckets, [-1])
        rows = array.expand_dims(array.range_(array.shape(buckets)[0]) * num_features, 1)
        trees = array.expand_dims(array.range_(end - first) * self._width, 0)
        node = array.zeros_like(rows + trees)
        for _ in range(self._settings.max_depth):
            asked = array.gather(feature, node + trees)
            bucket = array.gather(flat, rows + maximum(asked, 0))
            right = cast(greater(bucket, array.gather(threshold, node + trees)), dtypes.int32)
            below = array.gather(left, node + trees) + right
            node = array.where(greater_equal(asked, 0), below, node)
        return reduce_sum(array.gather(value, node + trees), 1, keepdims=True)

    def kept_logits(self, buckets: Tensor, count: Tensor) -> tuple[Tensor, Any]:
        """The logits [n, 1] of the first ``count`` trees, and an op that caches those of all but the last of them.

        For training in memory, where each batch has the same rows."""
        local = [GraphKeys.LOCAL_VARIABLES]
        past = Variable(
            np.zeros((1, 1), np.float32), False, local, validate_shape=False, name="past_logits"
        )
        finished = Variable(np.int32(0), False, local, name="past_trees")
        before, end = array.identity(finished), maximum(count - 1, 0)
        sums = array.identity(past) + self.logits(buckets, before, end)
        sums.set_shape([None, 1])
        total = sums + self.logits(buckets, end, count)
        with control_dependencies([total]):
            keep = group(assign(past, sums, validate_shape=False), finished.assign(end))
        return total, keep


def _variable(value: Array, name: str) -> Variable:
    return Variable(value, trainable=False, name=name)


def _count(state: Any) -> Tensor:
    return cast(state[growth.TREES], dtypes.int32)  # type: ignore[no-any-return]


def model_fn(
    features: Any,
    labels: Any,
    mode: str,
    config: Any,
    head: Head,
    columns: Any,
    settings: growth.Settings,
    options: Options,
    with_buckets: bool = False,
) -> EstimatorSpec:
    """The model for one mode; ``with_buckets`` adds what trees are asked for to the predictions."""
    if settings.max_depth < 1 or settings.n_trees < 1:
        raise ValueError("Boosted trees need n_trees and max_depth of at least 1.")
    if config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
        raise ValueError("Boosted trees are trained by one process here, in one session.")
    sources = TreeFeatures(columns, options.num_quantiles)
    with name_scope(f"{SCOPE}/"):
        model = Model(settings, options, sources)
        buckets = model.buckets(features)
        state = array.identity(model.state)
        if mode == ModeKeys.TRAIN and options.train_in_memory:
            logits, keep = model.kept_logits(buckets, _count(state))
        else:
            logits, keep = model.logits(buckets, 0, _count(state)), no_op()
    if mode == ModeKeys.TRAIN:
        training = _Training(model, settings, options, sources)
        spec = training.spec(head, features, labels, buckets, state, logits)
        return spec._replace(train_op=group(spec.train_op, keep))
    spec = head.create_estimator_spec(features, mode, logits, labels, train_op_fn=lambda loss: loss)
    if with_buckets:
        spec = spec._replace(predictions={**spec.predictions, "buckets": buckets})
    return spec


class _Training:
    """Steps of training: quantiles of the features first, then the bias, then layer after layer.

    Each takes the statistics of ``n_batches_per_layer`` batches, which are kept here meanwhile.
    """

    def __init__(
        self, model: Model, settings: growth.Settings, options: Options, sources: TreeFeatures
    ) -> None:
        self._model, self._settings, self._options = model, settings, options
        self._sources = sources
        self._streams = [
            Quantiles(options.quantile_sketch_epsilon) for _ in range(sources.num_floats)
        ]
        self._waiting: list[Array] = []
        with name_scope(f"{SCOPE}/"):
            self._phase = _variable(
                np.array([sources.num_floats > 0, options.center_bias]), "phase"
            )

    def spec(
        self, head: Head, features: Any, labels: Any, buckets: Tensor, state: Tensor, logits: Tensor
    ) -> EstimatorSpec:
        """The spec for training."""
        scalar("ensemble/num_trees", state[growth.TREES])
        scalar("ensemble/num_finalized_trees", maximum(state[growth.TREES] - 1, 0))
        scalar("ensemble/num_attempted_layers", state[growth.TRIED])

        def train_op(loss: Tensor) -> Any:
            if self._options.derivatives is not None:
                first, second = self._options.derivatives(logits, labels)
            else:
                (first,) = gradients(loss, logits)
                (second,) = gradients(first, logits)
            return self._train_op(features, buckets, state, first, second)

        spec = head.create_estimator_spec(
            features, ModeKeys.TRAIN, logits, labels, train_op_fn=train_op
        )
        stop = _StopWhenGrown(self._model.state, self._settings)
        return spec._replace(training_hooks=(*spec.training_hooks, stop))

    def _train_op(
        self, features: Any, buckets: Tensor, state: Tensor, first: Tensor, second: Tensor
    ) -> Any:
        model, num_floats = self._model, self._sources.num_floats
        place = maximum(_count(state) - 1, 0)
        floats = self._sources.floats(features) if num_floats else array.zeros([0, 0])
        given = [self._phase, state, *(part[place] for part in model.trees)]
        given += [model.boundaries, model.sizes, buckets, floats, self._weights(features)]
        kept = [self._phase, model.state, *model.trees, model.boundaries, model.sizes]
        types = [v.dtype.base_dtype for v in kept]
        made = py_func(self._step, [*given, first, second], [*types, dtypes.int64])
        updates = [
            scatter_update(v, place, value) if v in model.trees else v.assign(_like(value, v))
            for v, value in zip(kept, made[:-1], strict=True)
        ]
        with control_dependencies(updates):
            step = get_or_create_global_step()
            return group(step.assign_add(cast(made[-1], step.dtype.base_dtype)), name="grow_op")

    def _weights(self, features: Any) -> Tensor:
        column = self._options.weight_column
        if column is None:
            return constant([1.0])
        if isinstance(column, str):
            column = numeric_column(column)
        found = FeatureTransformationCache(features).get(column)
        return array.reshape(convert_to_tensor(found), [-1])

    def _step(
        self,
        phase: Array,
        state: Array,
        feature: Array,
        threshold: Array,
        left: Array,
        value: Array,
        gain: Array,
        boundaries: Array,
        sizes: Array,
        buckets: Array,
        floats: Array,
        weights: Array,
        first: Array,
        second: Array,
    ) -> list[Any]:
        """The variables after a step, in the order of the arguments, and whether the step counts."""
        tree, phase = growth.Tree(feature, threshold, left, value, gain), phase.copy()
        first, second = first.reshape(-1), second.reshape(-1)
        counts = 1
        if phase[0]:
            counts = 0
            boundaries, sizes, phase[0] = self._cut(boundaries, sizes, floats, weights)
        elif phase[1]:
            means = self._mean(np.array([np.mean(first), np.mean(second)], np.float32))
            if means is not None:
                tree, state, phase[1] = growth.centered(
                    tree, state, means[0], means[1], self._settings
                )
        else:
            tree, state = self._grown(tree, state, buckets, first, second)
        return [phase, state, *tree, boundaries, sizes, np.int64(counts)]

    def _grown(
        self, tree: growth.Tree, state: Array, buckets: Array, first: Array, second: Array
    ) -> tuple[growth.Tree, Array]:
        if state[growth.TREES] > self._settings.n_trees:
            return tree, state  # a training that goes on after all trees are there
        nodes = growth.leaves_of(tree, buckets)
        sums = growth.statistics(
            nodes, buckets, first, second, state[growth.FIRST], state[growth.END],
            self._sources.num_buckets,
        )  # fmt: skip
        mean = self._mean(sums)
        return (tree, state) if mean is None else growth.grown(tree, state, mean, self._settings)

    def _mean(self, batch: Array) -> Array | None:
        """The mean over the batches of a layer, once they are there."""
        self._waiting.append(batch)
        if len(self._waiting) < self._options.n_batches_per_layer:
            return None
        total = self._waiting[0].copy()
        for other in self._waiting[1:]:
            total += other
        total /= np.float32(len(self._waiting))
        self._waiting = []
        return total

    def _cut(
        self, boundaries: Array, sizes: Array, floats: Array, weights: Array
    ) -> tuple[Array, Array, bool]:
        """The boundaries, how many there are of each feature, and whether they need more batches."""
        weights = np.broadcast_to(weights, floats.shape[:1])
        epsilon = self._options.quantile_sketch_epsilon
        for i, stream in enumerate(self._streams):
            stream.add_summary(batch_summary(floats[:, i], weights, epsilon))
        self._waiting.append(sizes)
        if len(self._waiting) < self._options.n_batches_per_layer:
            return boundaries, sizes, True
        self._waiting = []
        boundaries, sizes = np.full_like(boundaries, np.inf), sizes.copy()
        for i, stream in enumerate(self._streams):
            cuts = stream.boundaries(self._options.num_quantiles)[: boundaries.shape[1]]
            boundaries[i, : len(cuts)], sizes[i] = cuts, len(cuts)
        return boundaries, sizes, False


def _like(value: Tensor, variable: Variable) -> Tensor:
    value.set_shape(variable.shape)
    return value


class _StopWhenGrown(SessionRunHook):
    """Ends training when all trees are grown, or after trying twice as many layers as they have."""

    def __init__(self, state: Variable, settings: growth.Settings) -> None:
        self._state, self._settings = state, settings

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for the state, as it is before or after the step."""
        return SessionRunArgs(self._state)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends the training when the trees are grown; reads the state after the step where that may be so."""
        if self._is_done(run_values.results, 1):
            run_values = run_context.session.run(self._state)
            if self._is_done(run_values, 0):
                run_context.request_stop()

    def _is_done(self, state: Array, ahead: int) -> bool:
        trees, layers = self._settings.n_trees, self._settings.n_trees * self._settings.max_depth
        done = max(int(state[growth.TREES]) - 1, 0)
        return bool(done >= trees - ahead or state[growth.TRIED] > 2 * layers - ahead)
