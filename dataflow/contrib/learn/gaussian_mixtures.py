"""Mixtures of Gaussians by expectation and maximization (Dempster, Laird and Rubin, 1977): a graph, and `GMM`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.contrib.learn.estimator import Estimator
from dataflow.contrib.learn.model_fn import ModelFnOps
from dataflow.estimator.last_values import last_value
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.decompositions import cholesky
from dataflow.ops.elementary import exp, log, square
from dataflow.ops.gather_scatter import gather
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.math import add_n, matmul, reduce_mean, reduce_sum
from dataflow.ops.matrix_diag import eye, matrix_diag_part
from dataflow.ops.random import random_uniform
from dataflow.ops.reduce import argmax, reduce_logsumexp
from dataflow.ops.solvers import matrix_triangular_solve
from dataflow.ops.sources import constant
from dataflow.ops.state import assign
from dataflow.ops.variables import Variable
from dataflow.train.checkpoint_management import load_variable
from dataflow.train.global_step import get_global_step
from dataflow.train.session_run_hook import SessionRunHook

FULL_COVARIANCE = "full"
DIAG_COVARIANCE = "diag"
#: Added to variances, so that no cluster shrinks to a point.
_MIN_VARIANCE = 1e-3
_EPSILON = float(np.finfo(float).eps)


class GmmAlgorithm:
    """The graph of a mixture of ``num_classes`` Gaussians of ``data``, a list of float32 [n, d].

    ``initial_means``: [classes, d], or None: examples drawn with ``random_seed``. ``params``: which parameters are
    learned, of "w" (weights), "m" (means) and "c" (covariances). ``covariance_type``: "full" or "diag".
    """

    CLUSTERS_WEIGHT = "alphas"
    CLUSTERS_VARIABLE = "clusters"
    CLUSTERS_COVS_VARIABLE = "clusters_covs"

    def __init__(
        self,
        data: Sequence[Any],
        num_classes: int,
        initial_means: Any = None,
        params: str = "wmc",
        covariance_type: str = FULL_COVARIANCE,
        random_seed: int | None = 0,
    ) -> None:
        if covariance_type not in (DIAG_COVARIANCE, FULL_COVARIANCE):
            raise ValueError(f"covariance_type is 'full' or 'diag', got {covariance_type!r}.")
        self._params, self._num_classes = params, num_classes
        self._full = covariance_type == FULL_COVARIANCE
        shards = [cast(convert_to_tensor(part), dtypes.float32) for part in data]
        self._size = array.shape(shards[0])[1]
        self._means = self._variable([], self.CLUSTERS_VARIABLE)
        self._covs = self._variable([], self.CLUSTERS_COVS_VARIABLE)
        shares = np.full(num_classes, 1.0 / num_classes, np.float32)
        self._alpha = self._variable(shares, self.CLUSTERS_WEIGHT)
        self._initialized = Variable(False, name="initialized", trainable=False)
        self._init = self._initialization(shards, initial_means, random_seed)
        logs = [self._log_probabilities(part) for part in shards]
        self._totals = [reduce_logsumexp(part, axis=1, keepdims=True) for part in logs]
        self._w = [exp(part - total) for part, total in zip(logs, self._totals, strict=True)]
        self._train = self._maximization(shards)

    def _variable(self, value: Any, name: str) -> Any:
        first = constant(value, dtype=dtypes.float32)
        return Variable(first, name=name, validate_shape=False)

    def _initialization(self, shards: list[Tensor], means: Any, seed: int | None) -> Any:
        if means is None:
            every = shards[0] if len(shards) == 1 else array.concat(shards, 0)
            limit = cast(array.shape(every)[0], dtypes.int64)
            rows = random_uniform(
                [self._num_classes], minval=0, maxval=limit, seed=seed, dtype=dtypes.int64
            )
            means = gather(every, rows)
        means = array.expand_dims(cast(convert_to_tensor(means), dtypes.float32), 1)
        spread = covariance(shards[0], not self._full)
        if self._full:
            spread = array.expand_dims(spread + _MIN_VARIANCE * eye(self._size), 0)
            spread = array.tile(spread, [self._num_classes, 1, 1])
        else:
            spread = array.tile(spread + _MIN_VARIANCE, [self._num_classes, 1])

        def begin() -> Any:
            set_means = assign(self._means, means, validate_shape=False)
            set_covs = assign(self._covs, spread, validate_shape=False)
            with control_dependencies([set_means, set_covs]):
                return group(assign(self._initialized, True))

        return group(cond(self._initialized.read_value(), no_op, begin))

    def _log_probabilities(self, points: Tensor) -> Tensor:
        """The log of each cluster's share and density at the points: [n, classes]."""
        centered = array.expand_dims(points, 0) - self._means  # [classes, n, d]
        if self._full:
            root = cholesky(self._covs + _MIN_VARIANCE * eye(self._size))
            log_volume = 2.0 * reduce_sum(log(matrix_diag_part(root)), 1)
            solved = matrix_triangular_solve(root, array.transpose(centered, [0, 2, 1]), lower=True)
            distance = reduce_sum(square(solved), 1)
        else:
            variances = self._covs + _MIN_VARIANCE
            log_volume = reduce_sum(log(variances), 1)
            distance = reduce_sum(square(centered) / array.expand_dims(variances, 1), 2)
        constants = cast(self._size, dtypes.float32) * math.log(2.0 * math.pi)
        found: Tensor = -0.5 * (array.transpose(distance) + constants + log_volume)
        return found + log(self._alpha)  # type: ignore[no-any-return]

    def _maximization(self, shards: list[Tensor]) -> list[Any]:
        """The operations that update weights, means and covariances."""
        counts = add_n([reduce_sum(w, 0) for w in self._w])  # [classes]
        sums = add_n([matmul(w, x, transpose_a=True) for w, x in zip(self._w, shards, strict=True)])
        squares = add_n([_weighted_squares(w, x) for w, x in zip(self._w, shards, strict=True)])
        train = []
        with control_dependencies(self._w):
            if "w" in self._params:
                shares = counts / len(shards)
                train.append(assign(self._alpha, shares / (reduce_sum(shares) + _EPSILON)))
            set_means = no_op()
            column = array.reshape(counts, [-1, 1, 1]) + _EPSILON
            if "m" in self._params:
                means = array.expand_dims(sums, 1) / column
                set_means = assign(self._means, means, validate_shape=False)
            with control_dependencies([set_means, squares, column]):
                center = self._means.read_value()
                covs = squares / column - matmul(center, center, transpose_a=True)
                if self._full:
                    covs = covs + _MIN_VARIANCE * eye(self._size)
                else:
                    covs = matrix_diag_part(covs) + _MIN_VARIANCE
                train.append(set_means)
                if "c" in self._params:
                    train.append(assign(self._covs, covs, validate_shape=False))
        return train

    def init_ops(self) -> Any:
        """The operation that sets means and covariances, the first time alone."""
        return self._init

    def training_ops(self) -> Any:
        """The operation of one step."""
        return group(*self._train)

    def is_initialized(self) -> Any:
        """Whether `init_ops` ran."""
        return self._initialized

    def alphas(self) -> Any:
        """The clusters' shares [classes]."""
        return self._alpha

    def clusters(self) -> Any:
        """The means [classes, 1, d]."""
        return self._means

    def covariances(self) -> Any:
        """The covariances [classes, d, d], or the variances [classes, d]."""
        return self._covs

    def assignments(self) -> list[Tensor]:
        """The most likely cluster of each example, int64 [n], for each part of the data."""
        return [argmax(w, 1) for w in self._w]

    def scores(self) -> Tensor:
        """The log density of each example [n, 1]; of several parts of the data as many [parts, n, 1]."""
        parts = [
            reduce_logsumexp(total + log(w), axis=1, keepdims=True)
            for total, w in zip(self._totals, self._w, strict=True)
        ]
        return parts[0] if len(parts) == 1 else array.stack(parts)

    def log_likelihood_op(self) -> Tensor:
        """The log of the sum of all densities, as TensorFlow's: not the sum of their logs."""
        parts = [reduce_logsumexp(total) for total in self._totals]
        found: Tensor = reduce_logsumexp(array.stack(parts))
        return found


