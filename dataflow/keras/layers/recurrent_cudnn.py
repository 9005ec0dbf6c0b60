"""`CuDNNLSTM` and `CuDNNGRU`: cuDNN's arithmetic and layout of weights, on the kernels that run here.

So weights that were trained with them on a GPU load and give the same numbers without one.
"""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras.base_layer import Layer
from dataflow.keras.layers.recurrent import GRU, LSTM
from dataflow.keras.layers.recurrent_counts import Call, num_cudnn_call_nodes

_REFUSED = ("activation", "recurrent_activation", "use_bias", "dropout", "recurrent_dropout")


def _settings(cls: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments without those that cuDNN fixes; raises `TypeError` for them."""
    for key in (*_REFUSED, "reset_after", "unroll", "implementation"):
        if key in kwargs:
            raise TypeError(f"{cls} has no argument {key!r}: cuDNN fixes it.")
    return kwargs


class _WithoutMasks(Layer):
    """A layer that refuses masks, and what cuDNN fixes."""

    takes_all_settings = False

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: bool | Tensor | None = None,
        initial_state: Any = None,
    ) -> Any:
        masks = mask if isinstance(mask, (list, tuple)) else [mask]
        if masks and masks[0] is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        return super().call(inputs, training=training, initial_state=initial_state)

    def _num_nodes(self, call: Call) -> int:
        return num_cudnn_call_nodes(self, call)


class CuDNNLSTM(_WithoutMasks, LSTM):
    """`LSTM` with sigmoid gates and two biases in one vector of 8 * units; no masks, no dropout."""

    _cell_kind = ""

    def __init__(self, units: int, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(
            units,
            recurrent_activation="sigmoid",
            unit_forget_bias=unit_forget_bias,
            **_settings("CuDNNLSTM", kwargs),
        )

    def _bias_shape(self) -> list[int]:
        return [8 * self.units]

    def _input_bias(self) -> Any:
        return self.bias[: 4 * self.units] + self.bias[4 * self.units :]


class CuDNNGRU(_WithoutMasks, GRU):
    """`GRU` that resets after the product, with sigmoid gates and a bias of 6 * units; no masks."""

    _cell_kind = ""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(
            units,
            recurrent_activation="sigmoid",
            reset_after=True,
            **_settings("CuDNNGRU", kwargs),
        )

    def _bias_shape(self) -> list[int]:
        return [6 * self.units]

    def _input_bias(self) -> Any:
        return self.bias[: 3 * self.units]

    def _recurrent_bias(self) -> Any:
        return self.bias[3 * self.units :]
