"""``tf.contrib``: the parts of it that course code uses, each loaded when first named."""

from __future__ import annotations

from types import ModuleType

from dataflow.python import paths as _paths

_paths.install()


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