def covariance(x: Tensor, diag: bool) -> Tensor:
    """The covariance of rows [n, d]: [d, d], or the variances [1, d]."""
    count = cast(array.shape(x)[0], dtypes.float32)
    x = x - reduce_mean(x, 0, keepdims=True)
    if diag:
        return reduce_sum(square(x), 0, keepdims=True) / (count - 1)  # type: ignore[no-any-return]
    return matmul(x, x, transpose_a=True) / (count - 1)  # type: ignore[no-any-return]


_covariance = covariance  # its name in TensorFlow


def _weighted_squares(w: Tensor, x: Tensor) -> Tensor:
    """The sums of w x xT over examples, for each class: [classes, d, d]."""
    rows = array.expand_dims(array.transpose(w), 2) * array.expand_dims(x, 0)
    whole = array.tile(array.expand_dims(x, 0), array.stack([array.shape(w)[1], 1, 1]))
    found: Tensor = matmul(rows, whole, transpose_a=True)
    return found


def gmm(
    inp: Any,
    initial_clusters: Any,
    num_clusters: int,
    random_seed: int | None,
    covariance_type: str = FULL_COVARIANCE,
    params: str = "wmc",
) -> tuple[Any, ...]:
    """(log likelihood, scores, [assignments], the training, the initializing operation, whether it ran)."""
    drawn = isinstance(initial_clusters, str) and initial_clusters == "random"
    means = None if drawn else initial_clusters
    data = inp if isinstance(inp, list) else [inp]
    made = GmmAlgorithm(data, num_clusters, means, params, covariance_type, random_seed)
    return (
        made.log_likelihood_op(),
        made.scores(),
        [made.assignments()],
        made.training_ops(),
        made.init_ops(),
        made.is_initialized(),
    )


