"""``tf.contrib.tfprof``: the profiler before it became `tf.profiler`."""

from __future__ import annotations

from dataflow.contrib.tfprof import model_analyzer
from dataflow.namespaces import explain_absent

__all__ = ["model_analyzer"]

__getattr__ = explain_absent(__name__)
