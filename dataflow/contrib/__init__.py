"""``tf.contrib``: the parts of it that course code uses, each loaded when first named."""

from __future__ import annotations

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
