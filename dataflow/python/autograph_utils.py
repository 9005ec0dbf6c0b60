"""``tensorflow.python.autograph.utils``: what rewritten functions call, and programs call by its path."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.ops.arithmetic import floormod, maximum
from dataflow.ops.array import zeros_like
from dataflow.ops.casts import cast
from dataflow.ops.comparison import not_equal
from dataflow.ops.identity import identity
from dataflow.ops.script_ops import py_function
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.tensor_values import is_tensor as is_one_tensor
from dataflow.python import list_parts
from dataflow.python.op_functions import tensor_list_length, tensor_list_push_back

__all__ = [
    "MatchDType",
    "TensorList",
    "alias_tensors",
    "capitalize_initial",
    "control_dependency_on_returns",
    "dynamic_list_append",
    "get_range_len",
    "is_dense_tensor",
    "is_range_tensor",
    "is_tensor",
    "is_tensor_array",
    "is_tensor_list",
    "wrap_py_func",
]


def control_dependency_on_returns(return_value: Any) -> contextlib.AbstractContextManager[Any]:
    """A block whose operations wait for what a function returned: a tensor, a `tf.TensorArray`, several, or None."""
    if return_value is None:
        return contextlib.nullcontext()
    values = return_value if isinstance(return_value, (list, tuple)) else (return_value,)
    waited = [v.flow if isinstance(v, TensorArray) else v for v in values]
    return default_graph().control_dependencies(waited)


def alias_tensors(*args: Any) -> Any:
    """The arguments, tensors among them through `tf.identity`; one alone as it is. Raises `ValueError` for none."""
    if not args:
        raise ValueError("at least one argument required")
    found = [identity(a) if isinstance(a, Tensor) else a for a in args]
    return found[0] if len(found) == 1 else iter(found)


def capitalize_initial(s: str) -> str:
    """``s`` with its first letter as a capital."""
    return s[:1].upper() + s[1:]


def get_range_len(start: Any, limit: Any, delta: Any) -> Any:
    """How many elements ``range(start, limit, delta)`` has, as a tensor."""
    distance = convert_to_tensor(limit - start)
    whole = distance // delta
    rest = cast(not_equal(floormod(distance, delta), zeros_like(whole)), distance.dtype)
    return maximum(whole + rest, zeros_like(whole))


def is_tensor(*args: Any) -> bool:
    """Whether any of the arguments is a tensor, or made of tensors."""
    return any(is_one_tensor(a) for a in args)


def is_dense_tensor(t: Any) -> bool:
    """Whether ``t`` is a tensor and no `tf.SparseTensor`."""
    return is_one_tensor(t) and not isinstance(t, SparseTensor)


def is_tensor_array(t: Any) -> bool:
    """Whether ``t`` is a `tf.TensorArray`."""
    return isinstance(t, TensorArray)


def is_tensor_list(t: Any) -> bool:
    """Whether ``t`` may be a list of tensors: a variant without axes."""
    return is_one_tensor(t) and t.dtype == dtypes.variant and not t.shape.ndims


def is_range_tensor(t: Any) -> bool:
    """Whether ``t`` comes from `tf.range`."""
    return isinstance(t, Tensor) and not default_graph().executes_eagerly and t.op.type == "Range"


def dynamic_list_append(target: Any, element: Any) -> Any:
    """``target`` with ``element`` at its end: a `tf.TensorArray`, a list of tensors or a list of Python's."""
    if isinstance(target, TensorArray):
        return target.write(target.size(), element)
    if isinstance(target, Tensor):
        return tensor_list_push_back(target, element)
    target.append(element)
    return target


class TensorList:
    """A list of tensors in the graph, used like a list. Elements have ``shape`` and ``dtype``."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.dtype, self.shape = dtype, shape
        self.list_: Any = list_parts.empty_tensor_list(shape, dtype)

    def append(self, value: Any) -> None:
        """Adds an element."""
        self.list_ = tensor_list_push_back(self.list_, value)

    def pop(self) -> Any:
        """Takes the last element."""
        self.list_, value = list_parts.tensor_list_pop_back(self.list_, self.dtype)
        return value

    def clear(self) -> None:
        """Starts anew, without elements."""
        self.list_ = list_parts.empty_tensor_list(self.shape, self.dtype)

    def count(self) -> Any:
        """The number of elements: a scalar, int32."""
        return tensor_list_length(self.list_)

    def __getitem__(self, key: Any) -> Any:
        return list_parts.tensor_list_get_item(self.list_, key, self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.list_ = list_parts.tensor_list_set_item(self.list_, key, value)


class MatchDType(NamedTuple):
    """In ``return_dtypes`` of `wrap_py_func`: the dtype of the argument of this number."""

    arg_number: int


def wrap_py_func(
    f: Callable[..., Any],
    return_dtypes: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    use_dummy_return: bool = False,
) -> Any:
    """``f(*args, **kwargs)`` in each run, by `tf.py_function`; arguments that are no tensors reach it as they are.

    ``return_dtypes`` are dtypes or `MatchDType`s, one or several. With ``use_dummy_return`` the result is 1, of
    int32. Raises `ValueError` for both, and for a `MatchDType` of an argument that is no tensor.
    """
    if return_dtypes and use_dummy_return:
        raise ValueError("if use_dummy_return is True, return_dtypes must be empty")
    named = dict(kwargs or {})
    every = [*args, *named.values()]
    places = [i for i, a in enumerate(every) if is_one_tensor(a)]

    def called(*tensors: Any) -> Any:
        given = list(every)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        result = f(*given[: len(args)], **dict(zip(named, given[len(args) :], strict=True)))
        return 1 if use_dummy_return else result

    def dtype_of(wanted: Any) -> Any:
        if not isinstance(wanted, MatchDType):
            return wanted
        argument = args[wanted.arg_number]
        if not is_one_tensor(argument):
            raise ValueError(
                f"argument {wanted.arg_number} was used with MatchDType and must be a tf.Tensor, but was "
                f"{type(argument)} instead"
            )
        return argument.dtype

    if use_dummy_return:
        kinds: Any = dtypes.int32
    elif isinstance(return_dtypes, (list, tuple)) and not isinstance(return_dtypes, MatchDType):
        kinds = tuple(dtype_of(each) for each in return_dtypes)
    else:
        kinds = dtype_of(return_dtypes)
    return py_function(called, [every[i] for i in places], kinds)
