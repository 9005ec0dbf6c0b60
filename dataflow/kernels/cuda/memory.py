"""A GPU's memory: how much a session may take, and what an error says when there is no more."""

from __future__ import annotations

import importlib

from dataflow.kernels.fake_gpu import memories
from dataflow.kernels.xp import gpus, num_pretend_gpus


def limit_memory(fraction: float) -> None:
    """At most ``fraction`` of each GPU's memory for this process's arrays; 0: no limit.

    CuPy's pool grows as arrays need it and keeps what it has, which is TensorFlow's
    ``allow_growth=True``; memory is never taken ahead of its use.
    """
    if fraction < 0:
        raise ValueError(f"per_process_gpu_memory_fraction must not be negative, got {fraction}")
    if num_pretend_gpus():
        for memory in memories.values():
            memory.fraction = min(1.0, fraction or 1.0)
        return
    for index in range(len(gpus())):
        cupy = importlib.import_module("cupy")
        with cupy.cuda.Device(index):
            pool = cupy.get_default_memory_pool()
            if fraction:
                pool.set_limit(fraction=min(1.0, fraction))
            else:
                pool.set_limit(size=0)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a GPU had no memory left (CuPy's error, or a pretend GPU's)."""
    return type(error).__name__ in ("OutOfMemoryError", "PretendOutOfMemoryError")


def free_unused_memory() -> None:
    """Gives the pool's unused blocks back, so that what follows an error finds memory."""
    if num_pretend_gpus() or not gpus():
        return
    cupy = importlib.import_module("cupy")
    for index in range(len(gpus())):
        with cupy.cuda.Device(index):  # the pool is asked for the current GPU's
            cupy.get_default_memory_pool().free_all_blocks()


def describe_holders(held: list[tuple[str, int]], most: int = 5) -> str:
    """Who holds a GPU's memory, the largest first: ``"'w' 12.0 MB, 'w/Adam' 12.0 MB"``.

    ``held`` are names and bytes.
    """
    sizes = sorted(((size, name) for name, size in held), reverse=True)
    shown = [f"{name!r} {size / 1e6:.1f} MB" for size, name in sizes[:most]]
    if len(sizes) > most:
        rest = sum(size for size, _ in sizes[most:])
        shown.append(f"{len(sizes) - most} more {rest / 1e6:.1f} MB")
    return ", ".join(shown) or "no variables"
