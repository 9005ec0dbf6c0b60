"""The steps of fused chains and updates as expressions of CUDA C.

``{0}``, ``{1}``, ... are operands of the type ``T``; NaN and infinity come out as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

_ADD, _MUL = "{0} + {1}", "{0} * {1}"

CUDA = {
    "Add": _ADD,
    "AddV2": _ADD,
    "BiasAdd": _ADD,
    "Sub": "{0} - {1}",
    "Mul": _MUL,
    "RealDiv": "{0} / {1}",
    "Maximum": "{0} != {0} || {0} > {1} ? {0} : {1}",
    "Minimum": "{0} != {0} || {0} < {1} ? {0} : {1}",
    "Pow": "pow({0}, {1})",
    "PowerOfArrays": "pow({0}, {1})",
    "Atan2": "atan2({0}, {1})",
    "Copysign": "copysign({0}, {1})",
    "Greater": "{0} > {1}",
    "GreaterEqual": "{0} >= {1}",
    "Less": "{0} < {1}",
    "LessEqual": "{0} <= {1}",
    "Equal": "{0} == {1}",
    "NotEqual": "{0} != {1}",
    "LogicalAnd": "{0} && {1}",
    "LogicalOr": "{0} || {1}",
    "LogicalNot": "!{0}",
    "Select": "{0} ? {1} : {2}",
    "SelectV2": "{0} ? {1} : {2}",
    "Neg": "-{0}",
    "Exp": "exp({0})",
    "Expm1": "expm1({0})",
    "Log": "log({0})",
    "Log1p": "log1p({0})",
    "Sqrt": "sqrt({0})",
    "Square": "{0} * {0}",
    "Abs": "fabs({0})",
    "Tanh": "tanh({0})",
    "Sign": "{0} != {0} ? {0} : (T)(({0} > (T)0) - ({0} < (T)0))",
    "Rint": "rint({0})",
    "Sinh": "sinh({0})",
    "Cosh": "cosh({0})",
    "Asin": "asin({0})",
    "Acos": "acos({0})",
    "Atan": "atan({0})",
    "Asinh": "asinh({0})",
    "Acosh": "acosh({0})",
    "Atanh": "atanh({0})",
    "Sin": "sin({0})",
    "Cos": "cos({0})",
    "Tan": "tan({0})",
    "Floor": "floor({0})",
    "Ceil": "ceil({0})",
    "Reciprocal": "(T)1 / {0}",
    "Inv": "(T)1 / {0}",
    "Relu": "{0} != {0} || {0} > (T)0 ? {0} : (T)0",
    "Relu6": "{0} < (T)0 ? (T)0 : {0} > (T)6 ? (T)6 : {0}",
    "Rsqrt": "(T)1 / sqrt({0})",
    "SquaredDifference": "({0} - {1}) * ({0} - {1})",
    "ReluGrad": "{0} * (T)({1} > (T)0)",
    "Sigmoid": "(T)1 / ((T)1 + exp(-{0}))",
    "SigmoidGrad": "((T)1 - {0}) * {0} * {1}",
    "TanhGrad": "((T)1 - {0} * {0}) * {1}",
}
#: Steps whose value is a truth value.
TRUTHS = frozenset(
    {
        *("Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"),
        *("LogicalAnd", "LogicalOr", "LogicalNot"),
    }
)


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
    return CUDA[op].format(*[f"v{o}" for o in operands])


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
