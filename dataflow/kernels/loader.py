"""Finds kernels: a file of kernels is loaded when one of its kernels is first asked for."""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder

import dataflow.kernels as kernels_package
from dataflow.kernels.registry import Kernel, registered_kernels

#: Where the kernels of a family of ops are, beside the file of its name: loaded one by one until the kernel is there.
_FURTHER_FILES: dict[str, tuple[str, ...]] = {
    "ctc": ("ctc_decoders",),
    "elementary": ("special",),
    "example_parsing": ("parsing",),
    "fused": (
        "jit.elementwise",
        "jit.regions",
        "jit.row_regions",
        "matmul",
        "optimizer_updates",
        "loop_accumulator",
        "pooling",
        "segment",
        "slicing",
        "sparse_lookup",
    ),
    "nccl": ("collective",),
    "older_batch_norm": ("normalization",),
    "random": ("special",),
    "sparse_segment": ("segment",),
    "stateless_random": ("random",),
}
#: Files that were loaded, or are not there; "" stands for all files.
_tried: set[str] = set()


def get_kernel(op_type: str, device: str = "cpu", family: str = "") -> Kernel | None:
    """The kernel of an op type for ``"cpu"`` or ``"gpu"``; ``None`` when there is none.

    Of the files that are not loaded yet those of ``family`` (the name of the op's own file) are loaded
    first, then all of them.
    """
    kernels, key = registered_kernels(), (op_type, device)
    if key not in kernels and family:
        for name in (family, *_FURTHER_FILES.get(family, ())):
            _load(name)
            if key in kernels:
                break
    if key not in kernels and "" not in _tried:
        importlib.import_module("dataflow.kernels.all")
        _tried.add("")
    return kernels.get(key)


def _load(name: str) -> None:
    """Loads a file of kernels, where there is one of this name."""
    if name in _tried:
        return
    _tried.add(name)
    # Only files are meant: other finders of `sys.meta_path` may refuse names that they do not know.
    package, _, _ = f"{kernels_package.__name__}.{name}".rpartition(".")
    path = importlib.import_module(package).__path__
    if PathFinder.find_spec(f"{kernels_package.__name__}.{name}", path) is not None:
        importlib.import_module(f"{kernels_package.__name__}.{name}")


def all_kernels() -> dict[tuple[str, str], Kernel]:
    """Every kernel by (op type, device); all files are loaded."""
    importlib.import_module("dataflow.kernels.all")
    return registered_kernels()
