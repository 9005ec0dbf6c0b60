"""``tf.contrib.hooks``: the older place of `tf.train.ProfilerHook`."""

from __future__ import annotations

from dataflow.namespaces import explain_absent
from dataflow.train.saving_hooks import ProfilerHook as ProfilerHook

__getattr__ = explain_absent(__name__)
