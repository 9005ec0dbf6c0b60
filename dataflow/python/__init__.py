"""Paths that course code imports from TensorFlow's insides (``tensorflow.python...``)."""

from __future__ import annotations

from types import ModuleType

from dataflow.python import paths as _paths

_paths.install()


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
