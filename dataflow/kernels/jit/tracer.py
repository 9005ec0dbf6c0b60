"""Traces functions of arrays: a function is run once on stand-ins that record its steps.

A function ``f(xp, *arrays)`` consists of arithmetic, comparisons, ``xp.where`` and the like, also in
place (``x += y``, ``xp.exp(x, out=x)``): each stand-in knows which value it currently holds. NumPy
and CuPy run the same function on arrays; machine code and CUDA C are generated from its steps. A
function that depends on a value (``if power == -0.5``) cannot be traced: `Untraceable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.expression import Region
from dataflow.kernels.jit.op_table import OP_OF, TRUTHS, truths_among
from dataflow.kernels.jit.ufunc_loops import POWER


class Untraceable(Exception):
    """The function depends on a value."""


def region_of(function: Callable[..., Any], num_inputs: int, dtype: str) -> Region:
    """The steps of ``function(xp, *arrays)``, which returns one result or a tuple of results."""
    recorder = Recorder(num_inputs)
    results = function(recorder, *recorder.inputs())
    results = results if isinstance(results, tuple) else (results,)
    numbers = tuple(recorder.number_of(r) for r in results)
    return Region(num_inputs, tuple(recorder.steps), numbers, dtype)


def is_recorder(xp: Any) -> bool:
    """Whether ``xp`` is recording a function, so that values are not known."""
    return isinstance(xp, Recorder)


def repeated(
    xp: Any, step: Callable[..., tuple[tuple[Any, ...], Any]], state: tuple[Any, ...], most: int
) -> tuple[Any, ...]:
    """The state after repeating ``step`` for i = 1, 2, ... until all elements are done.

    ``step(i, *state)`` returns the next state, and for which elements it is precise enough.
    """
    if isinstance(xp, Recorder):
        return xp.repeated(step, state, most)
    for i in range(1, most + 1):
        state, done = step(i, *state)
        if i % 8 == 0 and bool(done.all()):
            break
    return state


class Recorder:
    """Stands for ``xp``, and records steps as those of a `Loop`."""

    inf, nan = float("inf"), float("nan")

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self.steps: list[tuple[str, tuple[Any, ...]]] = []
        self._first = num_inputs

    def inputs(self) -> list[Value]:
        """Stand-ins for the inputs."""
        return [Value(self, i) for i in range(self.num_inputs)]

    def put(self, op: str, *operands: Any) -> int:
        """Adds a step and returns the index of its value."""
        self.steps.append((op, operands))
        return self._first + len(self.steps) - 1

    def number_of(self, x: Array) -> int:
        """The index of the value of a stand-in or of a constant."""
        if isinstance(x, Value):
            return x.number
        if isinstance(x, (int, float, np.number)):
            return self.put("Const", float(x))
        raise Untraceable

    def step(self, op: str, *operands: Any) -> Value:
        """Adds a step and returns its value; a bool in arithmetic counts as 1 or 0."""
        takes_truths = truths_among(op, len(operands))
        numbers = []
        for i, x in enumerate(operands):
            if i >= takes_truths and isinstance(x, Value) and x.is_truth:
                x = self.step("Select", x, 1.0, 0.0)
            numbers.append(self.number_of(x))
        return Value(self, self.put(op, *numbers), op in TRUTHS)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        op = OP_OF.get("absolute" if name == "abs" else name)
        if op is None:
            raise Untraceable(f"no machine code for {name!r}")

        def function(*operands: Any, out: Value | None = None) -> Value:
            value = self.step(op, *operands)
            return value if out is None else out.take(value)

        return function

    def asarray(self, x: Value, dtype: Any = None) -> Value:
        return x

    def clip(self, x: Value, low: float, high: float) -> Value:
        return self.minimum(self.maximum(x, low), high)

    def isnan(self, x: Value) -> Value:
        return self.step("NotEqual", x, x)

    def isinf(self, x: Value) -> Value:
        return self.step("Equal", self.abs(x), self.inf)

    def full_like(self, x: Value, number: float) -> Value:
        return Value(self, self.put("Const", float(number)))

    def ones_like(self, x: Value) -> Value:
        return self.full_like(x, 1.0)

    def zeros_like(self, x: Value) -> Value:
        return self.full_like(x, 0.0)

    def repeated(
        self, step: Callable[..., tuple[tuple[Any, ...], Any]], state: tuple[Any, ...], most: int
    ) -> tuple[Value, ...]:
        """A `masked_while`."""
        start = tuple(self.number_of(x) for x in state)
        outer, place = self.steps, self._first + len(self.steps)
        self.steps, self._first = [], place + 1 + len(start)
        values = [Value(self, place + i) for i in range(1 + len(start))]
        after, done = step(*values)
        following = tuple(self.number_of(x) for x in after)
        inner = tuple(self.steps)
        self.steps, self._first = outer, place - len(outer)
        first = self.put("Repeat", start, inner, following, done.number, most)
        others = [self.put("Part", first, i) for i in range(1, len(start))]
        return tuple(Value(self, number) for number in (first, *others))


class Value:
    """Stands for an array or a scalar; ``number`` is the index of the value that it holds."""

    def __init__(self, recorder: Recorder, number: int, is_truth: bool = False) -> None:
        self.recorder, self.number, self.is_truth = recorder, number, is_truth

    def take(self, other: Value) -> Value:
        """Takes over the other's value, as an assignment in place does."""
        self.number, self.is_truth = other.number, other.is_truth
        return self

    def astype(self, dtype: Any) -> Value:
        return Value(self.recorder, self.number, self.is_truth)

    @property
    def dtype(self) -> Any:
        return np.dtype(np.float64)

    def __getitem__(self, all_of_it: tuple[()]) -> Value:
        return self

    def __neg__(self) -> Value:
        return self.recorder.step("Neg", self)

    def __invert__(self) -> Value:
        return self.recorder.step("LogicalNot", self)

    def __pow__(self, exponent: Any) -> Value:
        return self.recorder.step(POWER, self, exponent)

    def __bool__(self) -> bool:
        raise Untraceable

    __hash__ = None  # type: ignore[assignment]


def _operator(op: str, swapped: bool = False) -> Callable[[Value, Any], Value]:
    def method(self: Value, other: Any) -> Value:
        return self.recorder.step(op, *((other, self) if swapped else (self, other)))

    return method


def _in_place(op: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.take(self.recorder.step(op, self, other))


for _name, _op in (("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("truediv", "RealDiv")):
    setattr(Value, f"__{_name}__", _operator(_op))
    setattr(Value, f"__r{_name}__", _operator(_op, swapped=True))
    setattr(Value, f"__i{_name}__", _in_place(_op))
for _name, _op in (
    *(("gt", "Greater"), ("ge", "GreaterEqual"), ("lt", "Less"), ("le", "LessEqual")),
    *(("eq", "Equal"), ("ne", "NotEqual"), ("and", "LogicalAnd"), ("or", "LogicalOr")),
):
    setattr(Value, f"__{_name}__", _operator(_op))
