"""``tf.contrib.util``: tensors as protocol buffers."""

from dataflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from dataflow.namespaces import explain_absent
from dataflow.ops.tensor_values import constant_value

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]

__getattr__ = explain_absent(__name__)
