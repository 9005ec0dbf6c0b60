"""`LinearModel` and `WideDeepModel` (Cheng et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph import nest
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import InitializerLike
from dataflow.keras import activations, initializers, optimizers, regularizers
from dataflow.keras.base_layer import Layer
from dataflow.keras.base_optimizer import Optimizer
from dataflow.keras.layers.core import Dense
from dataflow.keras.network import Model
from dataflow.layers.serialization import custom_object_scope, serialize
from dataflow.ops.control_flow import group


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
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.dense_layers: list[Dense] = []
        self.bias: Any = None

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        """The prediction."""
        given = nest.flatten(inputs)
        if not self.dense_layers:
            for _ in given:
                layer = Dense(
                    self.units,
                    use_bias=False,
                    kernel_initializer=self.kernel_initializer,
                    kernel_regularizer=self.kernel_regularizer,
                )
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

    def get_config(self) -> dict[str, Any]:
        """The arguments."""
        parts = ("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer")
        return {
            **Layer.get_config(self),
            "units": self.units,
            "activation": serialize(self.activation),
            "use_bias": self.use_bias,
            **{part: serialize(getattr(self, part)) for part in parts},
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, inputs: Any = None
    ) -> Any:
        """The model of a config, with new weights."""
        with custom_object_scope(custom_objects or {}):
            return cls(**config)


class _OfParts(Optimizer):
    """An optimizer for each of two models that are parts of one."""

    def __init__(self, optimizers_of_parts: list[Any], models: list[Any]) -> None:
        super().__init__("OfParts")
        self._parts = list(zip(optimizers_of_parts, models, strict=True))

    def _of_each(self, variables: Any) -> list[tuple[Any, list[int]]]:
        """(optimizer, the numbers of its variables among ``variables``)."""
        found = []
        for optimizer, model in self._parts:
            own = {id(v) for v in model.trainable_weights}
            found.append((optimizer, [i for i, v in enumerate(variables) if id(v) in own]))
        return found

    def get_updates(self, loss: Any, params: Any) -> list[Any]:
        """Ops of one step of both."""
        return [
            update
            for optimizer, numbers in self._of_each(params)
            for update in optimizer.get_updates(loss, [params[i] for i in numbers])
        ]

    def apply_gradients(self, grads_and_vars: Any, name: str | None = None) -> Any:
        """One step of both."""
        pairs = list(grads_and_vars)
        return group(
            *(
                optimizer.apply_gradients([pairs[i] for i in numbers], name)
                for optimizer, numbers in self._of_each([v for _, v in pairs])
            )
        )

    @property  # type: ignore[misc]  # those of one optimizer can be set
    def weights(self) -> list[Any]:
        """The variables of both."""
        return [v for optimizer, _ in self._parts for v in optimizer.weights]

    def get_config(self) -> dict[str, Any]:
        """Raises `NotImplementedError`: two optimizers have no one config."""
        raise NotImplementedError("A model with two optimizers is saved without them.")


class WideDeepModel(Model):
    """``activation((linear_model(x) + dnn_model(y)) / 2)``; call it with ``[x, y]``, or one for both.

    ``compile`` takes one optimizer for both parts, or a list of one for each. The mean is TensorFlow 1.15's; 2.x adds.
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
        """As of `Model`; ``optimizer`` may be a list: that of the linear model, and that of the other."""
        if isinstance(optimizer, (list, tuple)):
            with self._graph.as_default():
                each = [optimizers.get(one) for one in optimizer[:2]]
                optimizer = _OfParts(each, [self.linear_model, self.dnn_model])
        super().compile(optimizer, *args, **kwargs)

    def call(self, inputs: Any, training: bool | Tensor | None = None, mask: Any = None) -> Any:
        """The prediction."""
        pair = isinstance(inputs, (list, tuple)) and len(inputs) == 2
        wide, deep = inputs if pair else (inputs, inputs)
        takes = training is not None and "training" in self.dnn_model._call_arguments()
        second = self.dnn_model(deep, training=training) if takes else self.dnn_model(deep)
        total = 0.5 * (self.linear_model(wide) + second)
        return total if self.activation is None else self.activation(total)

    def get_config(self) -> dict[str, Any]:
        """The configs of both parts, and the activation."""
        return {
            **Layer.get_config(self),
            "linear_model": serialize(self.linear_model),
            "dnn_model": serialize(self.dnn_model),
            "activation": serialize(self.activation),
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, inputs: Any = None
    ) -> Any:
        """The model of a config, with new weights."""
        with custom_object_scope(custom_objects or {}):
            parts = {name: _made(config[name]) for name in ("linear_model", "dnn_model")}
            return cls(**{**config, **parts})


def _made(config: Any) -> Any:
    from dataflow.keras.layers import deserialize

    own = {LinearModel.__name__: LinearModel}
    return deserialize(config, own) if isinstance(config, dict) else config
