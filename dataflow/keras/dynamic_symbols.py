"""What a model's graph has of layers that only run in eager code."""

from __future__ import annotations

from typing import Any

from dataflow.graph import nest
from dataflow.keras.backend_settings import floatx
from dataflow.layers.base import Layer
from dataflow.ops.sources import placeholder


def symbols_of(layer: Any, inputs: Any) -> Any:
    """What stands in a model's graph for the output of a dynamic layer: tensors of its shape, without values.

    Raises `NotImplementedError` where the layer does not say its output's shape.
    """
    if type(layer).compute_output_shape is Layer.compute_output_shape:
        raise NotImplementedError(
            "We could not automatically infer the static shape of the layer's output. Please implement the "
            f"`compute_output_shape` method on your layer ({type(layer).__name__}), which is dynamic."
        )
    found = layer.compute_output_shape(nest.map_structure(lambda tensor: tensor.shape, inputs))
    first = nest.flatten(inputs)[0].dtype.base_dtype
    kind = layer.dtype or (first if first.is_floating else floatx())
    several = isinstance(found, list) and any(not isinstance(s, (int, type(None))) for s in found)
    made = [placeholder(kind, s, name=layer.name) for s in (found if several else [found])]
    return made if several else made[0]
