"""Weights of files that Keras 1 or another backend wrote, in the form that layers have now.

Keras 1 kept one array for each gate of a recurrent layer, kernels in Theano's order where channels came
first, and those of `Conv1D` with an axis of 1. Kernels that Theano wrote are turned around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.keras import recurrent_weights
from dataflow.keras.utils.kernel_conversion import convert_kernel

#: Where the arrays of each gate of today's order stood in Keras 1's: an LSTM had i, c, f, o.
_GATES = {"GRU": (0, 1, 2), "LSTM": (0, 2, 1, 3), "ConvLSTM2D": (0, 2, 1, 3)}
#: The axes of today's kernel in Keras 1's, by layer and data format.
_AXES: dict[tuple[str, str], Sequence[int]] = {
    ("Conv2D", "channels_first"): (2, 3, 1, 0),
    ("Conv2DTranspose", "channels_last"): (0, 1, 3, 2),
    ("Conv2DTranspose", "channels_first"): (2, 3, 0, 1),
    ("Conv3D", "channels_first"): (2, 3, 4, 1, 0),
    ("ConvLSTM2D", "channels_first"): (2, 3, 1, 0),
}
#: How many of a convolution's arrays are kernels.
_KERNELS = {"Conv1D": 1, "Conv2D": 1, "Conv3D": 1, "Conv2DTranspose": 1, "ConvLSTM2D": 2}


def loaded(
    layer: Any, arrays: Sequence[Any], version: str | None = None, backend: str | None = None
) -> list[Any]:
    """``arrays`` of a file for ``layer``; ``version`` of Keras and ``backend`` are those that wrote it."""
    kind = type(layer).__name__
    arrays = list(arrays)
    if kind == "Bidirectional":
        half = len(arrays) // 2
        forward = loaded(layer.forward_layer, arrays[:half], version, backend)
        return [*forward, *loaded(layer.backward_layer, arrays[half:], version, backend)]
    if kind == "TimeDistributed":
        return loaded(layer.layer, arrays, version, backend)
    if kind in ("Model", "Sequential"):
        return _of_model(layer, arrays, version, backend)
    if str(version or "2")[:1] == "1":
        arrays = _of_keras_1(layer, kind, arrays)
    if kind in _KERNELS and arrays:
        kernels, others = arrays[: _KERNELS[kind]], arrays[_KERNELS[kind] :]
        if backend == "theano":
            kernels = [convert_kernel(kernel) for kernel in kernels]
        if tuple(layer.weights[0].shape.as_list()) != kernels[0].shape and kernels[0].ndim == 4:
            kernels = [kernel.transpose(3, 2, 0, 1) for kernel in kernels]
        arrays = [*kernels, *others]
    return recurrent_weights.loaded(layer, arrays)


def _of_model(model: Any, arrays: list[Any], version: Any, backend: Any) -> list[Any]:
    """Those of a model within a model: all that are trained come first."""
    found: list[Any] = []
    for trained in (True, False):
        for layer in model.layers:
            learns = {id(w) for w in layer.trainable_weights}
            count = sum((id(w) in learns) is trained for w in layer.weights)
            part, arrays = arrays[:count], arrays[count:]
            found += loaded(layer, part, version, backend) if part else []
    return found


def _of_keras_1(layer: Any, kind: str, arrays: list[Any]) -> list[Any]:
    gates = _GATES.get(kind, ())
    if gates and len(arrays) == 3 * len(gates):
        groups = [[arrays[3 * gate + part] for gate in gates] for part in range(3)]
        arrays = [np.concatenate(group, axis=-1) for group in groups]
    if not arrays:
        return arrays
    if kind == "Conv1D":
        kernel = arrays[0]
        if kernel.shape[:2] != (layer.kernel_size[0], 1) or kernel.shape[3] != layer.filters:
            kernel = kernel.transpose(2, 3, 1, 0)
        return [kernel[:, 0], *arrays[1:]]
    axes = _AXES.get((kind, getattr(layer, "data_format", "")))
    if axes is None:
        return arrays
    count = _KERNELS[kind]
    return [*(np.transpose(a, axes) for a in arrays[:count]), *arrays[count:]]
