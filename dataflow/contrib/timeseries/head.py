"""The heads of time-series estimators: losses, predictions and signatures of a model."""

from __future__ import annotations

import re
from typing import Any

from dataflow import dtypes, nest
from dataflow.contrib.timeseries.keys import (
    FilteringResults,
    PredictionFeatures,
    SavedModelLabels,
    State,
    TrainEvalFeatures,
)
from dataflow.estimator.export_outputs import PredictOutput
from dataflow.estimator.last_values import last_value
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.graph.conversion import convert_to_tensor
from dataflow.metrics.means import mean
from dataflow.ops import array
from dataflow.ops.casts import cast
from dataflow.ops.control_flow import group
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.sparse_tensor import convert_to_tensor_or_sparse_tensor
from dataflow.ops.summary import scalar
from dataflow.ops.variable_scope import variable_scope
from dataflow.train.global_step import get_global_step

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES
_STATE = State.STATE_TUPLE


class TimeSeriesRegressionHead:
    """Makes the `EstimatorSpec` of a model in each mode."""

    def __init__(
        self,
        model: Any,
        state_manager: Any,
        optimizer: Any,
        input_statistics_generator: Any = None,
        name: str | None = None,
    ) -> None:
        self.model = model
        self.state_manager = state_manager
        self.optimizer = optimizer
        self.input_statistics_generator = input_statistics_generator
        self.name = name

    def create_loss(
        self, features: dict[str, Any], mode: str, logits: Any = None, labels: Any = None
    ) -> Any:
        """The model's outputs; their loss is a summary."""
        outputs = self.state_manager.define_loss(self.model, features, mode)
        scalar(f"loss/{self.name}" if self.name else "loss", outputs.loss)
        return outputs

    def create_estimator_spec(
        self, features: dict[str, Any], mode: str, labels: Any = None
    ) -> EstimatorSpec:
        """A model function. Raises `ValueError` for labels, and for features that lack something."""
        with name_scope(self.name, "head"):
            if labels is not None and labels != {}:
                raise ValueError(
                    "The model received a `labels`, which is not supported. "
                    f"Pass '{_TIMES}' and '{_VALUES}' as features."
                )
            features = {key: self._converted(key, value) for key, value in features.items()}
            statistics = None
            if self.input_statistics_generator is not None:
                statistics = self.input_statistics_generator.initialize_graph(
                    features, update_statistics=mode == ModeKeys.TRAIN
                )
            self.model.initialize_graph(input_statistics=statistics)
            features, served = self._gather_state(features)
            if mode == ModeKeys.PREDICT:
                self._check_predict_features(features)
            else:
                _check_train_eval_features(features, self.model)
            self.state_manager.initialize_graph(model=self.model, input_statistics=statistics)
            if mode == ModeKeys.TRAIN:
                return self._train_ops(features)
            if mode == ModeKeys.EVAL:
                return self._evaluate_ops(features)
            return self._serving_ops(features) if served else self._predict_ops(features)

    def _train_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, ModeKeys.TRAIN)
        train = self.optimizer.minimize(outputs.loss, global_step=get_global_step())
        return EstimatorSpec(ModeKeys.TRAIN, loss=outputs.loss, train_op=train)

    def _evaluate_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, ModeKeys.EVAL)
        metrics: dict[str, Any] = {
            name: last_value(name, value) for name, value in outputs.predictions.items()
        }
        metrics[_TIMES] = last_value(_TIMES, outputs.prediction_times)
        metrics[FilteringResults.STATE_TUPLE] = _last_values(_STATE, outputs.end_state)
        metrics["average_loss"] = mean(outputs.loss, name="average_loss")
        return EstimatorSpec(
            ModeKeys.EVAL,
            loss=outputs.loss,
            eval_metric_ops=metrics,
            predictions=outputs.predictions,
        )

    def _predict_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            found = self.model.predict(features=features)
        return EstimatorSpec(ModeKeys.PREDICT, predictions={**found, _TIMES: features[_TIMES]})

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        with variable_scope("model", use_resource=True):
            found = self.model.predict(features=features)
        with variable_scope("model", reuse=True):
            filtered = self.create_loss(features, ModeKeys.EVAL)
        cold = {key: value for key, value in features.items() if key != _STATE}
        with variable_scope("model", reuse=True):
            begun = self.model.define_loss(features=cold, mode=ModeKeys.EVAL)
        exports = {
            SavedModelLabels.PREDICT: PredictOutput(found),
            SavedModelLabels.FILTER: PredictOutput(state_to_dictionary(filtered.end_state)),
            SavedModelLabels.COLD_START_FILTER: _NoStateOutput(
                state_to_dictionary(begun.end_state)
            ),
        }
        return EstimatorSpec(ModeKeys.PREDICT, predictions={}, export_outputs=exports)

    def _converted(self, name: str, value: Any) -> Any:
        if name == _TIMES:
            return cast(convert_to_tensor(value), dtypes.int64)
        if name == _VALUES:
            return cast(convert_to_tensor(value), self.model.dtype)
        return value if name == _STATE else convert_to_tensor_or_sparse_tensor(value)

    def _gather_state(self, features: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The features with their numbered parts of a state as one tuple, and whether there were any."""
        numbers = {}
        for key in features:
            found = re.fullmatch(rf"{State.STATE_PREFIX}_(\d+)", key)
            if found:
                numbers[int(found[1])] = key
        if not numbers:
            return features, False
        parts = [features[numbers[i]] for i in sorted(numbers)]
        rest = {key: value for key, value in features.items() if key not in numbers.values()}
        rest[_STATE] = nest.pack_sequence_as(self.model.get_start_state(), parts)
        return rest, True

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        _check_there(features, (PredictionFeatures.TIMES, _STATE), "prediction")
        _check_shapes(features, {_STATE})


class OneShotPredictionHead(TimeSeriesRegressionHead):
    """A head whose exported model starts from values alone: it filters those, then predicts the other times."""

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        _check_there(features, (_TIMES, _VALUES, _STATE), "prediction")
        _check_shapes(features, {_STATE, _VALUES})

    def _evaluate_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        spec = super()._evaluate_ops(features)
        metrics = {key: value for key, value in spec.eval_metric_ops.items() if key != _STATE}
        return spec._replace(eval_metric_ops=metrics)

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        known = array.shape(features[_VALUES])[1]
        before = {key: value[:, :known] for key, value in features.items() if key != _STATE}
        after = {
            key: value[:, known:] for key, value in features.items() if key not in (_STATE, _VALUES)
        }
        with variable_scope("model", use_resource=True):
            begun = self.model.define_loss(features=before, mode=ModeKeys.EVAL)
            after[_STATE] = begun.end_state
        with variable_scope("model", reuse=True):
            found = self.model.predict(features=after)
        exports = {SavedModelLabels.PREDICT: _NoStateOutput(found)}
        return EstimatorSpec(ModeKeys.PREDICT, predictions={}, export_outputs=exports)


class _NoStateOutput(PredictOutput):
    """A signature that takes no state."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        kept = {k: v for k, v in receiver_tensors.items() if not k.startswith(State.STATE_PREFIX)}
        return super().as_signature_def(kept)


def _check_there(features: dict[str, Any], names: tuple[str, ...], what: str) -> None:
    for name in names:
        if name not in features:
            raise ValueError(f"Expected a '{name}' feature for {what}, got {sorted(features)}.")


def _check_shapes(features: dict[str, Any], ignored: set[str]) -> None:
    times = features[_TIMES].shape
    if not times.is_compatible_with([None, None]):
        raise ValueError(
            f"Expected shape (batch dimension, window size) for feature '{_TIMES}' (got shape {times})"
        )
    for name, value in features.items():
        if name in ignored or value.shape.ndims is None:
            continue
        if value.shape.ndims < 2 or not value.shape[:2].is_compatible_with(times):
            raise ValueError(
                "Features must have shape (batch dimension, window size, ...) where batch dimension and "
                f"window size match the '{_TIMES}' feature (got shape {value.shape} for feature '{name}' but "
                f"shape {times} for feature '{_TIMES}')"
            )


def _check_train_eval_features(features: dict[str, Any], model: Any) -> None:
    _check_there(features, (_TIMES, _VALUES), "training/evaluation")
    values = features[_VALUES].shape
    if not values.is_compatible_with([None, None, model.num_features]):
        raise ValueError(
            f"Expected shape (batch dimension, window size, {model.num_features}) for feature '{_VALUES}', "
            f"since the model was configured with num_features={model.num_features} (got shape {values})"
        )
    _check_shapes(features, {_STATE})


def _last_values(name: str, values: Any) -> tuple[Any, Any]:
    pairs = [last_value(f"{name}_{i}", value) for i, value in enumerate(nest.flatten(values))]
    read = nest.pack_sequence_as(values, [value for value, _ in pairs])
    return read, group(*(update for _, update in pairs))


def state_to_dictionary(state_tuple: Any) -> dict[str, Any]:
    """The parts of a state by the names that signatures have for them: ``model_state_00``."""
    parts = nest.flatten(state_tuple)
    return {f"{State.STATE_PREFIX}_{i:02d}": part for i, part in enumerate(parts)}
