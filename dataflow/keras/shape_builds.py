"""`Model.build` of a subclassed model: makes its weights from the shapes of its inputs alone."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from dataflow import errors
from dataflow.autograph.conversion import converted_if_needed
from dataflow.keras import backend as K
from dataflow.keras.layer_tree import distinct
from dataflow.ops.sources import placeholder
from dataflow.shapes import TensorShape

#: What a call leaves behind in a layer, and is no part of the model that a call on data makes.
_LEFT_BY_CALLS = ("_nodes", "_calls", "_updates", "_added_metrics")


def build_from_shapes(model: Any, input_shape: Any) -> None:
    """Calls ``model`` on placeholders of these shapes, for the weights, and forgets the call.

    ``input_shape``: a shape with the batch, or a list of shapes. Raises `ValueError` for anything else, where
    ``call`` has arguments that only a call on data can give, and where a layer takes no floats.
    """
    if input_shape is None:
        raise ValueError(
            "Input shape must be defined when calling build() on a model subclass network: "
            "model.build((None, 10))."
        )
    if not isinstance(input_shape, (tuple, list, TensorShape)):
        raise ValueError(
            "Specified input shape is not one of the valid types. Please specify a batch input shape of type "
            f"tuple or list of input shapes. User provided input type: {type(input_shape)}."
        )
    kwargs = _other_arguments(model)
    with K.building_graph().as_default() as graph:
        before = {id(x): _lengths(x) for x in _within(model)}
        shapes = _shapes(input_shape)
        inputs = [placeholder(K.floatx(), shape) for shape in shapes]
        several = isinstance(input_shape, list) and _holds_shapes(input_shape)
        try:
            with K.in_call(graph):
                converted_if_needed(model.call)(inputs if several else inputs[0], **kwargs)
        except (errors.InvalidArgumentError, TypeError) as error:
            raise ValueError(
                "You cannot build your model by calling `build` if your layers do not support float type "
                "inputs. Instead, in order to instantiate and build your model, `call` your model on real "
                f"tensor data (of the correct dtype). {error}"
            ) from error
        for layer in _within(model):
            _forget(layer, before.get(id(layer), {}), inputs)


def _other_arguments(model: Any) -> dict[str, Any]:
    """``training``, where ``call`` wants it; raises `ValueError` where it wants another argument."""
    parameters = list(inspect.signature(model.call).parameters.values())
    named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    if not named:
        raise ValueError(
            "You can only call `build` on a model if its `call` method accepts an `inputs` argument."
        )
    kwargs: dict[str, Any] = {}
    for parameter in named[1:]:
        if parameter.name == "training":
            kwargs["training"] = False
        elif parameter.default is parameter.empty:
            raise ValueError(
                "Currently, you cannot build your model if it has positional or keyword arguments that are not "
                "inputs to the model, but are required for its `call` method. Instead, in order to instantiate "
                "and build your model, `call` your model on real tensor data with all expected call arguments."
            )
    return kwargs


def _holds_shapes(shape: Any) -> bool:
    return any(isinstance(one, (tuple, list, TensorShape)) for one in shape)


def _shapes(shape: Any) -> list[TensorShape]:
    several = not isinstance(shape, TensorShape) and _holds_shapes(shape)
    return [TensorShape(one) for one in (shape if several else [shape])]


def _within(model: Any) -> list[Any]:
    """The model and all nested layers."""

    def walk(layer: Any) -> Iterator[Any]:
        yield layer
        for part in layer.sublayers() if hasattr(layer, "sublayers") else ():
            yield from walk(part)

    return distinct(walk(model))


def _lengths(layer: Any) -> dict[str, int]:
    return {name: len(getattr(layer, name)) for name in _LEFT_BY_CALLS if hasattr(layer, name)}


def _forget(layer: Any, before: dict[str, int], inputs: list[Any]) -> None:
    if hasattr(layer, "keep_losses"):  # those of the weights alone
        of_call = {id(loss) for loss in layer.get_losses_for(inputs)}
        layer.keep_losses(lambda loss: id(loss) not in of_call)
    for name in _LEFT_BY_CALLS:
        held = getattr(layer, name, None)
        if held is not None:
            del held[before.get(name, 0) :]
