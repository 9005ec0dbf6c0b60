"""`ModelFnOps`: what a model function of `tf.contrib.learn` returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.contrib.learn.keys import MetricKey, ProblemType
from dataflow.contrib.learn.modes import ModeKeys
from dataflow.contrib.learn.prediction_key import PredictionKey
from dataflow.estimator.export_outputs import (
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from dataflow.estimator.model_fn import EstimatorSpec
from dataflow.graph.tensor import Tensor
from dataflow.ops.reshape import reshape

_DEFAULT = "serving_default"


class _ModelFnOps(NamedTuple):
    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None


class ModelFnOps(_ModelFnOps):
    """Predictions, loss, the training op, metrics by name.

    ``output_alternatives``: name of a head -> (`ProblemType`, tensors by name), what is exported. A loss with
    one element is a scalar. Raises `ValueError` where a mode's loss, training op or predictions are missing.
    """

    __slots__ = ()

    def __new__(cls, mode: str, *args: Any, **kwargs: Any) -> ModelFnOps:
        self = super().__new__(cls, mode, *args, **kwargs)
        if self.train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing training_op: a model function returns one in TRAIN mode.")
        if self.loss is None and mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError(f"Missing loss: a model function returns one in mode {mode}.")
        if self.predictions is None and mode == ModeKeys.INFER:
            raise ValueError("Missing predictions: a model function returns them in INFER mode.")
        loss = self.loss
        if isinstance(loss, Tensor) and loss.shape.ndims and loss.shape.num_elements() == 1:
            return self._replace(loss=reshape(loss, []))
        return self

    def estimator_spec(self, default_serving_output_alternative_key: Any = None) -> EstimatorSpec:
        """The same for `tf.estimator`; the loss among the metrics is left to it.

        Raises `ValueError` where there are several alternatives and none is named the default.
        """
        metrics = {k: v for k, v in (self.eval_metric_ops or {}).items() if k != MetricKey.LOSS}
        exports: dict[str, ExportOutput] = {}
        if self.mode == ModeKeys.INFER and self.output_alternatives:
            exports = {
                _DEFAULT if name is None else name: _export_output(*alternative)
                for name, alternative in self.output_alternatives.items()
            }
            if default_serving_output_alternative_key is not None:
                exports[_DEFAULT] = exports[default_serving_output_alternative_key]
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            metrics,
            exports or None,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


def _export_output(problem_type: int, tensors: dict[str, Any]) -> ExportOutput:
    """The signature that fits the problem: a regression has scores, a classification also classes."""
    scores = tensors.get("scores")
    if scores is None:
        scores = tensors.get(PredictionKey.PROBABILITIES)
    if problem_type == ProblemType.LINEAR_REGRESSION:
        if scores is None:
            scores = tensors[PredictionKey.SCORES]
        return RegressionOutput(scores)
    if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        classes = tensors.get(PredictionKey.CLASSES)
        if classes is not None and classes.dtype.base_dtype is not dtypes.string:
            classes = None  # a signature has names of classes
        return (
            PredictOutput(tensors)
            if scores is classes is None
            else ClassificationOutput(scores, classes)
        )
    return PredictOutput(tensors)
