"""`tf.keras.estimator`: a compiled model as an `Estimator`."""

from __future__ import annotations

import copy
import os
from typing import Any

from dataflow.estimator.estimator import Estimator
from dataflow.estimator.export_outputs import PredictOutput
from dataflow.estimator.model_fn import EstimatorSpec, ModeKeys
from dataflow.formats.checkpoint_reader import CheckpointReader
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.graph import Graph
from dataflow.graph.type_aliases import TensorLike
from dataflow.keras import backend as K, models, optimizers
from dataflow.keras.network import Model
from dataflow.keras.sequential import Sequential
from dataflow.layers.serialization import custom_object_scope, serialize
from dataflow.ops.array import expand_dims
from dataflow.ops.control_flow import group
from dataflow.ops.math import cast
from dataflow.ops.sources import placeholder
from dataflow.ops.state import assign
from dataflow.runtime.session import Session
from dataflow.train.checkpoint_management import latest_checkpoint
from dataflow.train.global_step import get_or_create_global_step
from dataflow.train.object_restore import keys_by_name
from dataflow.train.saveables import OBJECT_GRAPH_KEY
from dataflow.train.saver import Saver
from dataflow.train.scaffold import Scaffold

__all__ = ["model_to_estimator"]


class _Copies:
    """Copies of a compiled model, each made on the tensors of an input function."""

    def __init__(self, keras_model: Any, custom_objects: Any) -> None:
        self._original = keras_model
        self._made_by = Sequential if isinstance(keras_model, Sequential) else Model
        self._architecture = keras_model.get_config()
        self._custom_objects = custom_objects or {}
        #: The weights to begin with.
        self.values: list[Any] = []

    def make(self, inputs: Any, mode: str) -> Any:
        """A copy on ``inputs`` (None: on placeholders), for this mode."""
        K.set_learning_phase(int(mode == ModeKeys.TRAIN))
        with custom_object_scope(self._custom_objects):
            return self._made_by.from_config(self._architecture, inputs=inputs)

    def compile(self, model: Any, targets: Any) -> None:
        """Compile a copy as the original is, with metrics and an optimizer of its own."""
        arguments = copy.copy(self._original._compile_arguments)
        for key in ("metrics", "weighted_metrics"):
            if arguments[key]:
                arguments[key] = _fresh(arguments[key])
        optimizer = _same_optimizer(self._original.optimizer)
        model.compile(optimizer, target_tensors=targets, **arguments)

    def model_fn(self, features: Any, labels: TensorLike, mode: str) -> EstimatorSpec:
        """The estimator's model function."""
        original = self._original
        inputs = _in_order(features, original.input_names, "features")
        tensors = [_fitting(t, i) for t, i in zip(inputs, original.inputs, strict=True)]
        model = self.make(tensors, mode)
        scaffold = _scaffold_that_sets(model.weights, self.values)
        predictions = dict(zip(original.output_names, model.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(
                mode,
                predictions=predictions,
                scaffold=scaffold,
                export_outputs={"serving_default": PredictOutput(predictions)},
            )
        self.compile(model, _in_order(labels, original.output_names, "labels"))
        metrics = {metric.name: (metric.result(), update) for metric, update in model._counted}
        train_op = None
        if mode == ModeKeys.TRAIN:
            train_op = group(*model._make_train_operations())  # counts in the global step
        return EstimatorSpec(
            mode,
            predictions=predictions,
            loss=model.total_loss,
            train_op=train_op,
            eval_metric_ops=None if mode == ModeKeys.TRAIN else metrics,
            scaffold=scaffold,
        )


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: str | None = None,
    config: Any = None,
    checkpoint_format: str = "saver",
) -> Estimator:
    """An `Estimator` that trains, evaluates and exports copies of a compiled Keras model.

    The model (or the file of one, ``keras_model_path``) gives the architecture, the loss, the
    metrics, the optimizer's settings, and the weights to begin with; it is not changed itself.
    Its copy's variables are written to ``keras/keras_model.ckpt`` in ``model_dir``; where an earlier
    run wrote them there, the weights to begin with are those. With ``checkpoint_format="checkpoint"``
    that file is one of objects, as `tf.train.Checkpoint` writes.
    ``input_fn`` gives features by the names in ``keras_model.input_names`` (or one tensor), and
    labels by those in ``output_names`` (or one tensor).

    Raises `ValueError` unless there is one of both, or where the model is not compiled.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError(
            "Either `keras_model` or `keras_model_path` needs to be provided, not both."
        )
    if checkpoint_format not in (None, "saver", "checkpoint"):
        raise ValueError(
            f"checkpoint_format is 'saver' or 'checkpoint', got {checkpoint_format!r}."
        )
    if keras_model is None:
        keras_model = models.load_model(keras_model_path, custom_objects)
    if keras_model.optimizer is None:
        raise ValueError(
            "The given keras model has not been compiled yet: call model.compile(optimizer, loss) "
            "before model_to_estimator."
        )
    if not keras_model.outputs:
        raise ValueError(
            "model_to_estimator: the model does not know its inputs yet. Give its first layer "
            "input_shape=..., or use Input and Model(inputs, outputs)."
        )
    copies = _Copies(keras_model, custom_objects)
    estimator = Estimator(copies.model_fn, model_dir=model_dir, config=config)
    prefix = os.path.join(estimator.model_dir, "keras", "keras_model.ckpt")
    settings = estimator.config.session_config
    with Graph().as_default(), Session(config=settings) as session:
        get_or_create_global_step()
        model = copies.make(None, ModeKeys.TRAIN)
        copies.compile(model, None)
        model._make_train_operations()
        copies.values += _save_or_read(keras_model, model, session, prefix, checkpoint_format)
    return estimator


def _save_or_read(
    keras_model: Any, model: Any, session: Any, prefix: str, checkpoint_format: str | None
) -> list[Any]:
    """Writes the first checkpoint, of the model's weights, or reads that of an earlier run; weights."""
    found = latest_checkpoint(os.path.dirname(prefix))
    if found is not None:
        reader = CheckpointReader(found)
        keys = keys_by_name(reader) if reader.has_tensor(OBJECT_GRAPH_KEY) else {}
        return [reader.get_tensor(keys.get(v.op.name, v.op.name)) for v in model.weights]
    with keras_model._graph.as_default():
        values: list[Any] = keras_model.get_weights()
    model.set_weights(values)
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    if checkpoint_format == "checkpoint":
        model.estimator_global_step = get_or_create_global_step()
        model.save_weights(prefix, save_format="tf")
    else:
        Saver().save(session, prefix)
    return values


def _in_order(given: Any, names: list[str], what: str) -> list[Any]:
    """Tensors in the order of ``names``; raises `ValueError` where the names differ."""
    if isinstance(given, dict):
        if set(given) != set(names):
            raise ValueError(
                f"model_to_estimator: the input_fn gives {what} called {sorted(given)}, the model "
                f"has {names}."
            )
        found = [given[name] for name in names]
    else:
        found = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(found) != len(names) or found[0] is None:
        raise ValueError(
            f"model_to_estimator: the model needs {len(names)} {what} ({', '.join(names)}); the "
            f"input_fn gives {'none' if found[0] is None else len(found)}."
        )
    return [convert_to_tensor(value) for value in found]


def _fitting(tensor: Any, like: Any) -> Any:
    """The feature with the dtype and the static shape of the model's input."""
    tensor = cast(tensor, like.dtype.base_dtype)
    if tensor.shape.ndims == 1 and like.shape.ndims == 2:
        tensor = expand_dims(tensor, -1)
    tensor.set_shape(like.shape)
    return tensor


def _scaffold_that_sets(variables: list[Any], values: list[Any]) -> Scaffold:
    """A scaffold that starts ``variables`` with ``values`` where there is no checkpoint."""
    feed, assigns = {}, []
    for variable, value in zip(variables, values, strict=True):
        given = placeholder(variable.dtype.base_dtype, variable.shape)
        assigns.append(assign(variable, given).op)
        feed[given] = value
    return Scaffold(init_fn=lambda scaffold, session: session.run(assigns, feed))


def _fresh(metrics: Any) -> Any:
    """Metric objects anew, as those given have variables in another graph."""
    if isinstance(metrics, dict):
        return {name: _fresh(value) for name, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_fresh(value) for value in metrics]
    if hasattr(metrics, "update_state"):
        return type(metrics).from_config(metrics.get_config())
    return metrics


def _same_optimizer(optimizer: Any) -> Any:
    """The optimizer anew, which counts its steps in the global step."""
    if isinstance(optimizer, optimizers.TFOptimizer):
        inner = copy.copy(optimizer.optimizer)
        inner._slots, inner._non_slot_dict = {}, {}
        return optimizers.TFOptimizer(inner, get_or_create_global_step())
    made = optimizers.get(serialize(optimizer))
    made.iterations = get_or_create_global_step()
    return made
