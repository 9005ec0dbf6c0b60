"""The computation of a fused kernel, independent of the back end."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

#: `Select` by a truth value for each row: a step of a region whose first operand is an input.
SELECT_ROWS = "SelectRows"
#: Sums and means along the last axis, which stays with size 1: steps of regions of rows.
ROW_SUM, ROW_MEAN = "RowSum", "RowMean"
ROW_SUMS = frozenset({ROW_SUM, ROW_MEAN})
#: The maximum along the last axis, likewise: a step of kernels' own loops, of which no region is made.
ROW_MAX = "RowMax"
ROW_REDUCTIONS = ROW_SUMS | {ROW_MAX}
#: A bool as 1 or 0, as dropout's mask: a step of a region, which has no other casts.
TRUTH_AS_NUMBER = "Cast"
#: Steps that machine code and CUDA C express by others.
_JOINED = frozenset({"AddN", "ZerosLike", SELECT_ROWS, TRUTH_AS_NUMBER})


class Program(NamedTuple):
    """A chain in static single assignment: value i is input i, or the result of a step.

    ``steps`` are (op type, operand indices); ``dtype`` is the NumPy dtype of all values that are not
    bool; ``reduction`` is ``""``, ``"Sum"`` or ``"Mean"``, over all elements or, with
    ``over_rows``, along the last axis (which stays, with ``keep_dims``).
    """

    num_inputs: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    dtype: str
    reduction: str = ""
    over_rows: bool = False
    keep_dims: bool = False

    @property
    def chain(self) -> Region:
        """The steps without the reduction."""
        result = self.num_inputs + len(self.steps) - 1
        return Region(self.num_inputs, self.steps, (result,), self.dtype)


class Region(NamedTuple):
    """Steps as those of a `Program`; ``results`` are the indices of the values that are stored."""

    num_inputs: int
    steps: tuple[tuple[str, tuple[int, ...]], ...]
    results: tuple[int, ...]
    dtype: str

    @property
    def rows(self) -> set[int]:
        """The inputs that hold a bool for each row."""
        return {operands[0] for op_type, operands in self.steps if op_type == SELECT_ROWS}


def elementary_steps(
    region: Region,
) -> tuple[tuple[tuple[str, tuple[Any, ...]], ...], tuple[int, ...]]:
    """The steps in terms of the ops of machine code and CUDA C, and the indices of the results.

    Sums of several terms become sums of two; ``("Const", (number,))`` is a constant.
    """
    if not any(op_type in _JOINED for op_type, _ in region.steps):
        return region.steps, region.results
    n = region.num_inputs
    steps: list[tuple[str, tuple[Any, ...]]] = []
    numbers = list(range(n))

    def put(op_type: str, *operands: Any) -> int:
        steps.append((op_type, operands))
        return n + len(steps) - 1

    for op_type, operands in region.steps:
        items = [numbers[o] for o in operands]
        if op_type == "AddN":
            numbers.append(functools.reduce(functools.partial(put, "Add"), items))
        elif op_type == "ZerosLike":
            numbers.append(put("Const", 0.0))
        elif op_type == SELECT_ROWS:
            numbers.append(put("SelectV2", *items))
        elif op_type == TRUTH_AS_NUMBER:
            numbers.append(put("SelectV2", *items, put("Const", 1.0), put("Const", 0.0)))
        else:
            numbers.append(put(op_type, *items))
    return tuple(steps), tuple(numbers[r] for r in region.results)
