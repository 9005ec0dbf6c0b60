"""`tf.autograph`: Python's branches and loops on tensors as parts of the graph."""

from dataflow.namespaces import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
