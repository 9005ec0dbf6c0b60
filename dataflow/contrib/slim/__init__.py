"""``tf.contrib.slim``: the layers of `tf.contrib.layers` under slim's names, with `arg_scope`."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib import arg_scopes, layers, losses, model_variables, values_of_variables
from dataflow.contrib.arg_scopes import *
from dataflow.contrib.framework import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)
from dataflow.contrib.layers import *
from dataflow.contrib.layers import building as utils, initializers, regularizers
from dataflow.contrib.model_variables import *
from dataflow.contrib.values_of_variables import *
from dataflow.python.ops import init_ops

__all__ = [
    *arg_scopes.__all__,
    *layers.__all__,
    *model_variables.__all__,
    *values_of_variables.__all__,
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "init_ops",
    "initializers",
    "layers",
    "losses",
    "regularizers",
    "utils",
]


#: Modules that the star imports of TensorFlow's slim bring along: programs write ``slim.nn.leaky_relu``.
_BROUGHT_ALONG = {
    "framework": ("dtypes", "ops", "tensor_shape"),
    "ops": (
        *("array_ops", "control_flow_ops", "math_ops", "nn", "nn_ops", "parsing_ops", "random_ops"),
        *("sparse_ops", "string_ops", "variable_scope", "variables"),
    ),
    "training": ("moving_averages",),
    "util": ("nest",),
}


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    if name == "metrics":
        from dataflow.contrib import metrics

        return metrics
    for package, names in _BROUGHT_ALONG.items():
        if name in names:
            return submodule(f"dataflow.python.{package}", name)
    return submodule(__name__, name)
