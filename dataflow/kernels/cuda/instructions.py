"""The steps of fused chains and updates as expressions of CUDA C.

``{0}``, ``{1}``, ... are operands of the type ``T``; NaN and infinity come out as in NumPy.
"""

from __future__ import annotations

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


def expression(op: str, operands: tuple[object, ...]) -> str:
    """One step: an op over the values ``v0, v1, ...``, or ``("Const", (number,))``."""
    if op == "Const":
        return f"(T){operands[0]!r}"
    return CUDA[op].format(*[f"v{o}" for o in operands])
