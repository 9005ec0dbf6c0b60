"""`LinearModel` and `WideDeepModel` (Cheng et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras import activations, initializers
from dataflow.keras.layers.core import Dense
from dataflow.keras.network import Model


class LinearModel(Model):
    """``activation(sum of input_i kernel_i + bias)``, for one input or a list of them.

    Each input is [batch, features]; the result [batch, ``units``].
    """

    def __init__(
        self,
        units: int = 1,
        activation: str | Callable[..., Any] | None = None,
        use_bias: bool = True,
        kernel_initializer: str | InitializerLike = "glorot_uniform",
        bias_initializer: str | InitializerLike = "zeros",
        kernel_regularizer: str | Callable[[Any], Any] | None = None,
        bias_regularizer: str | Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.bias_initializer = initializers.get(bias_initializer)
        self.bias_regularizer = bias_regularizer
        self._kernel_settings = {
            "kernel_initializer": kernel_initializer,
            "kernel_regularizer": kernel_regularizer,
        }
        self.dense_layers: list[Dense] = []
        self.bias: Any = None

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        """The prediction."""
        given = nest.flatten(inputs)
        if not self.dense_layers:
            for _ in given:
                layer = Dense(self.units, use_bias=False, **self._kernel_settings)
                self.dense_layers.append(layer)
            if self.use_bias:
                self.bias = self.add_weight(
                    "bias",
                    [self.units],
                    initializer=self.bias_initializer,
                    regularizer=self.bias_regularizer,
                )
        if len(given) != len(self.dense_layers):
            raise ValueError(
                f"LinearModel was made for {len(self.dense_layers)} inputs, got {len(given)}."
            )
        parts = [layer(x) for layer, x in zip(self.dense_layers, given, strict=True)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        if self.bias is not None:
            total = total + self.bias
        return total if self.activation is None else self.activation(total)


class WideDeepModel(Model):
    """``activation(linear_model(x) + dnn_model(y))``; call it with ``[x, y]``, or one for both.

    ``compile`` takes one optimizer for both parts.
    """

    def __init__(
        self,
        linear_model: Any,
        dnn_model: Any,
        activation: str | Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.linear_model = linear_model
        self.dnn_model = dnn_model
        self.activation = activations.get(activation)

    def compile(self, optimizer: Any = "rmsprop", *args: Any, **kwargs: Any) -> None:
        """As of `Model`; raises `NotImplementedError` for a list of two optimizers."""
        if isinstance(optimizer, (list, tuple)):
            raise NotImplementedError(
                "WideDeepModel.compile takes one optimizer here; for one for each part, train with "
                "tf.estimator.DNNLinearCombinedClassifier."
            )
        super().compile(optimizer, *args, **kwargs)

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        """The prediction."""
        pair = isinstance(inputs, (list, tuple)) and len(inputs) == 2
        wide, deep = inputs if pair else (inputs, inputs)
        takes = training is not None and "training" in self.dnn_model._call_arguments()
        second = self.dnn_model(deep, training=training) if takes else self.dnn_model(deep)
        total = self.linear_model(wide) + second
        return total if self.activation is None else self.activation(total)
