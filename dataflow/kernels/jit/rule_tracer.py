"""Turns optimizers' update rules into loops (`tracer`).

A rule changes arrays in place; the loop stores what the variable and its slots hold at the end. A
rule that depends on the value of a scalar is left to NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit.compiler import Function, JitEntry, jit_entry
from dataflow.kernels.jit.step_codegen import OPS, Loop
from dataflow.kernels.jit.table_rows import RowLoop
from dataflow.kernels.jit.tracer import Recorder, Untraceable, Value


class Traced(NamedTuple):
    """A rule as a loop (``spec``), and compiled for whole arrays (``loop``) and for rows (``rows``).

    ``changed``: the arrays that it changes, in the order of the loop's results. ``on_cpu``: loops of
    the CPU have all of its instructions; else a GPU's kernel is made of ``spec`` alone.
    """

    spec: Loop
    loop: JitEntry[Function]
    rows: RowLoop
    changed: tuple[int, ...]
    on_cpu: bool


@functools.cache
def trace(
    rule: Callable[..., None],
    num_arrays: int,
    scalars: tuple[Any, ...],
    char: str,
    by_rows: bool,
) -> Traced | None:
    """The loop of ``rule(xp, scratch, *arrays, grad, *scalars)``; ``None`` for one with branches.

    ``char`` is NumPy's character code of the arrays' type. ``scalars`` has an ellipsis for each number,
    which becomes an input, and flags as they are. With ``by_rows`` only the rows given by an index are
    changed.
    """
    numbers = sum(s is ... for s in scalars)
    recorder = Recorder(num_arrays + 1 + numbers)
    inputs = iter(recorder.inputs())
    arrays = [next(inputs) for _ in range(num_arrays)]
    grad = next(inputs)
    arguments = [next(inputs) if s is ... else s for s in scalars]
    scratch = (Value(recorder, -1), Value(recorder, -1))
    try:
        rule(recorder, scratch, *arrays, grad, *arguments)
    except Untraceable:
        return None
    letter = "r" if by_rows else "v"
    changed = tuple(i for i, array in enumerate(arrays) if array.number != i)
    loop = Loop(
        np.dtype(char).name,
        letter * num_arrays + "v" + "n" * numbers,
        tuple(recorder.steps),
        tuple((arrays[i].number, letter) for i in changed),
        1 if by_rows else 0,
    )
    on_cpu = all(op in OPS for op, _ in recorder.steps)
    return Traced(loop, jit_entry(loop), RowLoop(loop), changed, on_cpu)


def trace_call(
    rule: Callable[..., None], arrays: list[Any], scalars: tuple[Any, ...], by_rows: bool
) -> tuple[Traced | None, list[Any]]:
    """The traced rule for ``arrays`` and ``scalars``, and the scalars that are numbers."""
    kinds: list[Any] = []
    numbers: list[Any] = []
    for scalar in scalars:
        if scalar is None or type(scalar) is bool:
            kinds.append(scalar)
        else:
            kinds.append(...)
            numbers.append(scalar)
    return trace(rule, len(arrays), tuple(kinds), arrays[0].dtype.char, by_rows), numbers
