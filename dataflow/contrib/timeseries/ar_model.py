"""Autoregressive models of time series: a window of values predicts the values after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.contrib.timeseries.keys import PredictionFeatures, TrainEvalFeatures
from dataflow.contrib.timeseries.models import (
    ModelOutputs,
    TimeSeriesModel,
    cauchy_log_prob,
    exogenous,
    normal_log_prob,
)
from dataflow.contrib.timeseries.prediction_models import (
    FlatPredictionModel as FlatPredictionModel,
    LSTMPredictionModel as LSTMPredictionModel,
)
from dataflow.estimator.model_fn import ModeKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.activation import relu
from dataflow.ops.casts import cast
from dataflow.ops.elementary import exp, log, sqrt
from dataflow.ops.initializers import zeros_initializer
from dataflow.ops.math import maximum, minimum, reduce_mean, reduce_prod, reduce_sum, square
from dataflow.ops.pad import pad
from dataflow.ops.selection import where
from dataflow.ops.sequences import range_
from dataflow.ops.sources import constant
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variable_scope import get_variable, variable_scope
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import dimension_value

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
_MIN_VARIANCE = 1e-5


class ARModel(TimeSeriesModel):
    """Of ``input_window_size`` values it predicts the ``output_window_size`` that follow.

    ``periodicities``: a number or several; the time within each, in ``num_time_buckets`` pieces, is an input.
    ``prediction_model_factory``: makes the network, `FlatPredictionModel` by default. ``loss``: SQUARED_LOSS, or
    NORMAL_LIKELIHOOD_LOSS, which learns the variance too.
    """

    SQUARED_LOSS = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS = "normal_likelihood_loss"

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        num_time_buckets: int = 10,
        loss: str = NORMAL_LIKELIHOOD_LOSS,
        exogenous_feature_columns: Any = None,
    ) -> None:
        self._model_factory = prediction_model_factory
        self.input_window_size = input_window_size
        self.output_window_size = output_window_size
        self.window_size = input_window_size + output_window_size
        self.loss = loss
        super().__init__(num_features, exogenous_feature_columns)
        self.exogenous_size = 0
        if exogenous_feature_columns is not None:
            self.exogenous_size = self._get_exogenous_embedding_shape()[-1]
        several = isinstance(periodicities, (list, tuple))
        self._periodicities = [int(p) for p in (periodicities if several else [periodicities or 0])]
        if not several and not periodicities:
            self._periodicities = []
        self._buckets = int(num_time_buckets)
        if self._buckets < 1 or output_window_size < 1 or any(p < 1 for p in self._periodicities):
            raise ValueError(
                "num_time_buckets, output_window_size and periodicities must be positive, got "
                f"{num_time_buckets}, {output_window_size} and {periodicities}."
            )
        if not self._periodicities and not input_window_size:
            raise ValueError("Give periodicities or an input_window_size: there is no input else.")
        self._network: Any = None

    def initialize_graph(self, input_statistics: Any = None) -> None:
        super().initialize_graph(input_statistics)
        self._network = self._model_factory(
            num_features=self.num_features,
            input_window_size=self.input_window_size,
            output_window_size=self.output_window_size,
        )

    def get_start_state(self) -> Any:
        size = self.input_window_size
        return (
            array.zeros([size], dtype=dtypes.int64),
            array.zeros([size, self.num_features], dtype=self.dtype),
            array.zeros([size, self.exogenous_size], dtype=self.dtype),
        )

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """{"mean", "covariance"} [batch, output window, features], scaled, of a window's times.

        ``values``: [batch, input window, features], scaled; ``exogenous_regressors``: [batch, window, n].
        """
        size = self.input_window_size
        read, ahead = [], []
        if self._periodicities:
            made = self._time_features(times)
            read.append(made[:, :size])
            ahead.append(made[:, size:])
        if size:
            read.append(values[:, :size])
        if self.exogenous_size:
            read.append(exogenous_regressors[:, :size])
            ahead.append(exogenous_regressors[:, size:])
        batch, static = array.shape(times)[0], dimension_value(times.shape[0])
        if not ahead:
            ahead.append(array.zeros(array.stack([batch, self.output_window_size, 0]), self.dtype))
        inputs = []
        for parts, steps in ((read, size), (ahead, self.output_window_size)):
            window = array.concat(parts, axis=2)
            window.set_shape([static, steps, None])
            inputs.append(window)
        with variable_scope("model/", use_resource=True):
            found: dict[str, Any] = dict(self._network(*inputs))
        for value in found.values():
            value.set_shape([None, self.output_window_size, self.num_features])
        return found

    def _time_features(self, times: Any) -> Tensor:
        """How far into which piece of each period a time is: [batch, window, periods * pieces]."""
        shape = array.shape(times)
        periods = constant(
            self._periodicities, dtype=times.dtype, shape=[1, 1, len(self._periodicities), 1]
        )
        within = cast(times[:, :, None, None] % periods, self.dtype)
        within = within * self._buckets / cast(periods, self.dtype)
        within = relu(within - cast(range_(self._buckets), self.dtype))
        within = where(within < 1.0, within, array.zeros_like(within))
        width = self._buckets * len(self._periodicities)
        found = array.reshape(within, array.stack([shape[0], shape[1], width]))
        found.set_shape([dimension_value(times.shape[0]), dimension_value(times.shape[1]), width])
        return found

    def loss_op(self, targets: Any, prediction_ops: dict[str, Any]) -> Any:
        """The mean loss of targets [batch, output window, features]."""
        mean = prediction_ops["mean"]
        if self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            sigma = sqrt(maximum(prediction_ops["covariance"], _MIN_VARIANCE))
            total = -reduce_sum(normal_log_prob(targets, sigma, mean))
        elif self.loss == ARModel.SQUARED_LOSS:
            total = reduce_sum(square(mean - targets))
        else:
            raise ValueError(
                f"loss must be ARModel.SQUARED_LOSS or NORMAL_LIKELIHOOD_LOSS, got {self.loss!r}."
            )
        return total / cast(reduce_prod(array.shape(targets)), total.dtype)

    def _process_exogenous_features(self, times: Tensor, features: dict[str, Any]) -> Any:
        found = super()._process_exogenous_features(times, features)
        if found is not None:
            return found
        return array.zeros(array.concat([array.shape(times), [0]], axis=0), self.dtype)

    # ---- predictions -----------------------------------------------------------------------------

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        if not self._graph_initialized:
            self.initialize_graph()
        ahead = self.output_window_size
        times = cast(convert_to_tensor(features[PredictionFeatures.TIMES]), dtypes.int64)
        regressors = self._process_exogenous_features(times, exogenous(features))
        batch, count = array.shape(times)[0], array.shape(times)[1]
        windows = (count + ahead - 1) // ahead
        rest = windows * ahead - count
        times = pad(times, [[0, 0], [0, rest]])
        regressors = pad(regressors, [[0, 0], [0, rest], [0, 0]])
        known, values, before = features[PredictionFeatures.STATE_TUPLE]
        size = self.input_window_size
        known = cast(convert_to_tensor(known), dtypes.int64)
        # All times and regressors, those of the input window first: window i begins at i * ahead.
        if size:
            times = array.concat([known[:, -size:], times], axis=1)
            before = convert_to_tensor(before, self.dtype)[:, -size:]
            regressors = array.concat([before, regressors], axis=1)
            values = convert_to_tensor(values, self.dtype)[:, -size:]
        else:
            values = array.zeros(array.stack([batch, 0, self.num_features]), self.dtype)
        values.set_shape([None, size, self.num_features])

        def body(number: Any, values: Any, means: Any, variances: Any) -> Any:
            start = number * ahead
            now = times[:, start : start + self.window_size]
            now.set_shape([None, self.window_size])
            here = regressors[:, start : start + self.window_size]
            here.set_shape([None, self.window_size, self.exogenous_size])
            found = self.prediction_ops(now, values, here)
            following = array.concat([values, found["mean"]], axis=1)[:, ahead:]
            following.set_shape(values.shape)
            means = means.write(number, found["mean"])
            return number + 1, following, means, variances.write(number, found["covariance"])

        arrays = [TensorArray(self.dtype, size=windows) for _ in range(2)]
        _, _, means, variances = while_loop(
            lambda number, *others: number < windows, body, [0, values, *arrays]
        )
        shape = array.stack([batch, windows * ahead, self.num_features])
        mean, variance = (
            array.reshape(array.transpose(ta.stack(), [1, 0, 2, 3]), shape)[:, :count]
            for ta in (means, variances)
        )
        if self.loss == ARModel.SQUARED_LOSS:
            variance = array.ones_like(mean)
        return {
            "mean": self._scale_back_data(mean),
            "covariance": self._scale_back_variance(variance),
        }

    # ---- the loss of windows ---------------------------------------------------------------------

    def _process_window(
        self, features: dict[str, Any], mode: str, exogenous_regressors: Any
    ) -> ModelOutputs:
        times = cast(features[_TIMES], dtypes.int64)
        observed = cast(features[_VALUES], self.dtype)
        size = self.input_window_size
        if not times.shape.is_compatible_with([None, self.window_size]):
            raise ValueError(
                f"ARModel with input_window_size={size} and output_window_size={self.output_window_size} "
                f"expects feature {_TIMES!r} to have shape (batch_size, {self.window_size}) (for any "
                f"batch_size), but got shape {times.shape}. If you are using RandomWindowInputFn, set "
                f"window_size={self.window_size} or adjust the input_window_size and output_window_size "
                "arguments to ARModel."
            )
        times.set_shape([None, self.window_size])
        observed.set_shape([None, self.window_size, self.num_features])
        values = self._scale_data(observed)
        found = self.prediction_ops(times, values[:, :size], exogenous_regressors)
        targets = values[:, size:]
        mean = self._scale_back_data(found["mean"])
        if mode == ModeKeys.EVAL and self.loss == ARModel.SQUARED_LOSS:
            loss = self.loss_op(observed[:, size:], {"mean": mean})
        else:
            loss = self.loss_op(targets, found)
        last = dimension_value(times.shape[1]) - size  # an empty input window keeps nothing
        return ModelOutputs(
            loss,
            (times[:, last:], values[:, last:], exogenous_regressors[:, last:]),
            {
                "mean": mean,
                "covariance": self._scale_back_variance(found["covariance"]),
                "observed": observed[:, size:],
            },
            times[:, size:],
        )

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        features = {
            key: value if key == PredictionFeatures.STATE_TUPLE else convert_to_tensor(value)
            for key, value in features.items()
        }
        times = features[_TIMES]
        regressors = self._process_exogenous_features(times, exogenous(features))
        if mode == ModeKeys.TRAIN:
            return self._process_window(features, mode, regressors)
        if mode != ModeKeys.EVAL:
            raise ValueError(f"Unknown mode {mode!r} passed to get_batch_loss.")
        if (
            dimension_value(times.shape[1]) is not None
            and dimension_value(times.shape[1]) < self.window_size
        ):
            raise ValueError(
                "ARModel requires a window of at least input_window_size + output_window_size to evaluate on "
                f"(input_window_size={self.input_window_size}, output_window_size={self.output_window_size}, "
                f"and got shape {times.shape} for feature {_TIMES!r} (batch size, window size))."
            )
        return self._evaluate(features, regressors, state)

    def _evaluate(self, features: dict[str, Any], regressors: Any, state: Any) -> ModelOutputs:
        """The windows of a series one after another, the last of which ends with it."""
        ahead, size = self.output_window_size, self.input_window_size
        times, values = features[_TIMES], cast(features[_VALUES], self.dtype)
        windows = (array.shape(times)[1] - size) // ahead
        first = array.shape(times)[1] - (windows * ahead + size)

        def body(number: Any, losses: Any, means: Any, variances: Any) -> Any:
            start = first + number * ahead
            here = {
                key: features[key][:, start : start + self.window_size] for key in (_TIMES, _VALUES)
            }
            known = regressors[:, start : start + self.window_size]
            known.set_shape([None, self.window_size, self.exogenous_size])
            found = self._process_window(here, ModeKeys.EVAL, known)
            return (
                number + 1,
                losses.write(number, found.loss),
                means.write(number, found.predictions["mean"]),
                variances.write(number, found.predictions["covariance"]),
            )

        arrays = [TensorArray(self.dtype, size=windows) for _ in range(3)]
        _, losses, means, variances = while_loop(
            lambda number, *others: number < windows, body, [0, *arrays]
        )
        shape = array.stack([array.shape(times)[0], ahead * windows, self.num_features])
        mean, variance = (
            array.reshape(array.transpose(ta.stack(), [1, 0, 2, 3]), shape)
            for ta in (means, variances)
        )
        return ModelOutputs(
            reduce_mean(losses.stack()),
            self._state_after(times, values, regressors, state),
            {"mean": mean, "covariance": variance, "observed": values[:, first + size :]},
            times[:, first + size :],
        )

    def _state_after(self, times: Any, values: Any, regressors: Any, state: Any) -> Any:
        size = self.input_window_size
        if not size:
            return state
        now = (cast(times, dtypes.int64), self._scale_data(values), regressors)
        shapes = ([None, size], [None, size, self.num_features], [None, size, self.exogenous_size])
        found = []
        for before, part, shape in zip(state, now, shapes, strict=True):
            last = array.concat([before, part], axis=1)[:, -size:]
            last.set_shape(shape)
            found.append(last)
        return tuple(found)


class AnomalyMixtureARModel(ARModel):
    """An `ARModel` some of whose values are anomalies, of a wider distribution around the same mean.

    ``anomaly_prior_probability``: between 0 and 1. ``anomaly_distribution``: GAUSSIAN_ANOMALY or CAUCHY_ANOMALY.
    """

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(
        self,
        periodicities: Any,
        anomaly_prior_probability: float,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        prediction_model_factory: Callable[..., Any] = FlatPredictionModel,
        anomaly_distribution: str = GAUSSIAN_ANOMALY,
        num_time_buckets: int = 10,
        exogenous_feature_columns: Any = None,
    ) -> None:
        if not 0.0 < anomaly_prior_probability < 1.0:
            raise ValueError(
                f"anomaly_prior_probability lies between 0 and 1, got {anomaly_prior_probability}."
            )
        if anomaly_distribution not in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY):
            raise ValueError(
                f"anomaly_distribution is 'gaussian' or 'cauchy', got {anomaly_distribution!r}."
            )
        self._prior = anomaly_prior_probability
        self._distribution = anomaly_distribution
        super().__init__(
            periodicities,
            input_window_size,
            output_window_size,
            num_features,
            prediction_model_factory,
            num_time_buckets,
            ARModel.NORMAL_LIKELIHOOD_LOSS,
            exogenous_feature_columns,
        )

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """The same, and the width of anomalies, "anomaly_params"."""
        found = super().prediction_ops(times, values, exogenous_regressors)
        width = get_variable(
            "anomaly_log_param", shape=[], dtype=self.dtype, initializer=zeros_initializer()
        )
        return {**found, "anomaly_params": exp(width)}

    def loss_op(self, targets: Any, prediction_ops: dict[str, Any]) -> Any:
        mean, width = prediction_ops["mean"], prediction_ops["anomaly_params"]
        sigma = sqrt(maximum(prediction_ops["covariance"], _MIN_VARIANCE))
        usual = normal_log_prob(targets, sigma, mean) + log(1.0 - self._prior)
        if self._distribution == self.GAUSSIAN_ANOMALY:
            odd = normal_log_prob(targets, sqrt(maximum(width, _MIN_VARIANCE)), mean)
        else:
            odd = cauchy_log_prob(targets, width, mean)
        odd = odd + log(self._prior)
        less, more = minimum(usual, odd), maximum(usual, odd)
        total = -reduce_sum(more + log(1.0 + exp(less - more)))
        return total / cast(reduce_prod(array.shape(targets)), self.dtype)
