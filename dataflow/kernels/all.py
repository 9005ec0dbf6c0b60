"""Loads every kernel file, so that the registry is complete."""

from dataflow.kernels import (
    array_basics as _array_basics,  # noqa: F401
    gather_scatter as _gather_scatter,  # noqa: F401
    joining as _joining,  # noqa: F401
    rearranging as _rearranging,  # noqa: F401
    sequences as _sequences,  # noqa: F401
    slicing as _slicing,  # noqa: F401
)
