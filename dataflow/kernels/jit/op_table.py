"""Elementary ops: one row for each, with its form in NumPy, LLVM assembly and CUDA C.

An op that is composed of others is written once, as a function ``f(xp, *x)``; its NumPy statements,
LLVM code and CUDA C are derived from its steps, and its kernel calls the same function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dataflow.kernels.array_types import Array, Module

#: The names of the constants of composed ops in NumPy's statements.
_NUMBERS = {0.0: "zero", 1.0: "one", 6.0: "six"}
#: The composed ops that NumPy's statements call as a function ``f(xp, *x, out)``, by its name.
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


class Composed(NamedTuple):
    """An op composed of others. Value i is input i or the result of a step; an operand of type
    ``float`` is a constant."""

    num_inputs: int
    steps: tuple[tuple[str, tuple[Any, ...]], ...]

    def evaluate(self, inputs: list[Any], step: Callable[..., Any]) -> Any:
        """The last value, where ``step(op, *operands)`` computes one step."""
        values = list(inputs)
        for op, operands in self.steps:
            values.append(step(op, *[o if type(o) is float else values[o] for o in operands]))
        return values[-1]


class Instruction(NamedTuple):
    """One elementary op.

    ``ufunc`` is NumPy's function. ``llvm`` is an instruction on operands ``{0}``, ``{1}``, ... of the type
    ``{t}`` (bool: ``{truth}``), or ``llvm.name`` for an intrinsic; empty where the op is ``composed``, or
    has no instruction. ``cuda`` is an expression of the type ``T``, empty for a composed op; NaN and
    infinity come out as in NumPy. ``is_bool``: the result is bool.

    ``statements`` are NumPy's, with ``{o}`` for the output. An instruction with several
    reads its operands after it has begun to write, so its output must not share a buffer with them. One
    without any is not fused.
    """

    ufunc: str = ""
    llvm: str = ""
    cuda: str = ""
    is_bool: bool = False
    composed: Composed | None = None
    statements: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All statements, one to a line."""
        return "\n".join(self.statements)

    @property
    def in_place(self) -> bool:
        """True when the output may be written over an operand."""
        return len(self.statements) == 1


def names_of(dtype: Any) -> dict[str, Any]:
    """The names that statements refer to: constants in the arrays' type, and functions."""
    numbers = {name: np.dtype(dtype).type(number) for number, name in _NUMBERS.items()}
    return numbers | _FUNCTIONS


# ---- rows ----------------------------------------------------------------------------------------


def _call(ufunc: str, cuda: str = "", llvm: str = "", is_bool: bool = False) -> Instruction:
    names = ["{0}", "{1}"][: getattr(np, ufunc).nin]
    statement = f"xp.{ufunc}({', '.join(names)}, out={{o}})"
    cuda = cuda or f"{ufunc}({', '.join(names)})"
    return Instruction(ufunc, llvm, cuda, is_bool, None, (statement,))


def _compare(ufunc: str, sign: str, llvm: str) -> Instruction:
    return _call(ufunc, f"{{0}} {sign} {{1}}", f"fcmp {llvm} {{t}} {{0}}, {{1}}", True)


def _arithmetic(ufunc: str, sign: str, llvm: str) -> Instruction:
    return _call(ufunc, f"{{0}} {sign} {{1}}", f"{llvm} {{t}} {{0}}, {{1}}")


_ADD = _arithmetic("add", "+", "fadd")
_SELECT = Instruction(llvm="select {truth} {0}, {t} {1}, {t} {2}", cuda="{0} ? {1} : {2}")

