"""``tf.metrics``: metrics that are kept up over batches, in local variables.

Each function gives two tensors: the value so far, and the op that takes a batch in. The variables
start with ``tf.local_variables_initializer()``.
"""

from dataflow.namespaces import attach_stub as _attach_stub

__getattr__, __dir__, __all__ = _attach_stub(__name__, __file__)
