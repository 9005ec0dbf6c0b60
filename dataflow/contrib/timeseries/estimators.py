"""Estimators of time series: autoregressive ones, and any `TimeSeriesModel` as one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dataflow import dtypes, nest
from dataflow.contrib.timeseries import head as ts_head
from dataflow.contrib.timeseries.ar_model import (
    AnomalyMixtureARModel,
    ARModel,
    FlatPredictionModel,
    LSTMPredictionModel,
)
from dataflow.contrib.timeseries.input_statistics import InputStatisticsFromMiniBatch
from dataflow.contrib.timeseries.keys import TrainEvalFeatures
from dataflow.contrib.timeseries.state_management import (
    FilteringOnlyStateManager,
    PassthroughStateManager,
)
from dataflow.estimator.canned import optimizer_instance
from dataflow.estimator.estimator import Estimator
from dataflow.estimator.export import ServingInputReceiver
from dataflow.feature_column.layers import make_parse_example_spec
from dataflow.graph.graph import Graph
from dataflow.ops import array
from dataflow.ops.parsing import parse_example
from dataflow.ops.sources import constant, placeholder, placeholder_with_default
from dataflow.runtime.session import Session
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.adam import AdamOptimizer

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


class TimeSeriesRegressor(Estimator):
    """An estimator of a `TimeSeriesModel`; Adam with 0.02 by default."""

    def __init__(
        self,
        model: Any,
        state_manager: Any = None,
        optimizer: Any = None,
        model_dir: str | None = None,
        config: Any = None,
        head_type: Callable[..., Any] = ts_head.TimeSeriesRegressionHead,
    ) -> None:
        if state_manager is None:
            known = isinstance(model, ARModel)
            state_manager = FilteringOnlyStateManager() if known else PassthroughStateManager()
        self._model = model
        made = head_type(
            model=model,
            state_manager=state_manager,
            optimizer=optimizer or AdamOptimizer(0.02),
            input_statistics_generator=InputStatisticsFromMiniBatch(
                dtype=model.dtype, num_features=model.num_features
            ),
        )
        super().__init__(made.create_estimator_spec, model_dir, config)

    def build_raw_serving_input_receiver_fn(
        self, default_batch_size: int | None = None, default_series_length: int | None = None
    ) -> Callable[[], ServingInputReceiver]:
        """For `export_savedmodel`: placeholders of times, values, exogenous features and the state.

        Values may be left out of what is fed. ``default_batch_size``, ``default_series_length``: static sizes.
        """
        shape = [default_batch_size, default_series_length]

        def receiver_fn() -> ServingInputReceiver:
            times = placeholder(dtypes.int64, shape, name=_TIMES)
            width = self._model.num_features
            empty = array.zeros([*(size or 0 for size in shape), width], dtype=self._model.dtype)
            features = {
                _TIMES: times,
                _VALUES: placeholder_with_default(empty, [*shape, width], name=_VALUES),
            }
            for key, (dtype, rest) in self._exogenous_shapes().items():
                features[key] = placeholder(dtype, [*shape, *rest], name=key)
            features.update(self._state_placeholders(array.shape(times)[0], default_batch_size))
            return ServingInputReceiver(features, dict(features))

        return receiver_fn

    def _exogenous_shapes(self) -> dict[str, tuple[Any, list[Any]]]:
        """Dtype and shape of each exogenous feature of one step."""
        columns = self._model.exogenous_feature_columns
        if not columns:
            return {}
        with Graph().as_default():
            parsed = parse_example(
                placeholder(dtypes.string, [None]), make_parse_example_spec(columns)
            )
            return {k: (v.dtype, v.get_shape().as_list()[1:]) for k, v in parsed.items()}

    def _state_placeholders(self, batch_size: Any, static: int | None) -> dict[str, Any]:
        """Placeholders of the state's parts, which are the start state unless they are fed."""
        with Graph().as_default(), Session() as session:
            self._model.initialize_graph()
            start = nest.map_structure(session.run, self._model.get_start_state())
        found = {}
        for name, part in ts_head.state_to_dictionary(start).items():
            several = array.stack([batch_size, *[1] * part.ndim])
            found[name] = placeholder_with_default(
                array.tile(constant(part)[None], several), [static, *part.shape], name=name
            )
        return found


class ARRegressor(TimeSeriesRegressor):
    """An autoregressive model: a window of values, and the time within each period, predict what follows.

    Windows of training have ``input_window_size + output_window_size`` steps. ``hidden_layer_sizes``: those of
    relu layers. ``anomaly_prior_probability``: some values are anomalies (`AnomalyMixtureARModel`), of
    ``anomaly_distribution``. Adagrad with 0.1 by default. Raises `ValueError` for a distribution without its
    probability, and for anomalies with another loss than that of a normal likelihood.
    """

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        num_features: int,
        exogenous_feature_columns: Any = None,
        num_time_buckets: int = 10,
        loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS,
        hidden_layer_sizes: Any = None,
        anomaly_prior_probability: float | None = None,
        anomaly_distribution: str | None = None,
        optimizer: Any = None,
        model_dir: str | None = None,
        config: Any = None,
    ) -> None:
        settings: dict[str, Any] = {
            "periodicities": periodicities,
            "input_window_size": input_window_size,
            "output_window_size": output_window_size,
            "num_features": num_features,
            "num_time_buckets": num_time_buckets,
            "exogenous_feature_columns": exogenous_feature_columns,
            "prediction_model_factory": functools.partial(
                FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes
            ),
        }
        if anomaly_prior_probability is None:
            if anomaly_distribution is not None:
                raise ValueError(
                    "anomaly_prior_probability is required if anomaly_distribution is specified."
                )
            model = ARModel(loss=loss, **settings)
        else:
            if loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(
                    "AnomalyMixtureARModel only supports ARModel.NORMAL_LIKELIHOOD_LOSS for its loss argument."
                )
            model = AnomalyMixtureARModel(
                anomaly_prior_probability=anomaly_prior_probability,
                anomaly_distribution=anomaly_distribution or AnomalyMixtureARModel.GAUSSIAN_ANOMALY,
                **settings,
            )
        super().__init__(
            model, None, optimizer or AdagradOptimizer(0.1), model_dir=model_dir, config=config
        )


class LSTMAutoRegressor(TimeSeriesRegressor):
    """An autoregressive model of two LSTMs with ``num_units`` each; Adam with 0.01 by default."""

    def __init__(
        self,
        periodicities: Any,
        input_window_size: int,
        output_window_size: int,
        model_dir: str | None = None,
        num_features: int = 1,
        extra_feature_columns: Any = None,
        num_timesteps: int = 10,
        loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS,
        num_units: int = 128,
        optimizer: Any = "Adam",
        config: Any = None,
    ) -> None:
        model = ARModel(
            periodicities,
            input_window_size,
            output_window_size,
            num_features,
            functools.partial(LSTMPredictionModel, num_units=num_units),
            num_timesteps,
            loss,
            extra_feature_columns,
        )
        made = optimizer_instance(optimizer, 0.01)
        super().__init__(
            model, None, made, model_dir, config, head_type=ts_head.OneShotPredictionHead
        )
