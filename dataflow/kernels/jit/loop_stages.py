"""The stages of a loop in machine code: what is computed between calls, and what is kept for later stages.

Calls are those of NumPy's functions and reductions along a row (`loop_codegen`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dataflow.kernels.jit import ufunc_loops
from dataflow.kernels.jit.expression import ROW_REDUCTIONS
from dataflow.kernels.jit.op_table import TABLE, TRUTHS
from dataflow.kernels.jit.step_codegen import CALLED, Loop

_Steps = tuple[tuple[str, tuple[Any, ...]], ...]


class Call(NamedTuple):
    """A call of a NumPy function: the value that it computes, and its operands."""

    value: int
    op: str
    operands: tuple[int, ...]


class Stages:
    """The values that each stage of a loop computes, and where later stages find them.

    ``stage``: for each value, the first stage in which it is available. ``calls``: the calls after each
    stage. ``slots``: positions in scratch memory, by value. ``kept``: the values each stage saves there.
    ``by_row``: in a loop with reductions along rows, the values that are one number for the whole row.
    """

    def __init__(self, loop: Loop, inlined: frozenset[str]) -> None:
        self.called = (frozenset(ufunc_loops.NAMES) - inlined) | ROW_REDUCTIONS
        self.inputs = len(loop.inputs)
        self.steps, numbers = _with_calls_written_out(loop)
        self.results = tuple((numbers[value], letter) for value, letter in loop.results)
        self.by_row = self._values_by_row(loop)
        self.stage = [0] * self.inputs
        found: list[Call] = []
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            at = max((self.stage[o] for o in needs(op, operands, number)), default=0)
            if op in self.called:
                found.append(Call(number, op, operands))
                at += 1
            self.stage.append(at)
        self.last = max(self.stage, default=0)
        self.calls: list[list[Call]] = [[] for _ in range(self.last)]
        for call in found:
            self.calls[self.stage[call.value] - 1].append(call)
        self.slots: dict[int, int] = {}
        self.kept: list[list[int]] = [[] for _ in range(self.last + 1)]
        called = {call.value for call in found} - self.by_row
        for value in called:
            self._slot(value)
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            if number not in called | self.by_row:
                self._keep(needs(op, operands, number), self.stage[number])
        self._keep((value for value, letter in self.results if letter != "s"), self.last)
        for stage, calls in enumerate(self.calls):
            for o in {o for call in calls for o in call.operands}:
                # NumPy reads an input in place; everything else must be in scratch memory.
                if not (o < self.inputs and loop.inputs[o] in "vr") and o not in called:
                    self._slot(o)
                    at = stage if self._is_everywhere(o) else self.stage[o]
                    if o not in self.kept[at]:
                        self.kept[at].append(o)

    def _values_by_row(self, loop: Loop) -> set[int]:
        if not any(op in ROW_REDUCTIONS for op, _ in self.steps):
            return set()
        found = {i for i, letter in enumerate(loop.inputs) if letter in "un"}
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            if op in ROW_REDUCTIONS:
                if operands[0] in found:
                    raise ValueError("the reduction of a row of one number")
                found.add(number)
            elif op == "Const" or (op not in self.called and found.issuperset(operands)):
                found.add(number)
        if any((letter == "s") > (value in found) for value, letter in self.results):
            # In double precision, and where the processor's exponential and logarithm are not NumPy's (NEON).
            raise ImportError("one number for a row is computed by a function of NumPy")
        return found

    def _slot(self, value: int) -> None:
        self.slots.setdefault(value, len(self.slots))

    def _is_everywhere(self, value: int) -> bool:
        """True for what every stage can get without scratch memory: inputs, constants, numbers of a row."""
        is_constant = value >= self.inputs and self.steps[value - self.inputs][0] == "Const"
        return value < self.inputs or is_constant or value in self.by_row

    def _keep(self, values: Iterable[int], stage: int) -> None:
        """Notes that ``stage`` needs the values."""
        for value in values:
            own = self.stage[value]
            if own < stage and not self._is_everywhere(value) and value not in self.slots:
                self._slot(value)
                self.kept[own].append(value)

    def has_work(self, stage: int) -> bool:
        """Whether a stage computes, saves or stores anything but numbers of the row."""
        computed = any(
            self.stage[number] == stage
            and op not in self.called
            and op != "Const"
            and number not in self.by_row
            for number, (op, _) in enumerate(self.steps, self.inputs)
        )
        stores = stage == self.last and any(letter != "s" for _, letter in self.results)
        return computed or bool(self.kept[stage]) or stores

    def truths(self, loop: Loop) -> set[int]:
        """The values of type bool."""
        found = {i for i, letter in enumerate(loop.inputs) if letter in "bt"}
        for number, (op, operands) in enumerate(self.steps, self.inputs):
            if op in TRUTHS or (op in ("Select", "SelectV2") and operands[1] in found):
                found.add(number)
        return found


def _with_calls_written_out(loop: Loop) -> tuple[_Steps, list[int]]:
    """The steps, with composed ops that call NumPy expanded into theirs, and the values' new indices."""
    ops = {op for op, _ in loop.steps}
    if not ops & (CALLED - ufunc_loops.UFUNCS.keys()):
        return loop.steps, list(range(len(loop.inputs) + len(loop.steps)))
    if "Repeat" in ops:
        raise ValueError(
            "a loop with a repetition calls no function: steps within have fixed numbers"
        )
    steps: list[tuple[str, tuple[Any, ...]]] = []
    numbers = list(range(len(loop.inputs)))
    constants: dict[float, int] = {}

    def put(op: str, *operands: Any) -> int:
        steps.append((op, operands))
        return len(loop.inputs) + len(steps) - 1

    def step(op: str, *operands: Any) -> int:
        for o in operands:
            if type(o) is float and o not in constants:
                constants[o] = put("Const", o)
        return put(op, *[constants[o] if type(o) is float else o for o in operands])

    for op, operands in loop.steps:
        items = operands if op == "Const" else [numbers[o] for o in operands]
        row = TABLE.get(op)
        if op in CALLED and row is not None and row.composed is not None:
            numbers.append(row.composed.evaluate(list(items), step))
        else:
            numbers.append(put(op, *items))
    return tuple(steps), numbers


def needs(op: str, operands: tuple[Any, ...], number: int) -> set[int]:
    """The values that a step uses; ``number`` is the index of its own value."""
    if op == "Const":
        return set()
    if op == "Part":
        return {operands[0]}
    if op != "Repeat":
        return set(operands)
    start, steps, following, done, _ = operands
    if any(inner in ufunc_loops.NAMES or inner in CALLED for inner, _ in steps):
        raise ValueError("a repetition cannot call NumPy's functions")
    within = {o for inner, items in steps if inner != "Const" for o in items}
    return {*start, *(o for o in (*within, *following, done) if o < number)}
