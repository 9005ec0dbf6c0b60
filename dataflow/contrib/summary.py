"""`tf.contrib.summary`: summaries that a run writes by itself, as programs for TPUs make them."""

from dataflow.namespaces import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
