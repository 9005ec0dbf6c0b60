"""Optimizers' rules as loops: a rule is run once on stand-ins that write down what it does.

A rule changes arrays in place through ``xp.function(..., out=array)`` and operators. Each stand-in
knows which value it holds now; a call adds a step and gives its output a new value. What the
variable and its slots hold at the end is stored. A rule that looks at the value of a scalar
(``if power == -0.5``) cannot be written down; it stays with NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.jit.compiler import Function, JitEntry, jit_entry
from dataflow.kernels.jit.step_codegen import Loop
from dataflow.kernels.jit.table_rows import RowLoop

_FUNCTIONS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "RealDiv",
    "maximum": "Maximum",
    "sqrt": "Sqrt",
    "abs": "Abs",
    "copysign": "Copysign",
    "power": "Pow",
}


class _Untraceable(Exception):
    """The rule depends on a value."""


class _Recorder:
    """Stands for ``xp``."""

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self.steps: list[tuple[str, tuple[Any, ...]]] = []

    def step(self, op: str, *operands: Any) -> int:
        numbers = []
        for x in operands:
            if isinstance(x, _Array):
                numbers.append(x.value)
            elif isinstance(x, (int, float)):
                self.steps.append(("Const", (float(x),)))
                numbers.append(self.num_inputs + len(self.steps) - 1)
            else:
                raise _Untraceable
        self.steps.append((op, tuple(numbers)))
        return self.num_inputs + len(self.steps) - 1

    def __getattr__(self, name: str) -> Callable[..., _Array]:
        op = _FUNCTIONS.get(name)
        if op is None:
            raise _Untraceable

        def function(*operands: Any, out: _Array | None = None) -> _Array:
            value = self.step(op, *operands)
            if out is None:
                return _Array(self, value)
            out.value = value
            return out

        return function


class _Array:
    """Stands for an array or a scalar: the number of the value that it holds."""

    def __init__(self, recorder: _Recorder, value: int) -> None:
        self.recorder, self.value = recorder, value

    def _operator(self, op: str, *operands: Any) -> _Array:
        return _Array(self.recorder, self.recorder.step(op, *operands))

    def __add__(self, other: Any) -> _Array:
        return self._operator("Add", self, other)

    def __radd__(self, other: Any) -> _Array:
        return self._operator("Add", other, self)

    def __sub__(self, other: Any) -> _Array:
        return self._operator("Sub", self, other)

    def __rsub__(self, other: Any) -> _Array:
        return self._operator("Sub", other, self)

    def __mul__(self, other: Any) -> _Array:
        return self._operator("Mul", self, other)

    def __rmul__(self, other: Any) -> _Array:
        return self._operator("Mul", other, self)

    def __truediv__(self, other: Any) -> _Array:
        return self._operator("RealDiv", self, other)

    def __iadd__(self, other: Any) -> _Array:
        self.value = self.recorder.step("Add", self, other)
        return self

    def __isub__(self, other: Any) -> _Array:
        self.value = self.recorder.step("Sub", self, other)
        return self

    def _value_needed(self, *_: Any) -> bool:
        raise _Untraceable

    __gt__ = __lt__ = __ge__ = __le__ = __bool__ = _value_needed

    def __eq__(self, other: object) -> bool:
        raise _Untraceable

    __hash__ = None  # type: ignore[assignment]


class Traced(NamedTuple):
    """A rule as a loop, written down (``spec``) and compiled (``loop``, or ``rows`` of it).

    ``changed``: which of its arrays it changes, in the order of the loop's results.
    """

    spec: Loop
    loop: JitEntry[Function]
    rows: RowLoop
    changed: tuple[int, ...]


@functools.cache
def trace(
    rule: Callable[..., None],
    num_arrays: int,
    scalars: tuple[Any, ...],
    char: str,
    by_rows: bool,
) -> Traced | None:
    """The loop of ``rule(xp, scratch, *arrays, grad, *scalars)``; ``None`` for one with branches.

    ``char`` is NumPy's letter of the arrays' type. ``scalars`` has an ellipsis for each number,
    which becomes an input, and the flags as they are. With ``by_rows`` the arrays are changed in the
    rows that an index names.
    """
    numbers = sum(s is ... for s in scalars)
    recorder = _Recorder(num_arrays + 1 + numbers)
    inputs = iter([_Array(recorder, i) for i in range(recorder.num_inputs)])
    arrays = [next(inputs) for _ in range(num_arrays)]
    grad = next(inputs)
    arguments = [next(inputs) if s is ... else s for s in scalars]
    scratch = (_Array(recorder, -1), _Array(recorder, -1))
    try:
        rule(recorder, scratch, *arrays, grad, *arguments)
    except _Untraceable:
        return None
    letter = "r" if by_rows else "v"
    changed = tuple(i for i, array in enumerate(arrays) if array.value != i)
    loop = Loop(
        np.dtype(char).name,
        letter * num_arrays + "v" + "n" * numbers,
        tuple(recorder.steps),
        tuple((arrays[i].value, letter) for i in changed),
        1 if by_rows else 0,
    )
    return Traced(loop, jit_entry(loop), RowLoop(loop), changed)


def trace_call(
    rule: Callable[..., None], arrays: list[Any], scalars: tuple[Any, ...], by_rows: bool
) -> tuple[Traced | None, list[Any]]:
    """What `trace` makes of a rule called with ``arrays`` and ``scalars``, and those of them that
    are numbers."""
    kinds: list[Any] = []
    numbers: list[Any] = []
    for scalar in scalars:
        if scalar is None or type(scalar) is bool:
            kinds.append(scalar)
        else:
            kinds.append(...)
            numbers.append(scalar)
    return trace(rule, len(arrays), tuple(kinds), arrays[0].dtype.char, by_rows), numbers
