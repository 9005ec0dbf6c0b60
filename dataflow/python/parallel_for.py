"""``tensorflow.python.ops.parallel_for``: a function of each number below ``iters``, its results stacked.

TensorFlow turns the function into ops on whole batches. Here it runs in a loop, so that any op may be in
it; the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any

from dataflow.autodiff.gradients import gradients
from dataflow.graph import default_stacks
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.nest import flatten, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.ops.array import concat, expand_dims, fill, gather, reshape, shape, size, stack
from dataflow.ops.assertions import assert_equal
from dataflow.ops.comparison import less
from dataflow.ops.control_flow import group
from dataflow.ops.functional import vectorized_map
from dataflow.ops.indexed_slices import IndexedSlices
from dataflow.ops.reduce import reduce_max, reduce_mean, reduce_sum
from dataflow.ops.sources import placeholder_with_default
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.static_value import static_value
from dataflow.ops.tensor_array import TensorArray
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import dimension_value

__all__ = [
    "PFOR_CONFIG_ARG",
    "PForConfig",
    "batch_jacobian",
    "for_loop",
    "jacobian",
    "pfor",
    "vectorized_map",
]

#: The argument by which a function asks for a `PForConfig`.
PFOR_CONFIG_ARG = "pfor_config"

#: The largest number of calls of which the graph has the ops of each.
_MOST_CALLS = 256
#: The largest number of such ops, of a function without a loop of its own.
_MOST_OPS = 2000


class _Reduced(Exception):
    """What a function wants to reduce over all numbers, which is not known yet."""

    def __init__(self, function: Callable[..., Any], values: Sequence[Any]) -> None:
        self.function, self.values = function, values


class PForConfig:
    """Lets the function of a `pfor` use what it computes for all the other numbers, too."""

    def __init__(self) -> None:
        self._known: list[Any] = []
        self._place = 0

    def reduce(self, fn: Callable[..., Any], *args: Any) -> Any:
        """``fn`` of the arguments, each stacked over all numbers: the same value for each number."""
        place, self._place = self._place, self._place + 1
        if place == len(self._known):
            raise _Reduced(fn, args)
        return self._known[place]

    def reduce_concat(self, x: Any) -> Any:
        """``x`` of all numbers, stacked."""
        return self.reduce(lambda stacked: stacked, x)

    def reduce_mean(self, x: Any) -> Any:
        """The mean of ``x`` over all numbers."""
        return self.reduce(lambda stacked: reduce_mean(stacked, axis=0), x)

    def reduce_sum(self, x: Any) -> Any:
        """The sum of ``x`` over all numbers."""
        return self.reduce(lambda stacked: reduce_sum(stacked, axis=0), x)

    def begin(self) -> None:
        """The function is called again: its reductions are counted anew."""
        self._place = 0

    def know(self, value: Any) -> None:
        """The value of the next reduction."""
        self._known.append(value)

    @property
    def has_reductions(self) -> bool:
        """Whether the function reduces anything, as far as it has run."""
        return bool(self._known)


def for_loop(
    loop_fn: Callable[[Any], Any],
    loop_fn_dtypes: Any,
    iters: Any,
    parallel_iterations: int | None = None,
) -> Any:
    """``loop_fn(i)`` for each i below ``iters``, stacked: shapes [iters, ...]; ``None`` stays ``None``.

    Raises `ValueError` where it has another number of results than ``loop_fn_dtypes``.
    """
    types = [t.base_dtype for t in flatten(loop_fn_dtypes)]
    nothing: list[bool] = []

    def body(i: Tensor, *arrays: Any) -> tuple[Any, ...]:
        made = flatten(loop_fn(i))
        if len(made) != len(types):
            raise ValueError(
                f"Number of expected outputs, {len(types)}, does not match the number of actual "
                f"outputs, {len(made)}, from loop_fn"
            )
        nothing[:] = [x is None for x in made]
        written = (
            array if x is None else array.write(i, expand_dims(x, 0))
            for array, x in zip(arrays, made, strict=True)
        )
        return (i + 1, *written)

    options: dict[str, Any] = (
        {} if parallel_iterations is None else {"parallel_iterations": parallel_iterations}
    )
    arrays = [TensorArray(dtype, size=iters, infer_shape=False) for dtype in types]
    results = while_loop(
        lambda i, *_: less(i, iters), body, [0, *arrays], return_same_structure=True, **options
    )[1:]
    if not nothing:
        return None
    flat = [None if none else a.concat() for none, a in zip(nothing, results, strict=True)]
    return pack_like(loop_fn_dtypes, flat)


def pfor(
    loop_fn: Callable[..., Any],
    iters: Any,
    fallback_to_while_loop: bool = True,
    parallel_iterations: int | None = None,
) -> Any:
    """``loop_fn(i)`` for each i below ``iters``, stacked: shapes [iters, ...].

    Its results may be sparse, too; an operation gives an operation that runs all of them, and ``None``
    stays ``None``. With an argument ``pfor_config`` it is given a `PForConfig`. It is called more than
    once as the loop is built. Raises `ValueError` for ``parallel_iterations`` below 2, or with reductions.
    """
    config = PForConfig() if _takes_config(loop_fn) else None
    _check_parallel(parallel_iterations)

    def call(i: Any) -> Any:
        if config is None:
            return loop_fn(i)
        config.begin()
        return loop_fn(i, **{PFOR_CONFIG_ARG: config})

    while True:
        try:
            return _stacked(call, iters)
        except _Reduced as wanted:
            assert config is not None
            if parallel_iterations is not None:
                raise ValueError(
                    "parallel_iterations currently unsupported if reductions across iterations are performed."
                ) from None
            config.know(wanted.function(*_stacked(partial(_until_reduced, call), iters)))


def _until_reduced(call: Callable[[Any], Any], i: Any) -> list[Any]:
    """What is to be reduced, of one number."""
    try:
        call(i)
    except _Reduced as wanted:
        return list(wanted.values)
    raise ValueError("the function of pfor must make the same number of reductions for each i")


def _check_parallel(parallel_iterations: int | None) -> None:
    if parallel_iterations is None:
        return
    if parallel_iterations < 1:
        raise ValueError("parallel_iterations must be None or a positive integer")
    if parallel_iterations == 1:
        raise ValueError("Found parallel_iterations == 1. Use for_loop instead.")


def _takes_config(loop_fn: Callable[..., Any]) -> bool:
    if isinstance(loop_fn, partial) and PFOR_CONFIG_ARG in loop_fn.keywords:
        return False
    return PFOR_CONFIG_ARG in signature(loop_fn).parameters


def _stacked(call: Callable[[Any], Any], iters: Any) -> Any:
    """The results of ``call`` of each number below ``iters``, stacked."""
    if not default_stacks.default_graph().executes_eagerly:
        return _in_loop(call, iters)
    if not int(iters):  # the shapes are those of a loop that does not run
        from dataflow.functions.traced import function

        return function(lambda: _in_loop(call, iters), autograph=False)()
    return _of_calls(call, int(iters))


def _of_calls(call: Callable[[Any], Any], iters: int) -> Any:
    """The results of ``iters`` calls, stacked."""
    results = [call(convert_to_tensor(i)) for i in range(iters)]
    leaves = [[_Leaf(x) for x in flatten(result)] for result in results]
    columns = zip(*leaves, strict=True)
    return pack_like(results[0], [column[0].of_all(list(column)) for column in columns])


class _Leaf:
    """A result of one number, as tensors that can be stacked."""

    def __init__(self, value: Any) -> None:
        if isinstance(value, IndexedSlices):
            value = convert_to_tensor(value)
        self.kind = type(value)
        self.parts: list[Tensor] = []
        if isinstance(value, SparseTensor):
            self.parts = [value.indices, value.values, value.dense_shape]
        elif isinstance(value, Operation):
            with default_stacks.default_graph().control_dependencies([value]):
                self.parts = [convert_to_tensor(0)]
        elif value is not None:
            self.parts = [convert_to_tensor(value)]

    def of_all(self, leaves: list[_Leaf]) -> Any:
        """The stacked result, of the leaves of all numbers."""
        parts = list(zip(*(leaf.parts for leaf in leaves), strict=True))
        if issubclass(self.kind, SparseTensor):
            counts = stack([shape(values)[0] for values in parts[1]])
            return _sparse([concat(parts[0], 0), concat(parts[1], 0), stack(parts[2])], counts)
        return self.joined([stack(list(part)) for part in parts])

    def joined(self, parts: list[Tensor]) -> Any:
        """The result whose parts are stacked already; an operation's waits for all of them."""
        if issubclass(self.kind, Operation):
            return group(*parts)
        return parts[0] if parts else None


