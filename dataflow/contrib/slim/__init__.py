"""``tf.contrib.slim``: the layers of `tf.contrib.layers` under slim's names, with `arg_scope`."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib import layers, losses, named_outputs as utils
from dataflow.contrib.framework import (
    add_arg_scope,
    arg_scope,
    get_model_variables,
    get_or_create_global_step,
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
    dropout,
    flatten,
    fully_connected,
    l1_regularizer,
    l2_regularizer,
    max_pool2d,
    one_hot_encoding,
    repeat,
    softmax,
    stack,
    unit_norm,
    variance_scaling_initializer,
    xavier_initializer,
)


__all__ = [
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


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
