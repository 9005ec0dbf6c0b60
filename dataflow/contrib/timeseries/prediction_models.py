"""The networks of autoregressive models: from windows of features to the mean and variance of what follows."""

from __future__ import annotations

from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.keras.layers.core import Dense
from dataflow.keras.network import Model
from dataflow.keras.sequential import Sequential
from dataflow.ops import array
from dataflow.ops.elementary import exp
from dataflow.rnn.fused_cells import LSTMBlockFusedCell
from dataflow.shapes import dimension_value


class FlatPredictionModel(Model):
    """Dense layers on the flat windows; ``hidden_layer_sizes``: those of relu layers before the last."""

    def __init__(
        self,
        num_features: int,
        input_window_size: int,
        output_window_size: int,
        hidden_layer_sizes: Any = None,
    ) -> None:
        super().__init__()
        self._hidden = None
        if hidden_layer_sizes:
            layers = [Dense(size, activation="relu") for size in hidden_layer_sizes]
            self._hidden = Sequential(layers)
        width = num_features * output_window_size
        self._mean = Dense(width, name="predicted_mean")
        self._log_variance = Dense(width, name="log_sigma_square")
        self._shape = [-1, output_window_size, num_features]

    def call(  # type: ignore[override]
        self, input_window_features: Any, output_window_features: Any
    ) -> dict[str, Tensor]:
        """{"mean", "covariance"}, each [batch, output window, features]."""
        flat = [
            array.reshape(
                part, [-1, dimension_value(part.shape[1]) * dimension_value(part.shape[2])]
            )
            for part in (input_window_features, output_window_features)
            if dimension_value(part.shape[1]) * dimension_value(part.shape[2])
        ]
        net = array.concat(flat, axis=1)
        if self._hidden is not None:
            net = self._hidden(net)
        return {
            "mean": array.reshape(self._mean(net), self._shape),
            "covariance": array.reshape(exp(self._log_variance(net)), self._shape),
        }


class LSTMPredictionModel(Model):
    """An LSTM that reads the input window, and one that goes on through the output window."""

    def __init__(
        self,
        num_features: int,
        input_window_size: int,
        output_window_size: int,
        num_units: int = 128,
    ) -> None:
        super().__init__()
        self._encoder = LSTMBlockFusedCell(num_units=num_units, name="encoder")
        self._decoder = LSTMBlockFusedCell(num_units=num_units, name="decoder")
        self._mean = Dense(num_features, name="mean_transform")
        self._log_variance = Dense(num_features, name="covariance_transform")

    def call(  # type: ignore[override]
        self, input_window_features: Any, output_window_features: Any
    ) -> dict[str, Tensor]:
        """{"mean", "covariance"}, each [batch, output window, features]."""
        read, ahead = (
            array.transpose(part, [1, 0, 2])
            for part in (input_window_features, output_window_features)
        )
        _, state = self._encoder(read, dtype=read.dtype)
        net, _ = self._decoder(ahead, dtype=ahead.dtype, initial_state=state)
        net = array.transpose(net, [1, 0, 2])
        return {"mean": self._mean(net), "covariance": exp(self._log_variance(net))}
