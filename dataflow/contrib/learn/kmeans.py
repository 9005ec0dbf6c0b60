"""`KMeansClustering` with the ``fit`` of `tf.contrib.learn`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.run_config import RunConfig
from dataflow.estimator import clustering


class KMeansClustering(Estimator):
    """Finds ``num_clusters`` centers of points (n, d); `tf.estimator.experimental.KMeans` says how.

    ``input_fn`` returns (points, None). Predictions are dicts with "cluster_idx" and "all_scores", the
    squared (or cosine) distances to all centers.
    """

    SQUARED_EUCLIDEAN_DISTANCE = clustering.SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = clustering.COSINE_DISTANCE
    RANDOM_INIT = clustering.RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = clustering.KMEANS_PLUS_PLUS_INIT
    SCORES = "scores"
    CLUSTER_IDX = "cluster_idx"
    CLUSTERS = "clusters"
    ALL_SCORES = "all_scores"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = clustering.RANDOM_INIT,
        distance_metric: str = clustering.SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
    ) -> None:
        from dataflow.contrib.factorization import (
            KMeansClustering as Core,  # it imports this package
        )

        self._kmeans = Core(
            num_clusters, model_dir, initial_clusters, distance_metric, random_seed,
            use_mini_batch, mini_batch_steps_per_iteration, kmeans_plus_plus_num_retries,
            relative_tolerance, config or RunConfig(),
        )  # fmt: skip
        self.core = self._kmeans

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """`Estimator.evaluate`, with the sum of the distances as "scores"."""
        metrics = super().evaluate(*args, **kwargs)
        metrics[self.SCORES] = metrics.pop(self._kmeans.SCORE)
        return metrics

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions of each point; ``outputs`` picks some of their keys."""
        names = {
            self._kmeans.CLUSTER_INDEX: self.CLUSTER_IDX,
            self._kmeans.ALL_DISTANCES: self.ALL_SCORES,
        }
        keys = [key for key, name in names.items() if outputs is None or name in outputs]
        found = super().predict(x, input_fn, batch_size, keys, as_iterable, iterate_batches)
        if not as_iterable:
            return {names[key]: value for key, value in found.items()}
        return ({names[key]: value for key, value in row.items()} for row in found)

    def predict_cluster_idx(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The number of each point's nearest center, one after the other."""
        return (row[self.CLUSTER_IDX] for row in self.predict(input_fn=input_fn))

    def transform(self, input_fn: Callable[..., Any], as_iterable: bool = False) -> Any:
        """The distances of the points to all centers, (n, num_clusters); or an iterator of dicts."""
        found = self.predict(input_fn=input_fn, outputs=[self.ALL_SCORES], as_iterable=as_iterable)
        return found if as_iterable else found[self.ALL_SCORES]

    def score(self, input_fn: Callable[..., Any], steps: int | None = None) -> Any:
        """The sum of the points' distances to their nearest centers."""
        return np.sum(self.evaluate(input_fn=input_fn, steps=steps)[self.SCORES])

    def clusters(self) -> Any:
        """The centers, an array (num_clusters, d), as the last checkpoint has them."""
        return self._kmeans.cluster_centers()
