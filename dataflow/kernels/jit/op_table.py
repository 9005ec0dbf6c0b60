"""The element-wise ops that can be fused: how each is written with ``out=``.

``{0}``, ``{1}``, ... are operands, ``{o}`` the output. An instruction of several statements reads
its operands after it has begun to write, so its output never shares a buffer with them.
"""

from __future__ import annotations

from typing import NamedTuple


class Instruction(NamedTuple):
    """One fused op: its statements, whether the result is a truth value, and the ufunc that it is."""

    statements: tuple[str, ...]
    is_bool: bool = False
    ufunc: str = ""

    @property
    def text(self) -> str:
        """All statements, one to a line."""
        return "\n".join(self.statements)

    @property
    def in_place(self) -> bool:
        """True when the output may be written over an operand."""
        return len(self.statements) == 1


def _unary(function: str) -> Instruction:
    return Instruction((f"xp.{function}({{0}}, out={{o}})",), ufunc=function)


def _binary(function: str, is_bool: bool = False) -> Instruction:
    return Instruction((f"xp.{function}({{0}}, {{1}}, out={{o}})",), is_bool, function)


INSTRUCTIONS: dict[str, Instruction] = {
    "Add": _binary("add"),
    "AddV2": _binary("add"),
    "BiasAdd": _binary("add"),
    "Sub": _binary("subtract"),
    "Mul": _binary("multiply"),
    "RealDiv": _binary("divide"),
    "Maximum": _binary("maximum"),
    "Minimum": _binary("minimum"),
    "Pow": _binary("power"),
    "Atan2": _binary("arctan2"),
    "Greater": _binary("greater", True),
    "GreaterEqual": _binary("greater_equal", True),
    "Less": _binary("less", True),
    "LessEqual": _binary("less_equal", True),
    "Equal": _binary("equal", True),
    "NotEqual": _binary("not_equal", True),
    "LogicalAnd": _binary("logical_and", True),
    "LogicalOr": _binary("logical_or", True),
    "LogicalNot": Instruction(("xp.logical_not({0}, out={o})",), True),
    "Neg": _unary("negative"),
    "Exp": _unary("exp"),
    "Expm1": _unary("expm1"),
    "Log": _unary("log"),
    "Log1p": _unary("log1p"),
    "Sqrt": _unary("sqrt"),
    "Square": _unary("square"),
    "Abs": _unary("absolute"),
    "Tanh": _unary("tanh"),
    "Sign": _unary("sign"),
    "Rint": _unary("rint"),
    "Sinh": _unary("sinh"),
    "Cosh": _unary("cosh"),
    "Asin": _unary("arcsin"),
    "Acos": _unary("arccos"),
    "Atan": _unary("arctan"),
    "Asinh": _unary("arcsinh"),
    "Acosh": _unary("arccosh"),
    "Atanh": _unary("arctanh"),
    "Sin": _unary("sin"),
    "Cos": _unary("cos"),
    "Tan": _unary("tan"),
    "Floor": _unary("floor"),
    "Ceil": _unary("ceil"),
    "Reciprocal": _unary("reciprocal"),
    "Inv": _unary("reciprocal"),
    "Relu": Instruction(("xp.maximum({0}, zero, out={o})",)),
    "Relu6": Instruction(("xp.maximum({0}, zero, out={o})", "xp.minimum({o}, six, out={o})")),
    "Rsqrt": Instruction(("xp.sqrt({0}, out={o})", "xp.divide(one, {o}, out={o})")),
    "SquaredDifference": Instruction(
        ("xp.subtract({0}, {1}, out={o})", "xp.multiply({o}, {o}, out={o})")
    ),
    # Not `copyto` with a mask, which takes ten times as long where signs change at random.
    "ReluGrad": Instruction(("xp.multiply({0}, xp.greater({1}, zero), out={o})",)),
    "Sigmoid": Instruction(
        (
            "xp.negative({0}, out={o})",
            "xp.exp({o}, out={o})",
            "xp.add({o}, one, out={o})",
            "xp.divide(one, {o}, out={o})",
        )
    ),
    "SigmoidGrad": Instruction(
        (
            "xp.subtract(one, {0}, out={o})",
            "xp.multiply({o}, {0}, out={o})",
            "xp.multiply({o}, {1}, out={o})",
        )
    ),
    "TanhGrad": Instruction(
        (
            "xp.multiply({0}, {0}, out={o})",
            "xp.subtract(one, {o}, out={o})",
            "xp.multiply({o}, {1}, out={o})",
        )
    ),
}
