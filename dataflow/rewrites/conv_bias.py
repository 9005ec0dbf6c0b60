"""Joins a convolution, the bias added to it, and a rectifier into one kernel.

The sums are still in registers when the bias is added, so that the result is written once. Every number is
computed as by the separate nodes. The gradient of the rectifier needs its result only.
"""

from __future__ import annotations

from typing import NamedTuple

from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.working_graph import WorkingGraph

_ATTRS = ("strides", "padding", "explicit_paddings", "dilations")


class _Found(NamedTuple):
    bias: Tensor
    add: Operation
    relu: Operation | None


def run(work: WorkingGraph, journal: list[Hit]) -> None:
    """Joins them wherever no other node needs the convolution alone."""
    ops = work.needed()
    needed = set(ops)
    fetched = work.fetched_values()
    for op in ops:
        if op.type == "Conv2D":
            found = _found(op, needed, fetched)
            if found is not None:
                _join(work, journal, op, found)


def _found(conv: Operation, needed: set[Operation], fetched: set[Tensor]) -> _Found | None:
    output, filters = conv.outputs[0], conv.inputs[1].dims
    x = conv.inputs[0].dims
    if output.dtype.name != "float32" or conv.attrs["data_format"] != "NHWC" or output in fetched:
        return None
    if x is None or filters is None or len(x) != 4 or x[3] is None or x[3] != filters[2]:
        return None  # perhaps in groups
    add = _only_use(output, needed)
    if add is None or add.type not in ("BiasAdd", "Add", "AddV2"):
        return None
    if add.inputs[0] is not output or add.inputs[1].dims != (filters[3],) or filters[3] is None:
        return None
    if add.attrs.get("data_format", "NHWC") != "NHWC" or not _is_free(add, conv):
        return None
    biased = add.outputs[0]
    relu = None
    if biased not in fetched:  # its shape is that of the rectifier's result
        relu = _only_use(
            biased, {op for op in biased.uses if op in needed and not op.op_def.shape_only}
        )
    if relu is not None and relu.type == "Relu" and _is_free(relu, conv):
        return _Found(add.inputs[1], add, relu)
    # A loop over the elements that follows anyway adds the bias, too.
    uses = [op for op in biased.uses if op in needed]
    if any(op.type in INSTRUCTIONS for op in uses):
        return None
    return _Found(add.inputs[1], add, None)


def _only_use(tensor: Tensor, needed: set[Operation]) -> Operation | None:
    uses = [op for op in dict.fromkeys(tensor.uses) if op in needed]
    return uses[0] if len(uses) == 1 else None


def _is_free(op: Operation, conv: Operation) -> bool:
    """True for a node that may run with the convolution; also asked of the convolution's own edges."""
    edges = (*op.control_inputs, *op.control_outputs, *conv.control_inputs, *conv.control_outputs)
    return not edges and op.device == conv.device


def _join(work: WorkingGraph, journal: list[Hit], conv: Operation, found: _Found) -> None:
    from dataflow.ops.conv_bias import conv2d_bias_op  # most plans have none

    relu = found.relu
    last = found.add if relu is None else relu
    old = last.outputs[0]
    attrs = {name: conv.attrs[name] for name in _ATTRS}
    with use_graph(work.graph):
        work.begin(old)
        result = conv2d_bias_op(
            *conv.inputs, found.bias, relu=relu is not None, output_shape=old.dims, **attrs
        )
        work.origin[result.op] = work.origin[conv]
        work.replace(old, result)
        if relu is not None:  # what asks for its shape
            work.replace(found.add.outputs[0], result)
    removed = (conv, found.add) if relu is None else (conv, found.add, relu)
    journal.append(
        Hit(
            "convolution",
            "relu(conv(x) + b) -> one kernel" if relu is not None else "conv(x) + b -> one kernel",
            old.name,
            result.name,
            tuple(op.name for op in removed),
            (result.op.name,),
        )
    )
