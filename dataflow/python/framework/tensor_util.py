"""``from tensorflow.python.framework import tensor_util``."""

from dataflow.graph.tensor_proto import make_ndarray as MakeNdarray, make_tensor_proto
from dataflow.ops.static_value import constant_value

make_ndarray = MakeNdarray

__all__ = ["MakeNdarray", "constant_value", "make_ndarray", "make_tensor_proto"]
