"""`tf.profiler`: parameters, floating-point operations, times and memory of a graph's nodes."""

from dataflow.namespaces import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
