"""``tf.contrib.util``: tensors as protocol buffers."""

from dataflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from dataflow.ops.static_value import constant_value

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]
