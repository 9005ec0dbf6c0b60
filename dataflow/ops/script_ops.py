"""Python functions as nodes: `py_func`, `numpy_function`, `py_function`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from dataflow.dtypes import DType, as_dtype
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.python_functions import register_function
from dataflow.shapes import Dims


@define_op(
    "PyFunc",
    "input: list(Tin) -> output: list(Tout)",
    stateful=True,
    blocks=True,
    calls_python=True,
    has_side_effect=True,
)
def py_func_op(input: list[Tensor], *, token: str, Tout: list[DType]) -> list[Dims]:
    """Calls a Python function with NumPy arrays. Shapes: unknown. No gradient."""
    return [None] * len(Tout)


@define_op(
    "PyFuncStateless",
    "input: list(Tin) -> output: list(Tout)",
    blocks=True,
    calls_python=True,
    has_side_effect=True,
)
def py_func_stateless_op(input: list[Tensor], *, token: str, Tout: list[DType]) -> list[Dims]:
    """As `PyFunc`, for a function that gives equal results for equal inputs."""
    return [None] * len(Tout)


@define_op(
    "EagerPyFunc",
    "input: list(Tin) -> output: list(Tout)",
    stateful=True,
    blocks=True,
    calls_python=True,
    has_side_effect=True,
)
def eager_py_func_op(
    input: list[Tensor], *, token: str, is_async: bool = False, Tout: list[DType]
) -> list[Dims]:
    """As `PyFunc`; results are converted to the dtypes of ``Tout``. No gradient here."""
    return [None] * len(Tout)


not_differentiable(py_func_op, py_func_stateless_op, eager_py_func_op)

_numbers = itertools.count()


def _build(op: Any, func: Any, inp: Any, dtypes_out: Any, name: str | None, default: str) -> Any:
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func!r}")
    many = isinstance(dtypes_out, (list, tuple))
    tout = [as_dtype(d).base_dtype for d in (dtypes_out if many else [dtypes_out])]
    token = f"pyfunc_{next(_numbers)}"
    tensors = [convert_to_tensor(v) for v in inp]
    graph = tensors[0].graph if tensors else default_graph()
    register_function(graph, token, func)
    result = op(tensors, token=token, Tout=tout, name=name or default)
    if not tout:
        return result[0].op if result else graph.get_operations()[-1]
    return list(result) if many else result[0]


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """A node that calls ``func`` with the values of ``inp`` as NumPy arrays.

    ``func`` returns an array for each dtype of ``Tout`` (alone where ``Tout`` is no list), of
    exactly those dtypes. The static shape is unknown: call ``set_shape``. Not differentiable. With
    ``stateful=False`` equal inputs may be computed once. The function lives in this process: the
    graph cannot be run elsewhere.

    An exception in ``func`` becomes `InvalidArgumentError` (TypeError, ValueError),
    `OutOfRangeError` (StopIteration), `ResourceExhaustedError` (MemoryError), `UnimplementedError`
    or `UnknownError`, with its traceback.
    """
    op = py_func_op if stateful else py_func_stateless_op
    return _build(op, func, inp, Tout, name, "PyFunc" if stateful else "PyFuncStateless")


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: Any = None
) -> Any:
    """The same as `py_func`."""
    return py_func(func, inp, Tout, stateful, name)


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: Any = None) -> Any:
    """As `py_func`; inputs have a method ``numpy()``, results are converted to ``Tout``."""
    return _build(eager_py_func_op, func, inp, Tout, name, "EagerPyFunc")
