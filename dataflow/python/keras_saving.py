"""``keras.saving.saving_utils``: what savers of models ask of them, and their calls as `tf.function`."""

from __future__ import annotations

import os
from typing import Any

from dataflow.functions.traced import Function, function
from dataflow.graph import nest
from dataflow.keras import losses, optimizers
from dataflow.layers.layer_calls import arguments_of
from dataflow.layers.serialization import serialize
from dataflow.ops.type_specs import TensorSpec
from dataflow.python.keras_h5dict import ask_to_proceed_with_overwrite

__all__ = [
    "compile_args_from_training_config",
    "extract_model_metrics",
    "model_input_signature",
    "model_metadata",
    "raise_model_input_error",
    "should_overwrite",
    "trace_model_call",
]


def extract_model_metrics(model: Any) -> dict[str, Any] | None:
    """The metrics of `compile` by the names that are reported; None where there are none."""
    if not model.compile_settings.get("metrics"):
        return None
    return dict(model.compiled_metrics())


def model_input_signature(model: Any) -> Any:
    """[the model's inputs as a structure of `TensorSpec`], any number of examples; None before it has inputs."""
    if not model.inputs:
        return None
    specs = [
        TensorSpec([None, *tensor.shape.as_list()[1:]], tensor.dtype.base_dtype, name)
        for tensor, name in zip(model.inputs, model.input_names, strict=True)
    ]
    inputs = model.structure_of_inputs
    packed = nest.pack_like(inputs, specs) if isinstance(inputs, (list, tuple, dict)) else specs
    return packed if isinstance(packed, (list, tuple)) and len(packed) == 1 else [packed]


def raise_model_input_error(model: Any) -> None:
    """Raises the `ValueError` of a model that has not met its inputs."""
    raise ValueError(
        f"Model {model} cannot be saved because the input shapes have not been set. Usually, input shapes are "
        "automatically determined from calling .fit() or .predict(). To manually set the shapes, call "
        "model._set_inputs(inputs)."
    )


def trace_model_call(model: Any, input_signature: Any = None) -> Any:
    """A `tf.function` of the model's inputs that returns its outputs by name, as in inference.

    ``input_signature``: a list of `TensorSpec`; that of the model's ``call`` or of its inputs by default. Raises
    `ValueError` for a model that has not met its inputs.
    """
    if input_signature is None and isinstance(model.call, Function):
        input_signature = model.call.input_signature
    if input_signature is None:
        input_signature = model_input_signature(model)
    if input_signature is None:
        raise_model_input_error(model)

    def call(*args: Any) -> dict[str, Any]:
        inputs = args[0] if len(input_signature) == 1 else list(args)
        outputs = nest.flatten(model(inputs, **_inference(model)))
        names = getattr(model, "output_names", None)
        names = names or [f"output_{i + 1}" for i in range(len(outputs))]
        return dict(zip(names, outputs, strict=True))

    return function(call, input_signature=input_signature, autograph=False)


def _inference(model: Any) -> dict[str, bool]:
    return {"training": False} if "training" in arguments_of(model.call)[0] else {}


def model_metadata(
    model: Any, include_optimizer: bool = True, require_config: bool = True
) -> dict[str, Any]:
    """What files of models say beside the weights: architecture, and what `compile` was given.

    Raises `NotImplementedError` for a model without config, unless ``require_config`` is False.
    """
    from dataflow.keras import __version__, backend

    config: dict[str, Any] = {"class_name": type(model).__name__}
    try:
        config["config"] = model.get_config()
    except NotImplementedError:
        if require_config:
            raise
    metadata = {
        "keras_version": __version__,
        "backend": backend.backend(),
        "model_config": config,
    }
    optimizer = model.optimizer
    if include_optimizer and optimizer is not None:
        if not isinstance(optimizer, optimizers.TFOptimizer):
            metadata["training_config"] = {
                **model.compile_settings,
                "optimizer_config": serialize(optimizer),
            }
    return metadata


def should_overwrite(filepath: str, overwrite: bool) -> bool:
    """Whether a file may be written: asks, where there is one and ``overwrite`` is False."""
    return overwrite or not os.path.isfile(filepath) or ask_to_proceed_with_overwrite(filepath)


def compile_args_from_training_config(
    training_config: dict[str, Any], custom_objects: Any = None
) -> dict[str, Any]:
    """What to give to `Model.compile`, from what `model_metadata` said; names may be of ``custom_objects``."""
    objects = custom_objects or {}

    def known(value: Any) -> Any:
        return nest.map_structure(lambda one: objects.get(one, one), value)

    loss = training_config["loss"]
    if isinstance(loss, dict) and "class_name" in loss:
        loss = losses.get(loss)
    return {
        "optimizer": optimizers.deserialize(training_config["optimizer_config"], objects),
        "loss": known(loss),
        "metrics": known(training_config["metrics"]),
        "weighted_metrics": known(training_config.get("weighted_metrics")),
        "loss_weights": training_config["loss_weights"],
        "sample_weight_mode": training_config["sample_weight_mode"],
    }
