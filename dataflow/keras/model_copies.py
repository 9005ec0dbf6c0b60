"""Copies of models: of their architecture, and compiled as the model was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.keras import function_code
from dataflow.keras.base_layer import Layer
from dataflow.keras.base_metric import Metric
from dataflow.keras.call_nodes import tag_of
from dataflow.keras.layers.core import Input, InputLayer
from dataflow.keras.network import Model
from dataflow.keras.optimizers import TFOptimizer
from dataflow.keras.sequential import Sequential
from dataflow.layers.serialization import custom_object_scope


def clone_model(model: Model, input_tensors: Any = None, clone_function: Any = None) -> Any:
    """A model of the same architecture, with new weights; on ``input_tensors`` where given.

    ``clone_function(layer)`` returns the layer to take in place of each one but the inputs.
    """
    if clone_function is not None:
        return _cloned_by(clone_function, model, input_tensors)
    if input_tensors is not None and not isinstance(input_tensors, (list, tuple)):
        input_tensors = [input_tensors]
    with function_code.in_memory(), custom_object_scope(_own_classes(model)):
        return type(model).from_config(model.get_config(), inputs=input_tensors)


def _own_classes(model: Any) -> dict[str, Any]:
    """The layers' classes that a program wrote, by name, those of layers within too."""
    found: dict[str, Any] = {}
    waiting = list(model.layers)
    while waiting:
        layer = waiting.pop()
        cls = type(layer)
        if not cls.__module__.startswith("dataflow."):
            found[cls.__name__] = cls
        waiting.extend(layer.sublayers())
    return found


def _cloned_by(function: Callable[..., Any], model: Any, input_tensors: Any) -> Any:
    """The model's calls made again, with the layers that ``function`` returns."""
    given = [_as_input(t) for t in nest.flatten(input_tensors)] if input_tensors is not None else []
    inputs = given or [
        Input(batch_shape=t.shape.as_list(), dtype=t.dtype.base_dtype, name=name)
        for t, name in zip(model.inputs, model.input_names, strict=True)
    ]
    if isinstance(model, Sequential):
        first = [Input(tensor=inputs[0])] if inputs else []
        return Sequential([*first, *map(function, model.layers)], name=model.name)
    values = {id(old): new for old, new in zip(model.inputs, inputs, strict=True)}
    made: dict[int, Any] = {}
    for node in model.network_nodes:
        layer = made.setdefault(id(node.layer), function(node.layer))
        kwargs = nest.map_structure(lambda t: values.get(id(t), t), dict(node.kwargs))
        results = layer(nest.map_structure(lambda t: values[id(t)], node.inputs), **kwargs)
        for old, new in zip(nest.flatten(node.outputs), nest.flatten(results), strict=True):
            values[id(old)] = new
    outputs = [values[id(t)] for t in model.outputs]
    return Model(
        inputs[0] if len(inputs) == 1 else inputs,
        outputs[0] if len(outputs) == 1 else outputs,
        name=model.name,
    )


def _as_input(tensor: Any) -> Any:
    """The tensor, as an input of a model: that of a layer as it is."""
    return tensor if tag_of(tensor, "history") else Input(tensor=tensor)


def clone_layer(layer: Any) -> Any:
    """A layer with the config of ``layer``, and weights of its own."""
    return type(layer).from_config(layer.get_config())


def clone_functional_model(
    model: Any, input_tensors: Any = None, layer_fn: Any = clone_layer
) -> Any:
    """As `clone_model` of a model that tensors made, where ``layer_fn(layer)`` makes the layers.

    Raises `ValueError` for another model, and for what is no function.
    """
    _need(isinstance(model, Model), "a `Model`", model)
    _need(not isinstance(model, Sequential), "a functional `Model`", model)
    _need(model._is_graph_network, "a functional `Model`, no class of your own", model)
    return _cloned_with(model, input_tensors, layer_fn)


