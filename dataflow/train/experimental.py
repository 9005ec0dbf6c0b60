"""``tf.train.experimental``: Python's state in checkpoints of objects."""

from dataflow.namespaces import explain_absent
from dataflow.ops.trackable import PythonState

__all__ = ["PythonState"]

__getattr__ = explain_absent(__name__)
