"""Finds kernels: a file of kernels is loaded when one of its kernels is first asked for."""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder

import dataflow.kernels as kernels_package
from dataflow.kernels.registry import Kernel, registered_kernels

#: Families whose file was loaded; "" stands for all files.
_tried: set[str] = set()


def get_kernel(op_type: str, device: str = "cpu", family: str = "") -> Kernel | None:
    """The kernel of an op type for ``"cpu"`` or ``"gpu"``; ``None`` when there is none.

    Of the files that are not loaded yet the one called ``family`` (the name of the op's own file) is
    loaded first, then all of them.
    """
    kernels, key = registered_kernels(), (op_type, device)
    if key not in kernels and family and family not in _tried:
        _tried.add(family)
        name = f"dataflow.kernels.{family}"
        # Only files are meant: other finders of `sys.meta_path` may refuse names that they do not know.
        if PathFinder.find_spec(name, kernels_package.__path__) is not None:
            importlib.import_module(name)
    if key not in kernels and "" not in _tried:
        importlib.import_module("dataflow.kernels.all")
        _tried.add("")
    return kernels.get(key)


def all_kernels() -> dict[tuple[str, str], Kernel]:
    """Every kernel by (op type, device); all files are loaded."""
    importlib.import_module("dataflow.kernels.all")
    return registered_kernels()