TABLE: dict[str, Instruction] = {
    "Add": _ADD,
    "AddV2": _ADD,
    "BiasAdd": _ADD,
    "Sub": _arithmetic("subtract", "-", "fsub"),
    "Mul": _arithmetic("multiply", "*", "fmul"),
    "RealDiv": _arithmetic("divide", "/", "fdiv"),
    "Maximum": _call("maximum", "{0} != {0} || {0} > {1} ? {0} : {1}"),
    "Minimum": _call("minimum", "{0} != {0} || {0} < {1} ? {0} : {1}"),
    "Pow": _call("power", "pow({0}, {1})"),
    "Atan2": _call("arctan2", "atan2({0}, {1})"),
    "Greater": _compare("greater", ">", "ogt"),
    "GreaterEqual": _compare("greater_equal", ">=", "oge"),
    "Less": _compare("less", "<", "olt"),
    "LessEqual": _compare("less_equal", "<=", "ole"),
    "Equal": _compare("equal", "==", "oeq"),
    "NotEqual": _compare("not_equal", "!=", "une"),
    "LogicalAnd": _call("logical_and", "{0} && {1}", "and {truth} {0}, {1}", True),
    "LogicalOr": _call("logical_or", "{0} || {1}", "or {truth} {0}, {1}", True),
    "LogicalNot": _call("logical_not", "!{0}", "icmp eq {truth} {0}, {false}", True),
    "Neg": _call("negative", "-{0}", "fneg {t} {0}"),
    "Exp": _call("exp"),
    "Expm1": _call("expm1"),
    "Log": _call("log"),
    "Sqrt": _call("sqrt", llvm="llvm.sqrt"),
    "Abs": _call("absolute", "fabs({0})", "llvm.fabs"),
    "Tanh": _call("tanh"),
    "Rint": _call("rint", llvm="llvm.rint"),
    "Sinh": _call("sinh"),
    "Cosh": _call("cosh"),
    "Asin": _call("arcsin", "asin({0})"),
    "Acos": _call("arccos", "acos({0})"),
    "Atan": _call("arctan", "atan({0})"),
    "Asinh": _call("arcsinh", "asinh({0})"),
    "Acosh": _call("arccosh", "acosh({0})"),
    "Atanh": _call("arctanh", "atanh({0})"),
    "Sin": _call("sin"),
    "Cos": _call("cos"),
    "Tan": _call("tan"),
    "Floor": _call("floor", llvm="llvm.floor"),
    "Ceil": _call("ceil", llvm="llvm.ceil"),
    "PowerOfArrays": Instruction(cuda="pow({0}, {1})"),
    "Copysign": Instruction("copysign", "llvm.copysign", "copysign({0}, {1})"),
    "Select": _SELECT,
    "SelectV2": _SELECT,
}

#: The op that computes each function of ``xp``; the first if there are several.
OP_OF = {row.ufunc: op for op, row in reversed(TABLE.items()) if row.ufunc} | {"where": "Select"}


@dataclass(frozen=True)
class _Value:
    """A value of a composed op, by its index; a plain number is a constant."""

    index: int

    def _refuse(self, *_: object) -> Any:
        raise TypeError(
            "a composed op calls NumPy's functions for each step, xp.multiply(x, t), and uses no operators"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __neg__ = _refuse


class _Recorder:
    """Stands for ``xp`` while the steps of a composed op are recorded."""

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs = num_inputs
        self.steps: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., _Value]:
        if name not in OP_OF:
            raise AttributeError(
                f"a composed op has no step xp.{name}, but {', '.join(sorted(OP_OF))}"
            )

        def step(*operands: Any, out: Array | None = None) -> _Value:
            recorded = tuple(o.index if isinstance(o, _Value) else float(o) for o in operands)
            self.steps.append((OP_OF[name], recorded))
            return _Value(self.num_inputs + len(self.steps) - 1)

        return step


