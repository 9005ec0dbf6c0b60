"""``tensorflow.python.eager.backprop``: the gradient functions of `tf.contrib.eager`, by their names there."""

from __future__ import annotations

from dataflow.contrib.eager import (
    gradients_function as gradients_function,
    implicit_gradients as implicit_grad,
    implicit_value_and_gradients as implicit_val_and_grad,
    value_and_gradients_function as val_and_grad_function,
)

__all__ = ["gradients_function", "implicit_grad", "implicit_val_and_grad", "val_and_grad_function"]