def _sparse(parts: list[Tensor], counts: Tensor) -> SparseTensor:
    """Sparse tensors as one, of parts that lie behind each other; ``counts`` says how many values each has."""
    from dataflow.ops.casts import cast
    from dataflow.ops.sequences import range_
    from dataflow.ops.tile import repeat

    indices, values, shapes = parts
    which = repeat(range_(shape(counts)[0]), counts)
    rows = expand_dims(cast(which, indices.dtype.base_dtype), 1)
    number = cast(shape(counts), shapes.dtype.base_dtype)
    whole = concat([number, reduce_max(shapes, axis=0)], 0)
    return SparseTensor(concat([rows, indices], 1), values, whole)


def _in_loop(call: Callable[[Any], Any], iters: Any) -> Any:
    """The stacked results, of a loop of the graph. A trial tells what they are; nothing of it runs."""
    graph = default_stacks.default_graph()
    before = len(graph.get_operations())
    trial = call(placeholder_with_default(fill([], 0), []))
    arrays, fixed = [], static_value(convert_to_tensor(iters))
    if fixed is not None and 0 < fixed <= _MOST_CALLS:
        # Written out where it is short, or where the gradients of another loop may be taken in it: those
        # of a loop that is outside cannot be taken in a loop.
        made = graph.get_operations()[before:]
        if len(made) * fixed <= _MOST_OPS or any(op.op_def.control_flow == "enter" for op in made):
            return _of_calls(call, int(fixed))
    kinds = [_Leaf(x) for x in flatten(trial)]
    for leaf in kinds:
        is_sparse = issubclass(leaf.kind, SparseTensor)
        for part in leaf.parts:
            is_known = part.dims is not None and None not in part.dims and not is_sparse
            arrays.append(
                TensorArray(
                    part.dtype.base_dtype,
                    size=iters,
                    infer_shape=False,
                    element_shape=part.dims if is_known else None,  # so that none has a shape, too
                    clear_after_read=not is_sparse,
                )
            )

    def body(i: Tensor, *arrays: Any) -> tuple[Any, ...]:
        parts = [part for x in flatten(call(i)) for part in _Leaf(x).parts]
        return (i + 1, *(a.write(i, part) for a, part in zip(arrays, parts, strict=True)))

    done = iter(
        while_loop(lambda i, *_: less(i, iters), body, [0, *arrays], return_same_structure=True)[1:]
    )
    results: list[Any] = []
    for leaf in kinds:
        mine = [next(done) for _ in leaf.parts]
        if issubclass(leaf.kind, SparseTensor):
            results.append(_sparse_of_arrays(mine, iters))
            continue
        joined = [array.stack() for array in mine]
        for tensor, part in zip(joined, leaf.parts, strict=True):
            if part.dims is not None:
                tensor.set_shape((None if fixed is None else int(fixed), *part.dims))
        results.append(leaf.joined(joined))
    return pack_like(trial, results)


