"""``tf.contrib.factorization``: k-means and mixtures of Gaussians, graphs and estimators; weighted least squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.contrib.learn.gaussian_mixtures import GMM, GmmAlgorithm, gmm
from dataflow.contrib.wals import WALSModel
from dataflow.estimator import kmeans as _estimator
from dataflow.estimator.clustering import (
    CLUSTERS_VAR_NAME,
    COSINE_DISTANCE,
    KMC2_INIT,
    KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT,
    SQUARED_EUCLIDEAN_DISTANCE,
    KMeans,
)
from dataflow.namespaces import explain_absent

__all__ = [
    "CLUSTERS_VAR_NAME",
    "COSINE_DISTANCE",
    "GMM",
    "KMC2_INIT",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "GmmAlgorithm",
    "KMeans",
    "KMeansClustering",
    "WALSModel",
    "gmm",
]

__getattr__ = explain_absent(__name__)


class KMeansClustering(_estimator.KMeans):
    """`tf.estimator.experimental.KMeans` under its older name, whose seed was ``random_seed``."""

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int | None = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(
            num_clusters,
            model_dir=model_dir,
            initial_clusters=initial_clusters,
            distance_metric=distance_metric,
            seed=random_seed,
            use_mini_batch=use_mini_batch,
            mini_batch_steps_per_iteration=mini_batch_steps_per_iteration,
            kmeans_plus_plus_num_retries=kmeans_plus_plus_num_retries,
            relative_tolerance=relative_tolerance,
            config=config,
            feature_columns=feature_columns,
        )