def clone_sequential_model(
    model: Any, input_tensors: Any = None, layer_fn: Any = clone_layer
) -> Any:
    """As `clone_model` of a `Sequential`, where ``layer_fn(layer)`` makes the layers.

    Raises `ValueError` for another model, for what is no function, and for several ``input_tensors`` or one that
    another layer than an input made.
    """
    _need(isinstance(model, Sequential), "a `Sequential` model", model)
    tensors = [] if input_tensors is None else nest.flatten(input_tensors)
    if len(tensors) > 1:
        raise ValueError(
            f"To clone a `Sequential` model, give at most one of `input_tensors`, got {len(tensors)}."
        )
    for history in filter(None, (tag_of(tensor, "history") for tensor in tensors)):
        if not isinstance(history[0], InputLayer):
            raise ValueError(
                "Cannot clone a `Sequential` model on top of a tensor that comes from a Keras layer other than an "
                "`InputLayer`. Use the functional API instead."
            )
    return _cloned_with(model, input_tensors, layer_fn)


def _need(holds: bool, what: str, model: Any) -> None:
    if not holds:
        raise ValueError(f"Expected `model` argument to be {what} instance, got: {model}")


def _cloned_with(model: Any, input_tensors: Any, layer_fn: Any) -> Any:
    if not callable(layer_fn):
        raise ValueError(f"Expected `layer_fn` argument to be a callable, got: {layer_fn!r}")
    return clone_model(model, input_tensors, None if layer_fn is clone_layer else layer_fn)


def share_weights(layer: Any) -> Any:
    """The layer itself: what `clone_model` takes so that the clone has the weights of the model."""
    return layer


def clone_and_build_model(
    model: Any,
    input_tensors: Any = None,
    target_tensors: Any = None,
    custom_objects: Any = None,
    compile_clone: bool = True,
    in_place_reset: bool = False,
    optimizer_iterations: Any = None,
    optimizer_config: Any = None,
) -> Any:
    """A copy of a model with new weights, on ``input_tensors`` where given, compiled as the model is.

    A class of a program's own, which has no config, is only ``in_place_reset``: it gets new layers itself.
    ``optimizer_config`` are the settings of the copy's optimizer, ``optimizer_iterations`` its step.

    Raises `ValueError` for a model that is not compiled, unless ``compile_clone`` is False, and for a class of
    a program's own that is not to be reset.
    """
    optimizer = model.optimizer
    if compile_clone and optimizer is None:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has not been compiled."
        )
    settings = dict(model.compile_settings)
    if model._is_graph_network or isinstance(model, Sequential):
        with custom_object_scope(custom_objects or {}):
            clone = clone_model(model, input_tensors=input_tensors)
    else:
        if not in_place_reset:
            raise ValueError(
                f"{type(model).__name__} is a subclassed model, which cannot be cloned: with in_place_reset=True "
                "it gets new layers itself."
            )
        clone = model
        _reset(clone)
        if input_tensors is not None:
            given = isinstance(input_tensors, (list, tuple)) and len(input_tensors) == 1
            clone._build_from_inputs(input_tensors[0] if given else input_tensors)
    if compile_clone:
        made = _again(optimizer, optimizer_config, optimizer_iterations)
        for what in ("metrics", "weighted_metrics"):
            settings[what] = _fresh(settings[what])
        clone.compile(made, target_tensors=target_tensors, **settings)
    return clone


def _again(optimizer: Any, config: Any, iterations: Any) -> Any:
    if isinstance(optimizer, TFOptimizer):
        return TFOptimizer(optimizer.optimizer, iterations)
    made = type(optimizer).from_config(config or optimizer.get_config())
    if iterations is not None:
        made.iterations = iterations
    return made


def _fresh(metrics: Any) -> Any:
    """Metrics that have counted nothing yet, in the same lists and dicts."""
    if isinstance(metrics, dict):
        return {key: _fresh(value) for key, value in metrics.items()}
    if isinstance(metrics, (list, tuple)):
        return [_fresh(value) for value in metrics]
    return (
        type(metrics).from_config(metrics.get_config()) if isinstance(metrics, Metric) else metrics
    )


def _reset(model: Any) -> None:
    """Gives a model of a program's own new layers in place of its own, and forgets its inputs and its optimizer."""

    def renewed(value: Any) -> Any:
        if isinstance(value, Layer) and not isinstance(value, Metric):
            return type(value).from_config(value.get_config())
        if isinstance(value, (list, tuple)) and any(isinstance(part, Layer) for part in value):
            return type(value)(map(renewed, value))
        return value

    for name, value in list(vars(model).items()):
        if name not in model.not_parts and (new := renewed(value)) is not value:
            setattr(model, name, new)
    model.forget_inputs()
