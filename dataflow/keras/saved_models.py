"""Models as SavedModels, and their weights as checkpoints: what `tf.train` and serving read."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from dataflow.errors import InvalidArgumentError
from dataflow.functions.traced import Function
from dataflow.graph.eager import executing_eagerly_outside_functions
from dataflow.graph.graph import Graph
from dataflow.graph.nest import flatten
from dataflow.keras import backend as K
from dataflow.layers.serialization import custom_object_scope
from dataflow.ops.type_specs import TensorSpec
from dataflow.runtime.session import Session
from dataflow.train.checkpoint_management import checkpoint_exists, update_checkpoint_state
from dataflow.train.object_checkpoint import restore_objects, write_objects
from dataflow.train.saved_models import simple_save

if TYPE_CHECKING:
    from dataflow.keras.network import Model

#: Where the architecture is, below a SavedModel's folder.
_ARCHITECTURE = os.path.join("assets", "saved_model.json")
_WEIGHTS = os.path.join("assets", "keras_weights")


def save_checkpoint(model: Model, prefix: Any, overwrite: bool = True) -> None:
    """Writes the weights as a checkpoint ``prefix``, which `tf.train.latest_checkpoint` then finds.

    It is a checkpoint of objects, as TensorFlow's, with the optimizer's variables. Raises
    `ValueError` where there are no weights, `FileExistsError` without ``overwrite``.
    """
    prefix = os.fspath(prefix)
    if not overwrite and is_checkpoint(prefix):
        raise FileExistsError(f"{prefix} exists; pass overwrite=True to replace it.")
    _write(model, prefix)
    update_checkpoint_state(os.path.dirname(prefix), prefix, [prefix], save_relative_paths=True)


def _write(model: Model, prefix: str) -> None:
    if not model.weights:
        raise ValueError("This model has no weights yet: give it an input_shape, or data.")
    with model._graph.as_default():
        write_objects(model, prefix, K.get_session())


def _restore_optimizer(model: Model, prefix: str) -> None:
    """Gives the optimizer the variables of the checkpoint that the weights came from; see `load_checkpoint`."""
    if not is_checkpoint(prefix):
        return  # it was deleted since
    with model._graph.as_default():
        weights = model.get_weights()  # as they are now
        restore_objects(model, prefix).run_restore_ops(K.get_session())
        model.set_weights(weights)


def is_checkpoint(path: str) -> bool:
    """Whether ``path`` is the prefix of a checkpoint."""
    return not os.path.isfile(path) and checkpoint_exists(os.fspath(path))


def load_checkpoint(model: Model, prefix: Any) -> Any:
    """Reads what `save_checkpoint` or TensorFlow wrote; the status of the restore.

    A model without weights yet reads it when it has them: None is then the status. An optimizer that
    `compile` gives the model later begins with the variables that the checkpoint has of it. Raises `AssertionError`
    where the checkpoint does not have all weights of the model, `ValueError` where their shapes differ.
    """
    if not model.weights:
        model._awaited_checkpoint = os.fspath(prefix)
        return None
    is_compiled = model._trained is not None
    later = functools.partial(_restore_optimizer, model, os.fspath(prefix))
    model.awaited_optimizer = None if is_compiled else later
    with model._graph.as_default():
        if model._trained is not None:
            model._make_train_operations()  # so that there are slots to restore
        status = restore_objects(model, prefix)
        status.assert_weights(model.weights)
        try:
            status.run_restore_ops(K.get_session())
        except InvalidArgumentError as error:
            raise ValueError(f"The weights do not fit.\n{error}") from error
    return status


def export_saved_model(
    model: Model,
    saved_model_path: Any,
    custom_objects: Any = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Writes a SavedModel for serving, with the architecture in ``assets/saved_model.json``.

    The signature "serving_default" goes from the names of the inputs to those of the outputs.
    Raises `NotImplementedError` for a subclassed model, whose code cannot be saved.
    """
    from dataflow.keras.models import model_from_json

    if as_text or input_signature is not None or serving_only:
        raise NotImplementedError(
            "export_saved_model: as_text, input_signature and serving_only are not supported."
        )
    architecture = model.to_json()
    values = model.get_weights()
    folder = os.fspath(saved_model_path)
    with Graph().as_default(), Session().as_default() as session:
        K.set_learning_phase(0)
        own = {type(layer).__name__: type(layer) for layer in model.layers if not _is_ours(layer)}
        copy = model_from_json(architecture, {**own, **(custom_objects or {})})
        copy.set_weights(values)
        inputs = dict(zip(copy.input_names, copy.inputs, strict=True))
        outputs = dict(zip(copy.output_names, copy.outputs, strict=True))
        simple_save(session, folder, inputs, outputs)
        os.makedirs(os.path.join(folder, "assets"), exist_ok=True)
    _write(model, os.path.join(folder, _WEIGHTS))
    with open(os.path.join(folder, _ARCHITECTURE), "w", encoding="utf-8") as opened:
        opened.write(architecture)


def functions_to_save(model: Model) -> dict[str, Function]:
    """What `tf.saved_model.save` writes of a model whose inputs are known: calls of it, and its signature for serving.

    ``__call__(inputs, training=False)``, and a function from the names of its inputs to those of its outputs.
    """
    if not executing_eagerly_outside_functions() or not model.inputs:
        return {}
    named = list(zip(model.input_names, model.inputs, strict=True))
    specs = [TensorSpec(t.shape, t.dtype.base_dtype, name) for name, t in named]
    given = specs[0] if len(specs) == 1 else specs

    def call(inputs: Any, training: bool = False) -> Any:
        return model(inputs, training=training)

    def serve(*tensors: Any) -> dict[str, Any]:
        outputs = flatten(call(tensors[0] if len(tensors) == 1 else list(tensors)))
        return dict(zip(model.output_names, outputs, strict=True))

    called = Function(call, autograph=False)
    for training in (False, True):
        called.get_concrete_function(given, training)
    return {"__call__": called, "_default_save_signature": Function(serve, specs, autograph=False)}


def _is_ours(layer: Any) -> bool:
    return type(layer).__module__.startswith("dataflow.")


def load_from_saved_model(saved_model_path: Any, custom_objects: Any = None) -> Any:
    """The model that `export_saved_model` wrote; `compile` it to train it.

    Raises `FileNotFoundError` where the folder holds no architecture.
    """
    from dataflow.keras.models import model_from_json

    folder = os.fspath(saved_model_path)
    path = os.path.join(folder, _ARCHITECTURE)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{folder} holds no {_ARCHITECTURE}: it was not written by export_saved_model. To run "
            "the SavedModel of another program, use tf.saved_model.loader.load."
        )
    with open(path, encoding="utf-8") as opened, custom_object_scope(custom_objects or {}):
        model = model_from_json(opened.read())
    load_checkpoint(model, os.path.join(folder, _WEIGHTS))
    return model
