"""``keras.legacy.layers``: layers of Keras 1 that Keras 2 kept for the programs that have them."""

from __future__ import annotations

from typing import Any

from dataflow.keras import activations, constraints, initializers, regularizers
from dataflow.keras.base_layer import InputSpec, Layer
from dataflow.ops.bias import bias_add
from dataflow.ops.elementary import sigmoid
from dataflow.ops.initializers import Constant
from dataflow.ops.math import matmul
from dataflow.ops.reduce import reduce_max
from dataflow.ops.tensor_products import tensordot
from dataflow.shapes import TensorShape, dimension_value

__all__ = ["Highway", "MaxoutDense"]


class _OfKeras1(Layer):
    """A layer for [batch, inputs] whose arguments have the names of Keras 1."""

    def __init__(
        self,
        init: Any = "glorot_uniform",
        W_regularizer: Any = None,
        b_regularizer: Any = None,
        activity_regularizer: Any = None,
        W_constraint: Any = None,
        b_constraint: Any = None,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.init = initializers.get(init)
        self.W_regularizer = regularizers.get(W_regularizer)
        self.b_regularizer = regularizers.get(b_regularizer)
        self.W_constraint = constraints.get(W_constraint)
        self.b_constraint = constraints.get(b_constraint)
        self.bias = bias
        self.input_spec = InputSpec(ndim=2)

    def _made(self, name: str, shape: list[Any], initializer: Any = None) -> Any:
        kind = name[0]
        return self.add_weight(
            name,
            shape,
            initializer=initializer or (self.init if kind == "W" else "zeros"),
            regularizer=getattr(self, f"{kind}_regularizer"),
            constraint=getattr(self, f"{kind}_constraint"),
        )


class MaxoutDense(_OfKeras1):
    """The largest of ``nb_feature`` dense layers, for each unit (Goodfellow et al. 2013).

    Input [batch, inputs], output [batch, output_dim]; ``W`` [nb_feature, inputs, output_dim].
    """

    def __init__(
        self, output_dim: int, nb_feature: int = 4, init: Any = "glorot_uniform", **kwargs: Any
    ) -> None:
        super().__init__(init, **kwargs)
        self.output_dim = output_dim
        self.nb_feature = nb_feature

    def build(self, input_shape: Any) -> None:
        inputs = dimension_value(TensorShape(input_shape)[1])
        self.W = self._made("W", [self.nb_feature, inputs, self.output_dim])
        self.b = self._made("b", [self.nb_feature, self.output_dim]) if self.bias else None
        self.built = True

    def call(self, inputs: Any) -> Any:
        made = tensordot(inputs, self.W, [[1], [1]])  # [batch, nb_feature, output_dim]
        return reduce_max(made if self.b is None else made + self.b, axis=1)


class Highway(_OfKeras1):
    """A dense layer and its input, mixed by a gate that is learned too (Srivastava et al. 2015).

    Input and output [batch, inputs]; ``W_carry`` and ``b_carry``, -2 at first, are the gate's.
    """

    def __init__(self, init: Any = "glorot_uniform", activation: Any = None, **kwargs: Any) -> None:
        super().__init__(init, **kwargs)
        self.activation = activations.get(activation)

    def build(self, input_shape: Any) -> None:
        inputs = dimension_value(TensorShape(input_shape)[1])
        self.W = self._made("W", [inputs, inputs])
        self.W_carry = self.add_weight("W_carry", [inputs, inputs], initializer=self.init)
        self.b = self.b_carry = None
        if self.bias:
            self.b = self._made("b", [inputs])
            self.b_carry = self.add_weight("b_carry", [inputs], initializer=Constant(-2.0))
        self.built = True

    def call(self, inputs: Any) -> Any:
        gate, made = matmul(inputs, self.W_carry), matmul(inputs, self.W)
        if self.bias:
            gate, made = bias_add(gate, self.b_carry), bias_add(made, self.b)
        gate = sigmoid(gate)
        made = self.activation(made) if self.activation is not None else made
        return made * gate + (1.0 - gate) * inputs
