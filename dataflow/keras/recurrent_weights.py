"""Weights of recurrent layers between files and layers: CuDNN's form, with two biases, and the plain one.

A file with the weights of a `CuDNNLSTM` is loaded into an `LSTM` and the other way round, as in Keras,
and likewise `CuDNNGRU` and a `GRU` that resets after the product. In files CuDNN's kernels are
transposed, gate by gate; the layers here hold them as plain ones are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_GATES = {"LSTM": 4, "CuDNNLSTM": 4, "GRU": 3, "CuDNNGRU": 3}


def loaded(layer: Any, arrays: list[Any]) -> list[Any]:
    """``arrays`` of a file in the form that ``layer`` has; as they are where nothing is known of them."""
    kind = type(layer).__name__
    if kind == "Bidirectional":
        return _of_both(layer, arrays, loaded)
    if kind not in _GATES or len(arrays) != 3:
        return arrays
    num_gates = _GATES[kind]
    kernel, recurrent, bias = arrays
    units = recurrent.shape[0]
    if from_cudnn := bias.shape == (2 * num_gates * units,):
        kernel = np.hstack([k.T.reshape(k.shape, order="F") for k in np.hsplit(kernel, num_gates)])
        recurrent = np.hstack([k.T for k in np.hsplit(recurrent, num_gates)])
    if from_cudnn == kind.startswith("CuDNN"):
        return [kernel, recurrent, bias]
    if num_gates == 4:
        bias = np.sum(np.split(bias, 2), axis=0) if from_cudnn else np.tile(0.5 * bias, 2)
    elif from_cudnn or bias.ndim == 2:  # a GRU that resets before the product has one bias only
        bias = bias.reshape((2, -1) if from_cudnn else -1)
    return [kernel, recurrent, bias]


def stored(layer: Any, arrays: list[Any]) -> list[Any]:
    """``arrays`` of ``layer`` in the form of a file."""
    kind = type(layer).__name__
    if kind == "Bidirectional":
        return _of_both(layer, arrays, stored)
    if not kind.startswith("CuDNN") or len(arrays) != 3:
        return arrays
    kernel, recurrent, bias = arrays
    num_gates = _GATES[kind]
    kernel = np.hstack([k.T.reshape(k.shape) for k in np.hsplit(kernel, num_gates)])
    return [kernel, np.hstack([k.T for k in np.hsplit(recurrent, num_gates)]), bias]


def _of_both(layer: Any, arrays: list[Any], convert: Any) -> list[Any]:
    half = len(arrays) // 2
    forward, backward = arrays[:half], arrays[half:]
    return [*convert(layer.forward_layer, forward), *convert(layer.backward_layer, backward)]
