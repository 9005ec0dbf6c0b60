"""Ops that compute element by element, and regions of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow.kernels.activation import softplus
from dataflow.kernels.array_types import Array
from dataflow.kernels.jit.call_list import At, CallWriter
from dataflow.kernels.jit.call_writers.base import (
    CannotWrite,
    Node,
    NotCompiled,
    must,
    only,
    writes,
)
from dataflow.kernels.jit.expression import (
    ROW_MEAN,
    ROW_SUM,
    ROW_SUMS,
    SELECT_ROWS,
    TRUTH_AS_NUMBER,
    Region,
    elementary_steps,
)
from dataflow.kernels.jit.native_ufunc import Mapping, NativeUfunc, pieces
from dataflow.kernels.jit.op_table import INSTRUCTIONS, TABLE
from dataflow.kernels.jit.regions import with_columns
from dataflow.kernels.jit.row_mapping import RowMapping, are_summed
from dataflow.kernels.jit.tracer import Untraceable, region_of

#: Steps times elements from which on a loop is compiled; for fewer, NumPy's are as good.
_WORTH_COMPILING = 1 << 14
#: Ops composed of more steps are compiled for any number of elements.
_FEW_STEPS = 2


#: Ops whose kernels compute what stands in the table.
BY_TABLE = frozenset(INSTRUCTIONS) | {"Select", "SelectV2"}


def function_of(kernel: Any) -> Callable[..., Any] | None:
    """The function of a kernel that is a `NativeUfunc` and nothing else."""
    found = getattr(kernel, "func", None)
    return found.function if isinstance(found, NativeUfunc) else None


def by_table(w: CallWriter, node: Node) -> None:
    """An op of the table."""
    inputs = node.inputs
    if node.op_type == "Pow" and node.results[0].dtype.kind != "f":
        raise CannotWrite  # NumPy's loop raises for a negative exponent
    if node.op_type == "Select" and inputs[0].ndim < inputs[1].ndim:  # a bool for each row
        inputs = [inputs[0].reshape(-1, *[1] * (inputs[1].ndim - 1)), *inputs[1:]]
    _step(w, node.op_type, inputs, node.results[0])


def traced(w: CallWriter, node: Node) -> None:
    """An op whose kernel is a function of arrays, as its steps."""
    function = function_of(node.kernel)
    if function is None:
        raise CannotWrite
    try:
        region = region_of(function, len(node.inputs), node.results[0].dtype.name)
    except Untraceable:
        raise CannotWrite from None
    _region(w, region, node.inputs, node.results)


def _step(w: CallWriter, op_type: str, operands: Sequence[Array], out: Array) -> None:
    """One op of the table."""
    row = TABLE[op_type]
    if row.composed is not None and len(row.composed.steps) > _FEW_STEPS and out.dtype.kind == "f":
        try:
            _loop_of_step(w, op_type, operands, out)
            return
        except CannotWrite:
            pass
    if row.ufunc and w.ufunc(getattr(np, row.ufunc), *operands, out):
        return
    if row.composed is not None and not row.ufunc:
        before = w.mark()
        try:
            _composed(w, row.composed, operands, out)
        except CannotWrite:
            w.rewind(before)
        else:
            return
    if out.dtype.kind != "f":
        raise CannotWrite
    _loop_of_step(w, op_type, operands, out)


def _loop_of_step(w: CallWriter, op_type: str, operands: Sequence[Array], out: Array) -> None:
    n = len(operands)
    steps = ((op_type, tuple(range(n))),)
    loop(w, Mapping, out.dtype.char, steps, (n,), operands, [out], compiles=True)


def _composed(w: CallWriter, composed: Any, operands: Sequence[Array], out: Array) -> None:
    """The steps of a composed op, the last of which writes to ``out``."""
    temporary: list[Array] = []
    left = len(composed.steps)

    def step(op: str, *items: Any) -> Array:
        nonlocal left
        left -= 1
        arrays = [w.constant(out.dtype.type(x)) if type(x) is float else x for x in items]
        if left:
            to = w.buffer(out.shape, np.bool_ if TABLE[op].is_bool else out.dtype)
            temporary.append(to)
        else:
            to = out
        must(bool(TABLE[op].ufunc) and w.ufunc(getattr(np, TABLE[op].ufunc), *arrays, to))
        return to

    composed.evaluate(list(operands), step)
    for x in temporary:
        w.release(x)


@functools.lru_cache(maxsize=4096)
def _mapping(
    by_rows: bool, char: str, steps: Any, results: tuple[int, ...], adds: bool
) -> Mapping | None:
    if by_rows:
        return RowMapping.of_rows(char, steps, results)
    return Mapping.of(char, steps, results, adds)


def loop(
    w: CallWriter,
    kind: type[Mapping],
    char: str,
    steps: Any,
    results: tuple[int, ...],
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    adds: bool = False,
    compiles: bool = False,
) -> None:
    """One of our own loops over arrays that are broadcast to one shape; ``compiles``: also for few elements."""
    mapping = _mapping(kind is RowMapping, char, steps, results, adds)
    if mapping is None:
        raise CannotWrite
    shape = np.broadcast_shapes(*(x.shape for x in (*inputs, *outputs)))
    numbers = {i for i, x in enumerate(inputs) if w.is_constant(x)}
    arrays = [x.reshape(1) if not x.ndim and shape else x for x in (*inputs, *outputs)]
    layout = mapping.layout(shape, arrays, len(inputs), numbers)
    if layout is None:
        raise CannotWrite
    function = layout.loop.get() or layout.loop.load()
    if function is None:
        compiles |= math.prod(shape) * max(len(steps), 1) >= _WORTH_COMPILING
        if compiles and layout.loop.begin():
            raise NotCompiled
        raise CannotWrite
    passed = layout.numbers or (False,) * len(arrays)
    parts = (
        pieces(layout, function.letters)
        if layout.shared
        else [(layout.lengths, (0,) * len(arrays))]
    )
    calls = []
    for lengths, offsets in parts:
        given = zip(arrays, passed, offsets, strict=True)
        fields = [float(x.item()) if n else At(x, by) for x, n, by in given]
        calls.append((function.address, [*lengths, *fields, *layout.strides]))
    w.share(calls)


def _region(
    w: CallWriter, region: Region, inputs: Sequence[Array], outputs: Sequence[Array]
) -> None:
    """The results of a region: by one loop, or step by step."""
    before = w.mark()
    kind = RowMapping if any(op in ROW_SUMS for op, _ in region.steps) else Mapping
    steps, results = elementary_steps(region)
    by_loop = functools.partial(loop, w, kind, region.dtype, steps, results)
    operands = _with_columns(region, inputs)
    try:
        by_loop(operands, outputs)
        return
    except CannotWrite:
        w.rewind(before)
    try:
        _steps(w, region, inputs, outputs)
    except CannotWrite:
        w.rewind(before)
        by_loop(operands, outputs, compiles=True)


def _with_columns(region: Region, inputs: Sequence[Array]) -> list[Array]:
    return with_columns(list(inputs), region.rows, max((x.ndim for x in inputs), default=0))


def _steps(
    w: CallWriter, region: Region, inputs: Sequence[Array], outputs: Sequence[Array]
) -> None:
    dtype = np.dtype(region.dtype)
    values: list[Array] = list(_with_columns(region, inputs))
    wanted = dict(zip(region.results, outputs, strict=True))
    last = {o: i for i, (_, operands) in enumerate(region.steps) for o in operands}
    n = region.num_inputs
    for i, (op, operands) in enumerate(region.steps):
        if op == "Const":
            values.append(w.constant(dtype.type(operands[0])))
            continue
        items = [values[o] for o in operands]
        to = wanted.get(n + i)
        if to is None:
            shape = np.broadcast_shapes(*(x.shape for x in items))
            if op in ROW_SUMS:
                shape = (*shape[:-1], 1)
            row = TABLE.get(op)
            to = w.buffer(shape, np.bool_ if row is not None and row.is_bool else dtype)
        _any_step(w, op, items, to)
        values.append(to)
        for o in set(operands):
            if o >= n and last[o] == i and o not in wanted and values[o].base is not None:
                if region.steps[o - n][0] != "Const":
                    w.release(values[o])


def _any_step(w: CallWriter, op: str, items: list[Array], to: Array) -> None:
    if op in ROW_SUMS:
        row_sums(w, items[0], to)
        if op == ROW_MEAN:
            count = w.constant(to.dtype.type(items[0].shape[-1]))
            must(w.ufunc(np.true_divide, to, count, to))
    elif op == "AddN":
        add_up(w, items, to)
    elif op == "ZerosLike":
        must(w.fill(to, 0))
    elif op == SELECT_ROWS:
        _step(w, "SelectV2", items, to)
    elif op == TRUTH_AS_NUMBER:
        raise CannotWrite  # by a loop of the whole region
    else:
        _step(w, op, items, to)


@writes("_FusedRegion", "_FusedRows")
def _fused_region(w: CallWriter, node: Node) -> None:
    only(node)
    region = node.attrs["region"]
    results = list(node.results)[: len(region.results)]
    joined = node.attrs.get("joined", ())
    for i, gone in enumerate(node.attrs.get("without_axis", ())):
        if gone:
            results[i] = results[i].reshape(*results[i].shape, 1)
    _region(w, region, node.inputs, results)
    for whole, parts in zip(node.results[len(results) :], joined, strict=True):
        length = whole.shape[-1] // len(parts)
        for place, i in enumerate(parts):
            if np.may_share_memory(results[i], whole):
                continue
            must(w.copy(results[i], whole[..., place * length : (place + 1) * length]))


@writes("_Fused")
def _fused(w: CallWriter, node: Node) -> None:
    program = node.attrs["program"]
    if not program.reduction:
        only(node)
        _region(w, program.chain, node.inputs, node.results)
        return
    if not program.over_rows or program.reduction != "Sum":
        raise CannotWrite
    shape = np.broadcast_shapes(*(x.shape for x in node.inputs))
    chain = w.buffer(shape, program.dtype)
    _region(w, program.chain, node.inputs, [chain])
    total = node.results[0]
    must(w.fill(total, 0))
    only(node)
    to = total if program.keep_dims else total.reshape(*total.shape, 1)
    must(w.reduce(np.add, chain, chain.ndim - 1, to))
    w.release(chain)


@writes("Softplus")
def _softplus(w: CallWriter, node: Node) -> None:
    only(node)
    if not node.inputs[0].ndim:
        raise CannotWrite
    region = region_of(softplus.function, 1, node.results[0].dtype.name)
    _region(w, region, node.inputs, node.results)


@writes("AddN")
def _add_n(w: CallWriter, node: Node) -> None:
    only(node)
    add_up(w, node.inputs, node.results[0])


def add_up(w: CallWriter, items: Sequence[Array], to: Array) -> None:
    if len(items) == 1:
        must(w.copy(items[0], to))
        return
    must(w.ufunc(np.add, items[0], items[1], to))
    for x in items[2:]:
        must(w.ufunc(np.add, to, x, to))


@writes("BiasAdd")
def _bias_add(w: CallWriter, node: Node) -> None:
    only(node)
    if node.attrs["data_format"] == "NCHW":
        raise CannotWrite
    must(w.ufunc(np.add, *node.inputs, node.results[0]))


def row_sums(w: CallWriter, x: Array, to: Array, variants: Sequence[int] = (0, 1, 2)) -> None:
    """The sum along the last axis, which ``to`` has with size 1: as `reduce.row_sums` for these sizes."""
    length = x.shape[-1]
    rows = x.size // max(length, 1)
    if len(variants) > 1 and are_summed(x.shape) and x.strides[-1] == x.itemsize:
        before = w.mark()
        try:
            loop(w, RowMapping, x.dtype.char, ((ROW_SUM, (0,)),), (1,), [x], [to])
            return
        except CannotWrite:
            w.rewind(before)
    if (
        0 in variants
        and x.flags.c_contiguous
        and 8 < length <= 1024
        and x.size >= 256
        and rows >= 8
    ):
        ones = w.constant(np.ones((length, 1), x.dtype))
        if w.product(x.reshape(rows, length), ones, to.reshape(rows, 1)):
            return
    if 1 in variants:
        must(w.fill(to, 0) and w.reduce(np.add, x, x.ndim - 1, to))
        return
    raise CannotWrite
