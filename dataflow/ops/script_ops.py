"""Python functions as nodes: `py_func`, `numpy_function`, `py_function`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from dataflow.dtypes import DType, as_dtype, variant
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import eager_graph
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.operation import Operation
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.casts import cast
from dataflow.ops.fills import zeros_like
from dataflow.ops.sources import constant
from dataflow.python_functions import find_function, register_function
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
    """As `PyFunc`; results are converted to the dtypes of ``Tout``.

    Gradient: that of the ops which the function calls; it is called once more for it.
    """
    return [None] * len(Tout)


not_differentiable(py_func_op, py_func_stateless_op)


class _Eager:
    """``function`` of tensors that have values, called with arrays: its ops are run eagerly."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arrays: Any) -> Any:
        with eager_graph().as_default():
            result = self.function(*[constant(array) for array in arrays])
            return nest.map_structure(_value_of, result)

    def gradient(self, num_inputs: int) -> _Eager:
        """A function of the inputs and the gradients of the results: the gradients of the inputs."""

        def backward(*tensors: Tensor) -> list[Tensor]:
            from dataflow.autodiff.gradient_tape import GradientTape

            inputs, grads = tensors[:num_inputs], tensors[num_inputs:]
            with GradientTape() as tape:
                tape.watch(inputs)
                results = nest.flatten(self.function(*inputs))
            pairs = [
                (y, g)
                for y, g in zip(results, grads, strict=True)
                if isinstance(y, Tensor) and g.dtype.is_floating
            ]
            ys = [y for y, _ in pairs]
            found = tape.gradient(ys, list(inputs), [cast(g, y.dtype) for y, g in pairs])
            return [
                zeros_like(x) if g is None else convert_to_tensor(g)
                for x, g in zip(inputs, found, strict=True)
            ]

        return _Eager(backward)


def _value_of(part: Any) -> Any:
    from dataflow.ops.variables import Variable

    if isinstance(part, Variable):
        raise RuntimeError(
            f"The function of a py_function returned the variable {part.name!r}, which a tensor cannot "
            "stand for: return its value, variable.read_value()."
        )
    return part.numpy() if isinstance(part, EagerTensor) else part


@eager_py_func_op.gradient
def eager_py_func_gradient(op: Operation, *grads: Any) -> list[Any]:
    function = find_function(op.attrs["token"])
    if not isinstance(function, _Eager):
        raise LookupError(
            f"The gradient of {op.name!r} (tf.py_function) needs its Python function, which is not in "
            "this process: the node came from elsewhere."
        )
    given = [zeros_like(y) if g is None else g for y, g in zip(op.outputs, grads, strict=True)]
    tout = [x.dtype.base_dtype for x in op.inputs]
    token = f"pyfunc_{next(_numbers)}"
    register_function(op.graph, token, function.gradient(len(op.inputs)))
    found = eager_py_func_op([*op.inputs, *given], token=token, Tout=tout)
    for x, grad in zip(op.inputs, found, strict=True):
        grad.set_shape(x.get_shape())
    return [g if g.dtype.is_floating or g.dtype.is_complex else None for g in found]


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
        if op is py_func_stateless_op or graph.executes_eagerly:
            return []
        return result[0].op if result else graph.get_operations()[-1]
    return list(result) if many else result[0]


def variant_of(value: Any) -> Tensor:
    """A scalar of dtype variant that is ``value``, an object of this process: a dataset of eager code, say."""
    made = _build(py_func_op, lambda: [value], [], variant, None, "PyFunc")
    made.set_shape([])
    return made  # type: ignore[no-any-return]


def _called(func: Callable[..., Any], inp: Any) -> Any:
    """What ``func`` returns for the values of ``inp``, as tensors; None as it is."""
    results = nest.flatten(func(*[convert_to_tensor(value).numpy() for value in inp]))  # type: ignore[attr-defined]
    made = [None if result is None else convert_to_tensor(result) for result in results]
    return made[0] if len(made) == 1 else made


def py_func(
    func: Callable[..., Any], inp: Any, Tout: Any, stateful: bool = True, name: str | None = None
) -> Any:
    """A node that calls ``func`` with the values of ``inp`` as NumPy arrays.

    ``func`` returns an array for each dtype of ``Tout`` (alone if ``Tout`` is not a list), of
    exactly those dtypes. The static shape is unknown: call ``set_shape``. Not differentiable. With
    ``stateful=False`` equal inputs may be computed once. The function lives in this process: the
    graph cannot be run elsewhere.

    With eager execution ``func`` is called at once, as TensorFlow 1 does: what it raises passes, and its
    results keep their dtypes. In a graph an exception in ``func`` becomes `InvalidArgumentError` (TypeError, ValueError),
    `OutOfRangeError` (StopIteration), `ResourceExhaustedError` (MemoryError), `UnimplementedError`
    or `UnknownError`, with its traceback.
    """
    if default_graph().executes_eagerly and callable(func):
        return _called(func, inp)
    op = py_func_op if stateful else py_func_stateless_op
    return _build(op, func, inp, Tout, name, "PyFunc" if stateful else "PyFuncStateless")


def numpy_function(
    func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: Any = None
) -> Any:
    """The same as `py_func`."""
    return py_func(func, inp, Tout, stateful, name)


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: Any = None) -> Any:
    """A node that calls ``func`` with the values of ``inp`` as tensors that have values.

    Ops that ``func`` calls are run at once: ``t.numpy()``, ``if t > 0:``, ``float(t)`` and NumPy's
    functions take what they gave. ``func`` returns tensors or arrays, which are converted to
    ``Tout``. Differentiable through the ops that it calls (not through NumPy's); for the gradient
    it is called once more.
    """
    if callable(func):
        func = _Eager(func)
    return _build(eager_py_func_op, func, inp, Tout, name, "EagerPyFunc")
