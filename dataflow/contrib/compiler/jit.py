"""``tf.contrib.compiler.jit``: hints to a compiler; see `tf.xla.experimental.jit_scope`."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.xla.experimental import jit_scope as experimental_jit_scope

__all__ = ["experimental_jit_scope"]

__getattr__ = explain_absent(__name__)