class _Initialize(SessionRunHook):
    """Sets the clusters before the first step."""

    def __init__(self, init: Any, initialized: Any) -> None:
        self._init, self._initialized = init, initialized

    def after_create_session(self, session: Any, coord: Any) -> None:
        if not session.run(self._initialized):
            session.run(self._init)


class GMM(Estimator):
    """A mixture of Gaussians as an estimator of `tf.contrib.learn`.

    Arguments as those of `GmmAlgorithm`. Features: float32 [n, d], or a dict of such columns, side by side in the
    order of their names; no labels.
    """

    SCORES = "scores"
    LOG_LIKELIHOOD = "loss"
    ASSIGNMENTS = "assignments"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        random_seed: int | None = 0,
        params: str = "wmc",
        initial_clusters: Any = "random",
        covariance_type: str = FULL_COVARIANCE,
        config: Any = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
            if labels is not None:
                raise ValueError(f"GMM takes no labels, got {labels!r}.")
            if isinstance(features, dict):
                features = array.concat([features[key] for key in sorted(features)], 1)
            loss, scores, assigned, train, init, initialized = gmm(
                features, initial_clusters, num_clusters, random_seed, covariance_type, params
            )
            total = Variable(
                0.0, trainable=False, collections=["local_variables"], name="log_likelihood"
            )
            with control_dependencies([train, get_global_step().assign_add(1).op]):
                train_op = array.identity(loss)
            return ModelFnOps(
                mode,
                predictions={GMM.ASSIGNMENTS: assigned[0][0]},
                loss=loss,
                train_op=train_op,
                eval_metric_ops={
                    GMM.SCORES: last_value(GMM.SCORES, scores),
                    GMM.LOG_LIKELIHOOD: (total.value(), total.assign_add(loss)),
                },
                training_hooks=[_Initialize(init, initialized)],
            )

        super().__init__(model_fn, model_dir, config)

    def predict_assignments(
        self, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None
    ) -> Iterator[Any]:
        """The cluster of each example."""
        for row in self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs):
            yield row[GMM.ASSIGNMENTS]

    def score(self, input_fn: Any = None, batch_size: int | None = None, steps: Any = None) -> Any:
        """The log of the sum of the densities at the examples of the last batch, as TensorFlow's."""
        found = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.log(np.sum(np.exp(found[GMM.SCORES])))

    def weights(self) -> Any:
        """The clusters' shares [clusters]."""
        return load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_WEIGHT)

    def clusters(self) -> Any:
        """The clusters' means [clusters, d]."""
        return np.squeeze(load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_VARIABLE), 1)

    def covariances(self) -> Any:
        """The clusters' covariances [clusters, d, d], or variances [clusters, d]."""
        return load_variable(self.model_dir, GmmAlgorithm.CLUSTERS_COVS_VARIABLE)
