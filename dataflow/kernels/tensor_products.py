"""Kernels of products along chosen axes: Einsum, Cross."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module
from dataflow.kernels.parallel import batch_of_products, matrix_product
from dataflow.kernels.registry import kernel


@kernel("Cross")
def cross_kernel(xp: Module, a: Array, b: Array) -> Any:
    return xp.cross(a, b)


class _Contraction(NamedTuple):
    """The orders of axes that make an equation a matrix product: batch, rows and columns."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    out: tuple[int, ...]
    batch: int
    summed: int


@functools.lru_cache(256)
def _contraction(equation: str, ranks: tuple[int, int]) -> _Contraction | None:
    """``None`` for an equation of another kind: diagonals, sums of one operand, an ellipsis."""
    inputs, arrow, out = equation.replace(" ", "").partition("->")
    a, _, b = inputs.partition(",")
    if not arrow or not (a + b + out).isalpha() or (len(a), len(b)) != ranks:
        return None
    if any(len(set(labels)) < len(labels) for labels in (a, b, out)):
        return None
    if set(out) - set(a + b) or (set(a) ^ set(b)) - set(out):
        return None
    batch = [x for x in out if x in a and x in b]
    summed = [x for x in a if x not in out]
    rows, columns = ([x for x in labels if x not in other] for labels, other in ((a, b), (b, a)))
    made = [*batch, *rows, *columns]
    return _Contraction(
        tuple(a.index(x) for x in [*batch, *rows, *summed]),
        tuple(b.index(x) for x in [*batch, *summed, *columns]),
        tuple(made.index(x) for x in out),
        len(batch),
        len(summed),
    )


def _as_product(equation: str, a: Array, b: Array) -> Any:
    """What one matrix product, or one for each of a batch, makes; ``None`` where there is none."""
    plan = _contraction(equation, (a.ndim, b.ndim))
    if plan is None or a.dtype != b.dtype or a.dtype.char not in "fd" or not a.size or not b.size:
        return None
    a, b = a.transpose(plan.left), b.transpose(plan.right)
    first, rows = a.shape[: plan.batch], a.shape[plan.batch : a.ndim - plan.summed]
    columns, end = b.shape[plan.batch + plan.summed :], plan.batch + plan.summed
    if (
        first != b.shape[: plan.batch]
        or a.shape[a.ndim - plan.summed :] != b.shape[plan.batch : end]
    ):
        return None  # `einsum` says so
    steps = math.prod(b.shape[plan.batch : end])
    left = a.reshape(*first, math.prod(rows), steps)
    right = b.reshape(*first, steps, math.prod(columns))
    product = batch_of_products(left, right) if first else matrix_product(left, right)
    return product.reshape((*first, *rows, *columns)).transpose(plan.out)


@kernel("Einsum")
def einsum_kernel(xp: Module, inputs: list[Array], *, equation: str) -> Any:
    if xp is np and len(inputs) == 2:
        found = _as_product(equation, *inputs)
        if found is not None:
            return found
    # `optimize` turns contractions into matrix products; for one or two small ones it costs more.
    return xp.asarray(xp.einsum(equation, *inputs, optimize=len(inputs) > 1))
