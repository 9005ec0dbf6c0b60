"""Models of time series: what all have, and those that go through a window step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow import dtypes, nest
from dataflow.contrib.timeseries.input_statistics import InputStatistics
from dataflow.contrib.timeseries.keys import PredictionFeatures, TrainEvalFeatures
from dataflow.feature_column.layers import input_layer, make_parse_example_spec
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.graph.tensor import Tensor
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.elementary import log, sqrt
from dataflow.ops.math import reduce_prod, reduce_sum, square
from dataflow.ops.parsing import parse_example
from dataflow.ops.selection import where
from dataflow.ops.sequences import range_
from dataflow.ops.sources import placeholder
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.variable_scope import variable_scope
from dataflow.ops.while_loop import while_loop

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
_NOT_EXOGENOUS = (_TIMES, _VALUES, PredictionFeatures.STATE_TUPLE)


class ModelOutputs(NamedTuple):
    """The loss (a scalar), the state after the window, predictions [batch, window, ...] and their times."""

    loss: Any
    end_state: Any
    predictions: dict[str, Any]
    prediction_times: Any


def normal_log_prob(x: Any, scale: Any, loc: Any) -> Any:
    """The log density of a normal distribution, as TensorFlow 1.15 has it: log(scale) counts half.

    So variances come out twice as large as they are.
    """
    return -0.5 * (square((x - loc) / scale) + math.log(2.0 * math.pi) + log(scale))


def cauchy_log_prob(x: Any, scale: Any, loc: Any) -> Any:
    """The log density of a Cauchy distribution."""
    return -math.log(math.pi) - log(scale + square(x - loc) / scale)


def replicate_state(start_state: Any, batch_size: Any) -> Any:
    """The state of one series for each of a batch: every part [batch, ...]."""

    def repeated(part: Any) -> Any:
        ones = [1] * (convert_to_tensor(part).shape.ndims or 0)
        return array.tile(array.expand_dims(part, 0), array.stack([batch_size, *ones]))

    return nest.map_structure(repeated, start_state)


def exogenous(features: dict[str, Any]) -> dict[str, Any]:
    """The features that explain a series, and are no part of it."""
    return {key: value for key, value in features.items() if key not in _NOT_EXOGENOUS}


class TimeSeriesModel:
    """The base of models: a subclass says its start state, the loss of a window, and predictions.

    ``exogenous_feature_columns``: columns of features that explain the series. `initialize_graph` comes first
    in each graph.
    """

    def __init__(
        self,
        num_features: int,
        exogenous_feature_columns: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        self._exogenous_feature_columns = exogenous_feature_columns or []
        self.num_features = num_features
        self.dtype = dtype
        self._input_statistics: InputStatistics | None = None
        self._graph_initialized = False
        self._stats_means: Any = None
        self._stats_sigmas: Any = None

    @property
    def exogenous_feature_columns(self) -> Any:
        """The columns of features that explain the series."""
        return self._exogenous_feature_columns

    def generate(
        self,
        number_of_series: int,
        series_length: int,
        model_parameters: Any = None,
        seed: Any = None,
    ) -> Any:
        """Series drawn from the model; not every model can."""
        raise NotImplementedError("This model does not support generation.")

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Begins a graph, with the `InputStatistics` of the series or without any."""
        self._graph_initialized = True
        self._input_statistics = input_statistics
        if input_statistics:
            self._stats_means, variances = input_statistics.overall_feature_moments
            self._stats_sigmas = sqrt(variances)

    def _scale_data(self, data: Any) -> Any:
        if self._input_statistics is None:
            return data
        return (data - self._stats_means) / self._stats_sigmas

    def _scale_variance(self, variance: Any) -> Any:
        if self._input_statistics is None:
            return variance
        return variance / self._input_statistics.overall_feature_moments.variance

    def _scale_back_data(self, data: Any) -> Any:
        if self._input_statistics is None:
            return data
        return data * self._stats_sigmas + self._stats_means

    def _scale_back_variance(self, variance: Any) -> Any:
        if self._input_statistics is None:
            return variance
        return variance * self._input_statistics.overall_feature_moments.variance

    def _check_graph_initialized(self) -> None:
        if not self._graph_initialized:
            raise ValueError(
                "TimeSeriesModels require initialize_graph() to be called before use: it makes variables in "
                "the default graph."
            )

    def define_loss(self, features: dict[str, Any], mode: str) -> ModelOutputs:
        """The loss of windows that begin at the start state."""
        self._check_graph_initialized()
        state = replicate_state(self.get_start_state(), array.shape(features[_TIMES])[0])
        return self.get_batch_loss(features=features, mode=mode, state=state)

    def get_start_state(self) -> Any:
        """The state before a series, of one series: a nested tuple of tensors."""
        raise NotImplementedError

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """The loss of windows that begin at ``state``."""
        raise NotImplementedError

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions at the times of ``features``, after their state."""
        raise NotImplementedError

    def _get_exogenous_embedding_shape(self) -> tuple[Any, ...]:
        if not self._exogenous_feature_columns:
            return (0,)
        with Graph().as_default():
            parsed = parse_example(
                placeholder(dtypes.string, [None]),
                make_parse_example_spec(self._exogenous_feature_columns),
            )
            made = input_layer(parsed, self._exogenous_feature_columns)
            return tuple(made.shape.as_list()[1:])

    def _process_exogenous_features(self, times: Tensor, features: dict[str, Any]) -> Any:
        """What the columns make of the features, [batch, window, n]; None without columns."""
        if not self._exogenous_feature_columns:
            return None
        rows = {}
        for name, value in features.items():
            tensor = convert_to_tensor(value)
            if tensor.shape.ndims is None:
                raise ValueError(
                    f"Features with unknown rank are not supported. Got {tensor.shape} for {name}."
                )
            shape = array.shape(tensor)
            tensor = array.reshape(tensor, array.concat([[shape[0] * shape[1]], shape[2:]], axis=0))
            if tensor.shape.ndims == 1 and tensor.dtype != dtypes.string:
                tensor = tensor[:, None]
            rows[name] = tensor
        made = input_layer(rows, self._exogenous_feature_columns, trainable=True)
        width = made.shape.as_list()[1:]
        found = array.reshape(made, array.concat([array.shape(times), width], axis=0))
        found.set_shape(times.shape.concatenate(width))
        return cast(found, self.dtype)


class SequentialTimeSeriesModel(TimeSeriesModel):
    """The base of models that go through a window step by step.

    A subclass has `_imputation_step` (across a gap), `_exogenous_input_step`, `_prediction_step`, which gives
    ``predict_output_names``, and `_filtering_step`, which adds "loss" to ``train_output_names``.
    ``normalize_features``: values are scaled by the series' mean and deviation. ``exogenous_update_condition(times,
    features)``: bool [batch], where exogenous features count.
    """

    def __init__(
        self,
        train_output_names: Any,
        predict_output_names: Any,
        num_features: int,
        normalize_features: bool = False,
        dtype: Any = dtypes.float32,
        exogenous_feature_columns: Any = None,
        exogenous_update_condition: Callable[..., Any] | None = None,
        static_unrolling_window_size_threshold: int | None = None,
    ) -> None:
        super().__init__(num_features, exogenous_feature_columns, dtype)
        self._train_output_names = list(train_output_names)
        self._predict_output_names = list(predict_output_names)
        self._normalize_features = normalize_features
        self._exogenous_update_condition = exogenous_update_condition

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError(
            "SequentialTimeSeriesModel normalized input data (normalize_features=True), but no method was "
            "provided to transform the predictions back to the input scale: _scale_back_predictions."
        )

    def _filtering_step(
        self, current_times: Any, current_values: Any, state: Any, predictions: Any
    ) -> Any:
        raise NotImplementedError

    def _prediction_step(self, current_times: Any, state: Any) -> Any:
        raise NotImplementedError

    def _imputation_step(self, current_times: Any, state: Any) -> Any:
        raise NotImplementedError

    def _exogenous_input_step(
        self, current_times: Any, current_exogenous_regressors: Any, state: Any
    ) -> Any:
        raise NotImplementedError

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Any:
        """What a model adds to the loss of a window."""
        return 0.0

    def _window_initializer(self, times: Any, state: Any) -> None:
        """What a model prepares before it goes through a window."""

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        loss, states, outputs = self.per_step_batch_loss(features, mode, state)
        last = nest.map_structure(lambda part: part[:, -1], states)
        outputs["observed"] = features[_VALUES]
        return ModelOutputs(loss, last, outputs, features[_TIMES])

    def per_step_batch_loss(
        self, features: dict[str, Any], mode: str, state: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """The mean loss, the states [batch, window, ...] and the outputs [batch, window, ...] of all steps."""
        self._check_graph_initialized()
        times = cast(features[_TIMES], dtypes.int64)
        values = cast(features[_VALUES], self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        regressors = self._process_exogenous_features(times, exogenous(features))

        def step(number: Any, now: Any, state: Any) -> Any:
            state = self._with_exogenous(number, now, state, features, regressors)
            predicted, predictions = self._prediction_step(current_times=now, state=state)
            return self._filtering_step(
                current_times=now,
                current_values=values[:, number, :],
                state=predicted,
                predictions=predictions,
            )

        states, outputs = self._loop(times, state, step, ["loss", *self._train_output_names])
        losses = outputs.pop("loss")
        losses.set_shape(times.shape)
        count = cast(reduce_prod(array.shape(times)), self.dtype)
        loss = reduce_sum(losses) / count + self._loss_additions(times, values, mode)
        if self._normalize_features:
            outputs = self._scale_back_predictions(outputs)
        return loss, states, outputs

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        times = convert_to_tensor(features[_TIMES], dtypes.int64)
        regressors = self._process_exogenous_features(times, exogenous(features))

        def step(number: Any, now: Any, state: Any) -> Any:
            state = self._with_exogenous(number, now, state, features, regressors)
            return self._prediction_step(current_times=now, state=state)

        start = features[PredictionFeatures.STATE_TUPLE]
        _, found = self._loop(times, start, step, self._predict_output_names)
        return self._scale_back_predictions(found) if self._normalize_features else found

    def _with_exogenous(
        self, number: Any, now: Any, state: Any, features: dict[str, Any], regressors: Any
    ) -> Any:
        """The state after the exogenous features of a step, where they count."""
        if regressors is None:
            return state
        updated = self._exogenous_input_step(
            current_times=now, current_exogenous_regressors=regressors[:, number, :], state=state
        )
        if self._exogenous_update_condition is None:
            return updated
        raw = {key: value[:, number] for key, value in exogenous(features).items()}
        counts = self._exogenous_update_condition(times=now, features=raw)
        parts = [
            where(counts, new, old)
            for new, old in zip(nest.flatten(updated), nest.flatten(state), strict=True)
        ]
        return nest.pack_sequence_as(state, parts)

    def _loop(
        self, times: Tensor, state: Any, step: Callable[..., Any], names: list[str]
    ) -> tuple[Any, dict[str, Any]]:
        """States and outputs of all steps, each [batch, window, ...]."""
        self._window_initializer(times, state)
        size = array.shape(times)[1]
        state = nest.map_structure(convert_to_tensor, state)
        like = nest.flatten(state)
        kept = [TensorArray(part.dtype, size=size) for part in like]
        made = [TensorArray(self.dtype, size=size) for _ in names]

        def body(number: Any, flat: Any, kept: Any, made: Any) -> Any:
            with variable_scope("state_update_step"):
                now = times[:, number]
                before = nest.pack_sequence_as(state, list(flat))
                before = self._imputation_step(current_times=now, state=before)
                after, outputs = step(number, now, before)
                parts = nest.flatten(after)
                for part, old in zip(parts, like, strict=True):
                    part.set_shape(old.shape)
                kept = [ta.write(number, part) for ta, part in zip(kept, parts, strict=True)]
                made = [
                    ta.write(number, outputs[name]) for ta, name in zip(made, names, strict=True)
                ]
                return number + 1, parts, kept, made

        _, _, kept, made = while_loop(
            lambda number, *others: number < size, body, [0, like, kept, made]
        )
        states = [_by_batch(ta.stack()) for ta in kept]
        for part, old in zip(states, like, strict=True):
            part.set_shape(times.shape.concatenate(old.shape[1:]))
        outputs = {name: _by_batch(ta.stack()) for name, ta in zip(names, made, strict=True)}
        return nest.pack_sequence_as(state, states), outputs


def _by_batch(stacked: Tensor) -> Tensor:
    """[window, batch, ...] as [batch, window, ...]."""
    rank = array.rank(stacked)
    order = array.concat([[1, 0], range_(2, rank)], axis=0)
    found: Tensor = array.transpose(stacked, order)
    return found
