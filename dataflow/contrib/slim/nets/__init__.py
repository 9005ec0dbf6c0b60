"""``tf.contrib.slim.nets``: networks for images, under the names of their published checkpoints."""

from __future__ import annotations

from types import ModuleType

from dataflow.contrib.slim.nets import inception, inception_v3


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)


__all__ = ["inception", "inception_v3"]