def _sparse_of_arrays(arrays: list[Any], iters: Any) -> SparseTensor:
    from dataflow.ops.functional import map_fn
    from dataflow.ops.sequences import range_

    indices, values, shapes = arrays
    counts = map_fn(lambda i: shape(values.read(i))[0], range_(iters))
    return _sparse([indices.concat(), values.concat(), shapes.stack()], counts)


# ---- derivatives --------------------------------------------------------------------------------


def jacobian(
    output: Tensor, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Any:
    """The derivatives of each element of ``output`` by ``inputs``: shapes [*output.shape, *input.shape].

    ``None`` for an input that it does not depend on.
    """
    flat = flatten(inputs)
    known, sizes = output.shape, shape(output)
    rows = reshape(output, [-1])
    number = rows.dims[0] if rows.dims and rows.dims[0] is not None else size(rows)

    def of_element(i: Tensor) -> list[Any]:
        return gradients(gather(rows, i), flat)

    if use_pfor:
        found = pfor(of_element, number, parallel_iterations=parallel_iterations)
    else:
        types = [output.dtype] * len(flat)
        found = for_loop(of_element, types, number, parallel_iterations=parallel_iterations)
    for i, one in enumerate(found):
        if one is not None:
            found[i] = reshape(one, concat([sizes, shape(one)[1:]], 0))
            found[i].set_shape(known.concatenate(flat[i].shape))
    return pack_like(inputs, found)


def batch_jacobian(
    output: Tensor, inp: Tensor, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Any:
    """The derivatives of ``output[b]`` by ``inp[b]``: [batch, *output.shape[1:], *inp.shape[1:]].

    Raises `ValueError` for another first size, `InvalidArgumentError` where that shows as it runs.
    """
    known = output.shape
    if not known[:1].is_compatible_with(inp.shape[:1]):
        raise ValueError(
            f"Need first dimension of output shape ({known}) and inp shape ({inp.shape}) to match."
        )
    sizes, input_sizes = shape(output), shape(inp)
    with default_stacks.default_graph().control_dependencies(
        [assert_equal(sizes[0], input_sizes[0])]
    ):
        rows = reshape(output, [sizes[0], -1])
    number = shape(rows)[1]
    if known.is_fully_defined() and dimension_value(known[0]):
        number = convert_to_tensor(known.num_elements() // dimension_value(known[0]))

    def of_column(i: Tensor) -> Any:
        return gradients(gather(rows, i, axis=1), inp)[0]

    if use_pfor:
        found = pfor(of_column, number, parallel_iterations=parallel_iterations)
    else:
        found = for_loop(of_column, output.dtype, number, parallel_iterations=parallel_iterations)
    if found is None:
        return None
    from dataflow.ops.permute import transpose

    found = reshape(found, concat([[number], [input_sizes[0]], [-1]], 0))
    found = transpose(found, [1, 0, 2])
    made = reshape(found, concat([sizes, input_sizes[1:]], 0))
    made.set_shape(known.concatenate(inp.shape[1:]))
    return made
