"""Means and variances of a series, kept up with each batch that trains."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.contrib.timeseries.keys import TrainEvalFeatures
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.initializers import constant_initializer
from dataflow.ops.math import maximum, minimum, reduce_max, reduce_min, reduce_sum, rint, square
from dataflow.ops.moments import moments
from dataflow.ops.reduce import argmin
from dataflow.ops.variable_scope import get_variable, variable_scope


class Moments(NamedTuple):
    """Of each feature, [features]."""

    mean: Any
    variance: Any


class InputStatistics(NamedTuple):
    """Of the first steps of the series, of all of it, its first time, and how many steps it has."""

    series_start_moments: Moments
    overall_feature_moments: Moments
    start_time: Any
    total_observation_count: Any


class InputStatisticsFromMiniBatch:
    """Learns `InputStatistics` from the windows that it sees while training."""

    def __init__(
        self, num_features: int, dtype: Any, starting_variance_window_size: int = 16
    ) -> None:
        self._num_features, self._dtype = num_features, dtype
        self._first_steps = starting_variance_window_size

    def initialize_graph(
        self, features: dict[str, Any], update_statistics: bool = True
    ) -> InputStatistics:
        """The statistics, after those of ``features`` where they are to be counted."""
        with variable_scope("input_statistics", use_resource=True):
            known = self._variables()
        with variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = self._sums()
        times = features.get(TrainEvalFeatures.TIMES)
        values = features.get(TrainEvalFeatures.VALUES)
        if not update_statistics or times is None or values is None:
            return known
        with control_dependencies([self._update(known, sums, times, cast(values, self._dtype))]):
            first = minimum(known.start_time.read_value(), reduce_min(times))
            return InputStatistics(
                Moments(*(v.read_value() for v in known.series_start_moments)),
                Moments(*(v.read_value() for v in known.overall_feature_moments)),
                first,
                known.total_observation_count.read_value(),
            )

    def _variable(self, name: str, value: Any, dtype: Any, shape: Any = ()) -> Any:
        return get_variable(
            name,
            shape=list(shape),
            dtype=dtype,
            initializer=constant_initializer(value),
            trainable=False,
        )

    def _variables(self) -> InputStatistics:
        def both(name: str, variance: str) -> Moments:
            shape = [self._num_features]
            return Moments(
                self._variable(f"{name}_mean", 0, self._dtype, shape),
                self._variable(f"{name}_{variance}", 1, self._dtype, shape),
            )

        return InputStatistics(
            both("series_start", "variance"),
            both("overall_feature", "var"),
            self._variable("start_time", dtypes.int64.max, dtypes.int64),
            self._variable("total_observation_count", 1, dtypes.int64),
        )

    def _sums(self) -> dict[str, Any]:
        whole, shape = dtypes.int64, [self._num_features]
        return {
            "last": self._variable("max_time_seen", whole.min, whole),
            "chunks": self._variable("chunk_count", 0, whole),
            "durations": self._variable("inter_observation_duration_sum", 0, self._dtype),
            "examples": self._variable("example_count", 0, whole),
            "sum": self._variable("overall_feature_sum", 0, self._dtype, shape),
            "squares": self._variable("overall_feature_sum_of_squares", 0, self._dtype, shape),
        }

    def _update(
        self, known: InputStatistics, sums: dict[str, Any], times: Tensor, values: Tensor
    ) -> Any:
        shape = array.shape(times, out_type=dtypes.int64)
        spans = cast(reduce_max(times, axis=1) - reduce_min(times, axis=1), self._dtype)
        counted = group(
            sums["last"].assign(maximum(sums["last"], reduce_max(times))),
            sums["chunks"].assign_add(shape[0]),
            sums["durations"].assign_add(reduce_sum(spans / cast(shape[1] - 1, self._dtype))),
            sums["examples"].assign_add(shape[0] * shape[1]),
            sums["sum"].assign_add(reduce_sum(values, axis=[0, 1])),
            sums["squares"].assign_add(reduce_sum(square(values), axis=[0, 1])),
        )
        with control_dependencies([counted]):
            read = {name: variable.read_value() for name, variable in sums.items()}
            count = cast(read["examples"], self._dtype)
            mean = read["sum"] / count
            variance = count / (count - 1.0) * (read["squares"] / count - square(mean))
            updates = [
                known.overall_feature_moments.mean.assign(mean),
                known.overall_feature_moments.variance.assign(variance),
            ]
            row = cast(argmin(times[:, 0]), dtypes.int32)
            started = cond(
                times[row, 0] <= known.start_time,
                lambda: self._started(known, values[row, : self._first_steps]),
                no_op,
            )
            with control_dependencies([started]):
                first = minimum(known.start_time, reduce_min(times))
                updates.append(known.start_time.assign(first))
            step = read["durations"] / cast(read["chunks"], self._dtype)
            total = rint(cast(read["last"] - first + 1, self._dtype) / step)
            updates.append(known.total_observation_count.assign(cast(total, dtypes.int64)))
            return group(started, *updates)

    def _started(self, known: InputStatistics, values: Tensor) -> Any:
        mean, variance = moments(values, axes=[0])
        start = known.series_start_moments
        return group(start.mean.assign(mean), start.variance.assign(variance))
