"""Python's operators on tensors and variables: ``x + 1`` adds a node as `tf.add` does.

``==`` stays identity, as in TensorFlow 1: use `tf.equal`. ``x[...]`` is in `dataflow.ops.slicing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.graph.conversion import internal_convert
from dataflow.graph.op_def import OpDef
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops import arithmetic, comparison, elementary, matmul, slicing
from dataflow.ops.variables import Variable


def _forward(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def operator(x: Tensor, y: TensorLike) -> Any:
        try:
            return function(x, y, name=name)
        except TypeError:
            if _knows_tensors(y, f"__r{name}__"):
                return NotImplemented  # Python asks the other operand's class
            raise

    operator.__doc__ = function.__doc__
    return operator


def _knows_tensors(y: Any, method: str) -> bool:
    """Whether ``y`` is of a program's own class (t3f's tensor trains) that has the reflected operator."""
    if isinstance(y, (Tensor, Variable)) or not hasattr(type(y), method):
        return False
    return type(y).__module__.partition(".")[0] not in ("builtins", "numpy", "dataflow")


def _multiply(x: Tensor, y: TensorLike, name: str) -> Any:
    if type(y).__name__ == "SparseTensor":
        return y * x  # stays sparse, whichever side the dense one is on
    return arithmetic.mul_op(x, y, name=name)


_multiply.__doc__ = arithmetic.mul_op.__doc__


def _reflected(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def operator(y: Tensor, x: TensorLike) -> Any:
        graph = y.op.graph
        op_name = graph.unique_name(name)
        saved = graph.name_stack
        graph.name_stack = op_name
        try:
            x = internal_convert(x, y.dtype.base_dtype, "x")
        finally:
            graph.name_stack = saved
        return function(x, y, name=op_name + "/")

    operator.__doc__ = function.__doc__
    return operator


def _logical(logical: Callable[..., Any], bitwise: OpDef) -> Callable[..., Any]:
    def function(x: Any, y: Any, name: str) -> Any:
        dtype = (x if isinstance(x, Tensor) else y).dtype.base_dtype
        if dtype.is_bool:
            return logical(x, y, name=name)
        graph = (x if isinstance(x, Tensor) else y).graph
        with graph.name_scope(name):
            return bitwise(x, y)

    function.__doc__ = logical.__doc__
    return function


def _xor(x: Any, y: TensorLike, name: str) -> Any:
    with x.graph.name_scope(name) as scope:
        return comparison.logical_xor(x, y, name=scope)


def _invert(x: Tensor) -> Tensor:
    """``~x``: not x for bool, all bits flipped for integers."""
    op = comparison.logical_not_op if x.dtype.base_dtype.is_bool else comparison.invert_op
    return op(x)  # type: ignore[no-any-return]


def _add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x + y``: strings are joined, which AddV2 does not do."""
    dtype = (x if isinstance(x, Tensor) else y).dtype.base_dtype
    op = arithmetic.add_v1_op if dtype.kind == "S" else arithmetic.add_v2_op
    return op(x, y, name=name)  # type: ignore[no-any-return]


def _named(op: OpDef) -> Callable[..., Any]:
    """A comparison: its nodes are named after the op, as TensorFlow's are."""

    def function(x: Tensor, y: TensorLike) -> Any:
        return op(x, y)

    function.__doc__ = op.__doc__
    return function


def install() -> None:
    """Puts the operators on `Tensor`; called once, when `dataflow.ops` is loaded."""
    table: dict[str, tuple[Callable[..., Any], str]] = {
        "add": (_add, "add"),
        "sub": (arithmetic.sub_op, "sub"),
        "mul": (_multiply, "mul"),
        "truediv": (arithmetic.truediv, "truediv"),
        "div": (arithmetic.div, "div"),
        "floordiv": (arithmetic.floor_div_op, "floordiv"),
        "mod": (arithmetic.floor_mod_op, "mod"),
        "pow": (arithmetic.pow_op, "pow"),
        "matmul": (matmul.matmul, "matmul"),
        "and": (_logical(comparison.logical_and_op, comparison.bitwise_and_op), "and"),
        "or": (_logical(comparison.logical_or_op, comparison.bitwise_or_op), "or"),
        "xor": (_logical(_xor, comparison.bitwise_xor_op), "xor"),
    }
    for method, (function, name) in table.items():
        _set(f"__{method}__", _forward(function, name))
        _set(f"__r{method}__", _reflected(function, name))
    for method, op in {
        "lt": comparison.less_op,
        "le": comparison.less_equal_op,
        "gt": comparison.greater_op,
        "ge": comparison.greater_equal_op,
    }.items():
        _set(f"__{method}__", _named(op))
    _set("__neg__", _negative)
    _set("__abs__", _absolute)
    _set("__invert__", _invert)
    assert slicing.getitem is Tensor.__getitem__  # variables get that one too
    _install_for_variables()


def _negative(x: Tensor) -> Tensor:
    """``-x``."""
    return elementary.neg_op(x)  # type: ignore[no-any-return]


def _absolute(x: Tensor) -> Tensor:
    """``abs(x)``."""
    return elementary.abs_(x)


def _set(name: str, function: Callable[..., Any]) -> None:
    function.__name__ = name
    setattr(Tensor, name, function)


# fmt: off
_OF_VARIABLES = frozenset({
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv",
    "rfloordiv", "mod", "rmod", "pow", "rpow", "matmul", "rmatmul", "and", "rand", "or", "ror",
    "xor", "rxor", "invert", "neg", "abs", "lt", "le", "gt", "ge", "getitem", "div", "rdiv",
})
# fmt: on


def _install_for_variables() -> None:
    """Gives variables the operators of tensors, applied to their value."""
    names = [n for n in Tensor.__dict__ if n.startswith("__") and n.strip("_") in _OF_VARIABLES]
    for name in names:
        setattr(Variable, name, _of_value(name))


def _of_value(name: str) -> Any:
    function = getattr(Tensor, name)

    def operator(self: Variable, *args: Any) -> Any:
        return function(self._dense_var_to_tensor(), *args)

    def getitem(self: Variable, spec: Any) -> Any:
        value = self._dense_var_to_tensor()
        if value.known_value is not None:
            value.__dict__["value_of"] = self
        return function(value, spec)

    result = getitem if name == "__getitem__" else operator
    result.__name__ = name
    result.__doc__ = function.__doc__
    return result


install()
