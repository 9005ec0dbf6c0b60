"""Recurrent layers with TensorFlow 2's defaults: `tf.compat.v2.keras.layers`, ``tensorflow.python.keras.layers.recurrent_v2``.

Gates are sigmoids, not their pieces of straight lines, and a `GRU` resets after the product, as cuDNN's.
Their configs say so, and are those of the layers that they are kinds of.
"""

from __future__ import annotations

from typing import Any

from dataflow.keras.layers import recurrent, recurrent_cells
from dataflow.namespaces import also_from

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell"]


class LSTM(recurrent.LSTM):
    """`tf.keras.layers.LSTM` with ``recurrent_activation="sigmoid"``."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, *args, **kwargs)


class LSTMCell(recurrent_cells.LSTMCell):
    """`tf.keras.layers.LSTMCell` with ``recurrent_activation="sigmoid"``."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, *args, **kwargs)


class GRU(recurrent.GRU):
    """`tf.keras.layers.GRU` with ``recurrent_activation="sigmoid"`` and ``reset_after=True``."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, reset_after, **kwargs)


class GRUCell(recurrent_cells.GRUCell):
    """`tf.keras.layers.GRUCell` with ``recurrent_activation="sigmoid"`` and ``reset_after=True``."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, reset_after, **kwargs)


__getattr__ = also_from(__name__, "dataflow.keras.layers")
