"""``tf.contrib.compiler``: the names of `tf.xla.experimental` before TensorFlow 1.14."""

from __future__ import annotations

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
