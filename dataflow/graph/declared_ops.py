"""Ops that a row declares: what their outputs are like follows from nothing but the row."""

from __future__ import annotations

import sys
from typing import Any

from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import define_op, not_differentiable


def declare_op(
    op_type: str, signature: str, what: str, shape: Any = (), *, attrs: str = "", **options: Any
) -> OpDef:
    """An op without a gradient, and without a shape rule of its own.

    ``what`` is its docstring. ``shape``: the dims of its output (``()`` for a scalar, ``None`` where
    nothing is known), a list with those of each output, or the name of the attribute that holds
    such a list. ``signature``, ``attrs`` and ``options`` are those of `define_op`.
    """

    def rule(*inputs: Any, **attrs: Any) -> list[Any]:
        if isinstance(shape, str):
            return list(attrs[shape])
        each = shape if isinstance(shape, list) else [shape] * len(op.outputs)
        dims: list[Any] = []
        for output, one in zip(op.outputs, each, strict=True):
            count = len(attrs[output.type_list_attr]) if output.type_list_attr else 1
            dims += [one] * count
        return dims

    rule.__name__ = op_type
    rule.__module__ = sys._getframe(1).f_globals["__name__"]  # the op's family
    rule.__doc__ = what
    op: OpDef = define_op(op_type, signature, attrs=attrs, **options)(rule)
    not_differentiable(op)
    return op
