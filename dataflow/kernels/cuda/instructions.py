"""The steps of fused chains and updates as expressions of CUDA C.

Of what `jit.op_table` has; NaN and infinity come out as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dataflow.kernels.jit.op_table import TABLE, TRUTHS


def truths_of(num_inputs: int, steps: Sequence[tuple[str, tuple[Any, ...]]]) -> frozenset[int]:
    """The numbers of the values that are truth values, inputs among them."""
    found = {num_inputs + i for i, (op, _) in enumerate(steps) if op in TRUTHS}
    for op, operands in steps:
        if op.startswith("Logical"):
            found.update(operands)
        elif op.startswith("Select"):
            found.add(operands[0])
    return frozenset(found)


def expression(op: str, operands: tuple[object, ...]) -> str:
    """One step: an op over the values ``v0, v1, ...``, or ``("Const", (number,))``."""
    if op == "Const":
        return _constant(operands[0])
    return _text(op, *[f"v{o}" for o in operands])


def _text(op: str, *operands: Any) -> str:
    row = TABLE[op]
    items = [_constant(o) if type(o) is float else o for o in operands]
    if row.composed is None:
        return row.cuda.format(*items)
    return str(row.composed.evaluate(items, lambda *step: f"({_text(*step)})"))


def _constant(number: Any) -> str:
    if math.isnan(number):
        return "(T)(1e308 * 10 - 1e308 * 10)"
    if math.isinf(number):  # without CUDA's headers there is no name for it
        return f"(T)({'-' if number < 0 else ''}1e308 * 10)"
    return f"(T){float(number)!r}"


def statements(num_inputs: int, steps: Sequence[tuple[str, tuple[Any, ...]]]) -> list[str]:
    """Lines that compute the steps; among them may be those of a `masked_while`."""
    truths = truths_of(num_inputs, steps)
    lines = []
    for number, (op, operands) in enumerate(steps, num_inputs):
        if op == "Repeat":
            lines += _repetition(number, *operands)
        elif op == "Part":
            lines.append(f"T v{number} = state{operands[0]}_{operands[1]};")
        else:
            kind = "bool" if number in truths else "T"
            lines.append(f"{kind} v{number} = {expression(op, operands)};")
    return lines


def _repetition(
    number: int,
    start: tuple[int, ...],
    steps: tuple[Any, ...],
    following: tuple[int, ...],
    done: int,
    most: int,
) -> list[str]:
    """A loop that one element leaves when it is done; its value is the first part of the state."""
    state = [f"state{number}_{i}" for i in range(len(start))]
    inside = [f"T v{number} = (T)turn{number};"]
    inside += [f"T v{number + 1 + i} = {name};" for i, name in enumerate(state)]
    inside += statements(number + 1 + len(start), steps)
    inside += [f"{name} = v{value};" for name, value in zip(state, following, strict=True)]
    inside.append(f"if (v{done}) break;")
    return [
        *[f"T {name} = v{value};" for name, value in zip(state, start, strict=True)],
        f"for (int turn{number} = 1; turn{number} <= {most}; ++turn{number}) {{",
        *[f"  {line}" for line in inside],
        "}",
        f"T v{number} = {state[0]};",
    ]
