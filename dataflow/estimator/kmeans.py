"""K-means as an estimator: `tf.estimator.experimental.KMeans`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.estimator import clustering
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.export_outputs import PredictOutput
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.metrics import mean
from dataflow.ops.array import concat, expand_dims, identity
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import reduce_sum
from dataflow.ops.state import assign_add
from dataflow.ops.summary import scalar
from dataflow.train.global_step import get_global_step
from dataflow.train.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from dataflow.runtime.base_session import BaseSession

__all__ = ["KMeans"]


class _ChooseCenters(SessionRunHook):
    """Runs the op that chooses centers, after the session was made, until all are chosen."""

    def __init__(self, init_op: Any, initialized: Any, is_chief: bool) -> None:
        self._init_op = init_op
        self._initialized = initialized
        self._is_chief = is_chief

    def after_create_session(self, session: BaseSession, coord: Any) -> None:
        import time

        while not session.run(self._initialized):
            if self._is_chief:
                session.run(self._init_op)
            else:
                time.sleep(1)


class _StopAtSmallChange(SessionRunHook):
    """Stops when the loss changes, from step to step, by less than a part of what it was."""

    def __init__(self, loss: TensorLike, tolerance: float) -> None:
        self._loss = loss
        self._tolerance = tolerance
        self._before: float | None = None

    def before_run(self, run_context: Any) -> Any:
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        loss = float(run_values.results)
        if self._before is not None:
            if abs(loss - self._before) < self._tolerance * (1e-20 + abs(self._before)):
                run_context.request_stop()
        self._before = loss


def _points(features: Any, columns: Any) -> Any:
    """The points (n, d) of an ``input_fn``'s features."""
    if isinstance(features, dict):
        if columns is not None:
            from dataflow.feature_column import input_layer

            return input_layer(features, columns)
        parts = [convert_to_tensor(features[key]) for key in sorted(features)]
        parts = [expand_dims(p, 1) if p.shape.ndims == 1 else p for p in parts]
        return concat(parts, 1) if len(parts) > 1 else parts[0]
    return convert_to_tensor(features)


class KMeans(Estimator):
    """Finds ``num_clusters`` centers of the points (n, d) that ``input_fn`` gives.

    ``input_fn`` returns points, float32, or a dictionary of columns, and no labels. With
    ``use_mini_batch=False`` each step is an iteration over all points, which ``input_fn`` gives each
    time. Choosing the centers takes a batch too, the first. ``relative_tolerance`` ends a training when the loss (the sum of squared distances, or of
    cosine distances) changes by less than this part of it. The other arguments are those of
    `tensorflow.python.ops.clustering_ops.KMeans` and of `tf.estimator.Estimator`.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    CLUSTER_CENTERS_VAR_NAME = clustering.CLUSTERS_VAR_NAME
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = clustering.RANDOM_INIT,
        distance_metric: str = clustering.SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Sequence[Any] | None = None,
    ) -> None:
        self._distance_metric = distance_metric

        def model_fn(features: Any, mode: Any, config: Any) -> Any:
            points = _points(features, feature_columns)
            distances, nearest, scores, initialized, init_op, step = clustering.KMeans(
                points,
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            loss = reduce_sum(scores[0])
            scalar("loss/raw", loss)
            with control_dependencies([init_op]):
                # Choosing takes a batch: it counts as a step, or a training of one batch would save nothing.
                choose = assign_add(get_global_step(), 1).op
            with control_dependencies([step, assign_add(get_global_step(), 1)]):
                train_op = identity(loss)
            hooks: list[Any] = [_ChooseCenters(choose, initialized, config.is_chief)]
            if relative_tolerance is not None:
                hooks.append(_StopAtSmallChange(loss, relative_tolerance))
            found = {self.ALL_DISTANCES: distances[0], self.CLUSTER_INDEX: nearest[0]}
            exports = {key: PredictOutput(value) for key, value in found.items()}
            exports["serving_default"] = PredictOutput(nearest[0])
            return EstimatorSpec(
                mode=mode,
                predictions=found,
                loss=loss,
                train_op=train_op,
                eval_metric_ops={self.SCORE: mean(loss)},
                training_hooks=hooks,
                export_outputs=exports,
            )

        # The arguments are checked now, not in the first training.
        clustering.KMeans.check(initial_clusters, distance_metric)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def _predictions(self, input_fn: Callable[..., Any], key: str) -> Iterator[Any]:
        for found in self.predict(input_fn=input_fn, predict_keys=[key]):
            yield found[key]

    def predict_cluster_index(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The number of each point's nearest center, one after the other."""
        return self._predictions(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The distances of each point to all centers: arrays (num_clusters,), Euclidean or cosine."""
        for row in self._predictions(input_fn, self.ALL_DISTANCES):
            if self._distance_metric == self.SQUARED_EUCLIDEAN_DISTANCE:
                yield np.sqrt(row)
            else:
                yield row

    def score(self, input_fn: Callable[..., Any]) -> Any:
        """The sum of squared (or cosine) distances of one batch's points to their nearest centers."""
        return self.evaluate(input_fn=input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> Any:
        """The centers, an array (num_clusters, d), as the last checkpoint has them."""
        return self.get_variable_value(self.CLUSTER_CENTERS_VAR_NAME)
