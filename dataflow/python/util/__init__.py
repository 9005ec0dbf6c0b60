"""Modules of ``tensorflow.python.util`` that programs import."""

from __future__ import annotations

from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    from dataflow.namespaces import submodule

    return submodule(__name__, name)
