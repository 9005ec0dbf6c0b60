"""``tf.contrib.tensorboard``."""

from dataflow.namespaces import explain_absent
from dataflow.contrib.tensorboard import plugins

__all__ = ["plugins"]

__getattr__ = explain_absent(__name__)
