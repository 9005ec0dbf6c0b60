"""``tf.contrib.optimizer_v2``: the optimizers of `tf.train`, under the names of TensorFlow 1.9's rewrite of them.

Their settings, slots and steps are those of `tf.train`; only RMSProp's averages have other initial values.
"""

from __future__ import annotations

from typing import Any

from dataflow.namespaces import explain_absent
from dataflow.ops.array import ones_like
from dataflow.ops.initializers import constant_initializer
from dataflow.train import rmsprop
from dataflow.train.adadelta import AdadeltaOptimizer
from dataflow.train.adagrad import AdagradOptimizer
from dataflow.train.adam import AdamOptimizer
from dataflow.train.gradient_descent import GradientDescentOptimizer
from dataflow.train.momentum import MomentumOptimizer

__all__ = [
    "AdadeltaOptimizer",
    "AdagradOptimizer",
    "AdamOptimizer",
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "RMSPropOptimizer",
]


class RMSPropOptimizer(rmsprop.RMSPropOptimizer):
    """`tf.train.RMSPropOptimizer` whose averages of squares begin at ``epsilon``, not at 1."""

    def _create_slots(self, var_list: list[Any]) -> None:
        for var in var_list:
            shape, dtype = var.get_shape(), var.dtype.base_dtype
            epsilon = self._call_if_callable(self._epsilon)
            if shape.is_fully_defined() and isinstance(epsilon, (int, float)):
                made = constant_initializer(epsilon, dtype=dtype)
                self._get_or_make_slot_with_initializer(var, made, shape, dtype, "rms", self._name)
            else:
                start = epsilon * ones_like(var.initialized_value())
                self._get_or_make_slot(var, start, "rms", self._name)
        super()._create_slots(var_list)


__getattr__ = explain_absent(__name__)