def composed(
    *op_types: str, ufunc: str = "", by_function: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the rows of ops that ``function(xp, *arrays)`` computes; kernels call the same function.

    It calls NumPy's functions for each step, by their full names. Its constants are whole numbers, which keep the
    type of integer arrays, and what it writes to with ``out=`` it does not read again. ``ufunc``: NumPy has it as one. ``by_function``: it needs more than
    one array between its steps, so that NumPy's statement calls it.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        num_inputs = function.__code__.co_argcount - 1
        recorder = _Recorder(num_inputs)
        function(recorder, *map(_Value, range(num_inputs)))
        steps = Composed(num_inputs, tuple(recorder.steps))
        if by_function:
            name = function.__name__
            _FUNCTIONS[name] = _with_out(function)
            operands = ", ".join(f"{{{i}}}" for i in range(num_inputs))
            statements: tuple[str, ...] = (f"{name}(xp, {operands}, out={{o}})",)
        else:
            statements = _call(ufunc).statements if ufunc else _statements(steps)
        for op_type in op_types:
            TABLE[op_type] = Instruction(ufunc, composed=steps, statements=statements)
            if ufunc:
                OP_OF.setdefault(ufunc, op_type)
        return function

    return register


def _with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function(xp, *arrays)`` that can write its result to ``out``, which may be one of them."""

    def call(xp: Module, *arrays: Array, out: Any = None) -> Any:
        found = function(xp, *arrays)
        if out is None:
            return found
        out[...] = found
        return out

    return call


def _name_of(number: float) -> str:
    """The name of a constant in NumPy's statements."""
    if not number.is_integer():
        raise ValueError(f"{number} in a composed op: it would change the type of integer arrays.")
    sign = "minus_" if number < 0 else ""
    return _NUMBERS.setdefault(number, f"number_{sign}{abs(int(number))}")


def _statements(steps: Composed) -> tuple[str, ...]:
    """One statement for each step, all with the same output; a bool is nested in the step that uses it.

    Raises `ValueError` where a step takes the result of an earlier step than the one before it.
    """
    statements: list[str] = []
    before = -1
    for number, (op, operands) in enumerate(steps.steps, steps.num_inputs):
        for o in operands:
            is_early = type(o) is int and steps.num_inputs <= o != before
            if is_early and not TABLE[steps.steps[o - steps.num_inputs][0]].is_bool:
                raise ValueError(
                    f"step {op} takes the result of an earlier step than the one before it, and all have one "
                    "output: composed(..., by_function=True)"
                )
        if not TABLE[op].is_bool:
            before = number

    def step(op: str, *operands: Any) -> str:
        items = ", ".join(_name_of(o) if type(o) is float else o for o in operands)
        if TABLE[op].is_bool:
            return f"xp.{TABLE[op].ufunc}({items})"
        statements.append(f"xp.{TABLE[op].ufunc}({items}, out={{o}})")
        return "{o}"

    steps.evaluate(["{0}", "{1}"][: steps.num_inputs], step)
    return tuple(statements)


@composed("Square", ufunc="square")
def _square(xp: Module, x: Array) -> Any:
    return xp.multiply(x, x)


@composed("Reciprocal", "Inv", ufunc="reciprocal")
def _reciprocal(xp: Module, x: Array) -> Any:
    return xp.divide(1, x)


@composed("Sign", ufunc="sign")
def _sign(xp: Module, x: Array) -> Any:
    low = xp.where(xp.less(x, 0), -1, x)  # a NaN stays
    return xp.add(xp.where(xp.greater(x, 0), 1, low), 0)  # not minus zero


@composed("Relu")
def relu(xp: Module, x: Array) -> Any:
    return xp.maximum(x, 0)


@composed("Relu6")
def relu6(xp: Module, x: Array) -> Any:
    return xp.minimum(xp.maximum(x, 0), 6)


@composed("ReluGrad")
def relu_gradient(xp: Module, dy: Array, x: Array) -> Any:
    # A factor, not a choice: an infinite gradient times zero is NaN. (`copyto` with a mask takes ten
    # times as long where signs change at random.)
    return xp.multiply(dy, xp.greater(x, 0))


@composed("Rsqrt")
def _reciprocal_square_root(xp: Module, x: Array) -> Any:
    return xp.divide(1, xp.sqrt(x))


@composed("RsqrtGrad", by_function=True)
def reciprocal_square_root_gradient(xp: Module, y: Array, dy: Array) -> Any:
    return xp.multiply(xp.divide(dy, -2), xp.multiply(xp.multiply(y, y), y))


@composed("SquaredDifference")
def squared_difference(xp: Module, x: Array, y: Array) -> Any:
    difference = xp.subtract(x, y)
    return xp.multiply(difference, difference)


@composed("Sigmoid")
def sigmoid(xp: Module, x: Array) -> Any:
    t = xp.negative(x)
    t = xp.exp(t, out=t)  # infinite for very negative x, which gives the right 0 below
    t = xp.add(t, 1, out=t)
    return xp.divide(1, t, out=t)  # faster than `reciprocal`, and the same number


@composed("Log1p", by_function=True)
def log1p(xp: Module, x: Array) -> Any:
    """log(1 + x), corrected for what rounding ``1 + x`` loses (as W. Kahan did for the HP-15C).

    Within 4 units in the last place in single precision. NumPy's own calls the C library for each element,
    which takes twice the time, and cannot be part of a loop in machine code.
    """
    u = xp.add(x, 1)
    y = xp.log(u)
    correction = xp.divide(xp.subtract(x, xp.subtract(u, 1)), u)  # NaN where u is 0 or infinite
    return xp.where(xp.equal(correction, correction), xp.add(y, correction), y)


@composed("SigmoidGrad")
def sigmoid_gradient(xp: Module, y: Array, dy: Array) -> Any:
    return xp.multiply(xp.multiply(xp.subtract(1, y), y), dy)


@composed("TanhGrad")
def tanh_gradient(xp: Module, y: Array, dy: Array) -> Any:
    return xp.multiply(xp.subtract(1, xp.multiply(y, y)), dy)


#: The ops that can be fused: those with statements.
INSTRUCTIONS = {op: row for op, row in TABLE.items() if row.statements}
#: The ops whose result is bool.
TRUTHS = frozenset(op for op, row in TABLE.items() if row.is_bool)


def truths_among(op: str, operands: int) -> int:
    """How many of an op's first operands are bool."""
    return 1 if op.startswith("Select") else operands if op.startswith("Logical") else 0


def elementary_ops(op: str) -> frozenset[str]:
    """The ops that an op is composed of; the op itself if it is not composed."""
    row = TABLE.get(op)
    return (
        frozenset({op})
        if row is None or row.composed is None
        else frozenset(step for step, _ in row.composed.steps)
    )
