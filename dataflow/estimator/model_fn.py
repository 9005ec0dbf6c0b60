"""What a ``model_fn`` is told and what it returns: `ModeKeys` and `EstimatorSpec`."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.estimator.export_outputs import PredictOutput
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.control_flow import group


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    export_outputs: Any
    training_chief_hooks: tuple[Any, ...]
    training_hooks: tuple[Any, ...]
    scaffold: Any
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class EstimatorSpec(_Fields):
    """The ops of a model for one mode.

    TRAIN needs ``loss`` and ``train_op``, EVAL ``loss``, PREDICT ``predictions`` (a tensor or a
    dict of them), which are also what is exported where ``export_outputs`` says nothing else.
    ``eval_metric_ops``: name to (value, update op), as `tf.metrics` gives. Raises `ValueError` for
    what is missing or has a wrong shape, `TypeError` for things of a wrong kind.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: TensorLike | None = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> EstimatorSpec:
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(f"mode must be one of ModeKeys, got {mode!r}.")
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode != ModeKeys.PREDICT and loss is None:
            raise ValueError("Missing loss.")
        if mode == ModeKeys.PREDICT and predictions is None:
            raise ValueError("Missing predictions.")
        if train_op is not None and not isinstance(train_op, (Operation, Tensor)):
            raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
        if loss is not None:
            loss = convert_to_tensor(loss)
            if loss.shape.num_elements() not in (None, 1):
                raise ValueError(f"Loss must be scalar, given: {loss}")
            if loss.dims is not None and len(loss.dims) > 0:
                loss = array.reshape(loss, [])
        metrics = {key: _pair(key, given) for key, given in (eval_metric_ops or {}).items()}
        if mode == ModeKeys.PREDICT and export_outputs is None:
            export_outputs = {"serving_default": PredictOutput(predictions)}
        return super().__new__(
            cls,
            mode,
            {} if predictions is None else predictions,
            loss,
            train_op,
            metrics,
            export_outputs,
            tuple(training_chief_hooks or ()),
            tuple(training_hooks or ()),
            scaffold,
            tuple(evaluation_hooks or ()),
            tuple(prediction_hooks or ()),
        )


def _pair(key: str, given: Any) -> tuple[Any, Any]:
    """A metric as (value, update op): it is such a pair, or a metric of Keras that was updated once.

    Raises `TypeError` for anything else, `ValueError` for a metric of Keras that was not updated.
    """
    if isinstance(given, tuple) and len(given) == 2:
        return given
    updates = getattr(given, "update_ops", None)
    if updates is None or not callable(getattr(given, "result", None)):
        raise TypeError(
            "Values of eval_metric_ops must be (metric_value, update_op) tuples, given: "
            f"{given} for key: {key}"
        )
    if not updates:
        raise ValueError(f'Please call update_state(...) on the "{given.name}" metric')
    return given.result(), group(*updates[0])
