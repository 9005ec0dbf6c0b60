"""What a plan that is rewritten takes for granted of the shapes that it is fed, and the check that it still holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.graph.tensor import Tensor
from dataflow.rewrites.symbolic_shapes import EqualDims


def equal_dims_of(feeds: Sequence[Tensor], values: Sequence[Any]) -> EqualDims:
    """The statically unknown sizes that are equal in what was fed: those of a batch.

    Sizes of 1 are left out, as they broadcast.
    """
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, (tensor, value) in enumerate(zip(feeds, values, strict=True)):
        shape = getattr(value, "shape", ())
        if tensor.dims is None or len(shape) != len(tensor.dims):
            continue
        for axis, (known, size) in enumerate(zip(tensor.dims, shape, strict=True)):
            if known is None and size > 1:
                found.setdefault((axis, size), []).append((i, axis))
    return [group for group in found.values() if len(group) > 1]


def size_of_batch(feeds: Sequence[Tensor], values: Sequence[Any]) -> int | None:
    """The most frequent first size of fed arrays whose first dimension is unknown; ``None`` without such.

    Rewrites assume it for unknown sizes when they estimate costs.
    """
    sizes = [
        value.shape[0]
        for tensor, value in zip(feeds, values, strict=True)
        if tensor.dims and tensor.dims[0] is None and getattr(value, "shape", ())
    ]
    return max(sizes, key=sizes.count) if sizes else None


def scalars_among(feeds: Sequence[Tensor], values: Sequence[Any]) -> list[int]:
    """The feeds of unknown rank that were fed one number, as dropout's ``keep_prob`` is."""
    return [
        i
        for i, (tensor, value) in enumerate(zip(feeds, values, strict=True))
        if tensor.dims is None and getattr(value, "shape", None) == ()
    ]


def dims_are_equal(
    equal_dims: EqualDims, scalars: Sequence[int] = ()
) -> Callable[[Sequence[Any]], bool]:
    """A function of the fed values: whether all sizes of each group are equal, and ``scalars`` single numbers."""
    tests = [" == ".join(f"values[{i}].shape[{axis}]" for i, axis in group) for group in equal_dims]
    tests += [f"values[{i}].shape == ()" for i in scalars]
    return eval("lambda values: " + " and ".join(tests))  # type: ignore[no-any-return]
