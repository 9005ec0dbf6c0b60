"""``tf.contrib.slim``: the layers of `tf.contrib.layers` under slim's names, with `arg_scope`."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib import layers, losses, named_outputs as utils
from dataflow.python.ops import init_ops
from dataflow.contrib.framework import (
    add_arg_scope,
    arg_scope,
    assign_from_checkpoint_fn,
    get_local_variables,
    get_model_variables,
    get_or_create_global_step,
    get_trainable_variables,
    get_variables,
    get_variables_to_restore,
)
from dataflow.contrib.layers import (
    apply_regularization,
    avg_pool2d,
    batch_norm,
    bias_add,
    conv2d,
    conv2d_transpose,
    convolution2d,
    convolution2d_transpose,
    dropout,
    embed_sequence,
    flatten,
    fully_connected,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    layer_norm,
    linear,
    max_pool2d,
    one_hot_encoding,
    repeat,
    separable_conv2d,
    separable_convolution2d,
    softmax,
    stack,
    sum_regularizer,
    unit_norm,
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)


__all__ = [
    "assign_from_checkpoint_fn",
    "get_local_variables",
    "get_trainable_variables",
    "convolution2d",
    "convolution2d_transpose",
    "embed_sequence",
    "l1_l2_regularizer",
    "layer_norm",
    "linear",
    "separable_conv2d",
    "separable_convolution2d",
    "sum_regularizer",
    "xavier_initializer_conv2d",
    "init_ops",
    "initializers",
    "add_arg_scope",
    "apply_regularization",
    "arg_scope",
    "avg_pool2d",
    "batch_norm",
    "bias_add",
    "conv2d",
    "conv2d_transpose",
    "dropout",
    "flatten",
    "fully_connected",
    "get_model_variables",
    "get_or_create_global_step",
    "get_variables",
    "get_variables_to_restore",
    "l1_regularizer",
    "l2_regularizer",
    "layers",
    "losses",
    "max_pool2d",
    "one_hot_encoding",
    "repeat",
    "softmax",
    "stack",
    "unit_norm",
    "utils",
    "variance_scaling_initializer",
    "xavier_initializer",
]


#: slim's own name for the module of `xavier_initializer` and its like.
initializers = layers


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
