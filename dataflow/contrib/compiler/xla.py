"""``tf.contrib.compiler.xla``: see `tf.xla.experimental.compile`."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.xla.experimental import compile as compile

__getattr__ = explain_absent(__name__)
