"""`tf.nn`: what neural networks are made of."""

from __future__ import annotations

from dataflow.ops.activation import (
    crelu,
    elu,
    gelu,
    l2_loss,
    leaky_relu,
    log_softmax,
    relu,
    relu6,
    selu,
    softmax,
    softplus,
    softsign,
    swish,
)
from dataflow.ops.math import sigmoid, tanh
