"""What a ``model_fn`` is told and what it returns: `ModeKeys` and `EstimatorSpec`."""

from __future__ import annotations

from typing import Any, NamedTuple

from dataflow.estimator.export_outputs import ExportOutput, PredictOutput
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import array
from dataflow.ops.control_flow import group
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.variables import Variable
from dataflow.train.scaffold import Scaffold
from dataflow.train.session_run_hook import SessionRunHook

#: The signature that is served where a client names none.
_DEFAULT = "serving_default"


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
    #: Whether "loss" may be among the metrics, and is then what `evaluate` reports.
    reports_loss = False

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
        if train_op is not None:
            _of_this_graph(train_op, "train_op")
        if loss is not None:
            _checked_tensor(loss, "loss")
            loss = convert_to_tensor(loss)
            if loss.shape.num_elements() not in (None, 1):
                raise ValueError(f"Loss must be scalar, given: {loss}")
            if loss.dims is not None and len(loss.dims) > 0:
                loss = array.reshape(loss, [])
        if isinstance(predictions, dict):
            for key, value in predictions.items():
                _checked_tensor(value, f"predictions[{key}]")
        elif predictions is not None:
            _checked_tensor(predictions, "predictions")
        metrics = _metrics({} if eval_metric_ops is None else eval_metric_ops)
        if mode == ModeKeys.PREDICT:
            export_outputs = _with_default(export_outputs, predictions)
        if scaffold is None:
            scaffold = Scaffold()
        elif not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold, given: {scaffold}")
        for hooks in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks):
            for hook in hooks or ():
                if not isinstance(hook, SessionRunHook):
                    raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
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


def _checked_tensor(value: Any, what: str) -> None:
    """Raises `TypeError` for what is no tensor, `ValueError` for one of another graph."""
    if not isinstance(value, (Tensor, Variable, SparseTensor)):
        raise TypeError(f"{what} must be Tensor, given: {value}")
    _of_this_graph(value, what)


def _of_this_graph(value: Any, what: str) -> None:
    graph = default_graph()
    if value.graph is not graph and not graph.executes_eagerly:
        raise ValueError(
            f"{what} must be from the default graph: {value}. Build it in the model_fn."
        )


def _metrics(given: Any) -> dict[str, Any]:
    """The pairs of ``eval_metric_ops``; raises `TypeError` and `ValueError` as `EstimatorSpec` does."""
    if not isinstance(given, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {given}")
    metrics = {key: _pair(key, pair) for key, pair in given.items()}
    for key, pair in metrics.items():
        for part in nest.flatten(pair):
            if not isinstance(part, (Tensor, Operation, Variable)):
                raise TypeError(
                    f"eval_metric_ops[{key}] must be Operation or Tensor, given: {part}"
                )
            _of_this_graph(part, f"eval_metric_ops[{key}]")
    return metrics


def _with_default(export_outputs: Any, predictions: Any) -> dict[str, Any]:
    """The export outputs with one under the default key; the predictions where nothing is given.

    Raises `TypeError` for things of a wrong kind, `ValueError` where none of several is the default.
    """
    if export_outputs is None:
        return {_DEFAULT: PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}"
            )
    if len(export_outputs) == 1:
        return {_DEFAULT: next(iter(export_outputs.values())), **export_outputs}
    if export_outputs and _DEFAULT not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default: "
            f"name one of {sorted(map(str, export_outputs))} {_DEFAULT!r}."
        )
    return export_outputs


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
