"""``slim.model_analyzer``: which variables and ops a model has, and how large they are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]


def tensor_description(var: Any) -> str:
    """``(float32_ref 784x100) [78400, bytes: 313600]`` of a variable or a tensor."""
    dims = var.get_shape().as_list()
    count = math.prod(dims)
    dtype = var.dtype
    return (
        f"({dtype.name} {'x'.join(str(n) for n in dims)}) "
        f"[{count}, bytes: {count * dtype.base_dtype.size}]"
    )


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """Elements in all outputs of ``graph``; with ``print_info`` each op is listed.

    Outputs of unknown shape count as nothing, and are listed as such.
    """
    if print_info:
        print("---------")
        print("Operations: name -> (type shapes) [size]")
        print("---------")
    total = 0
    for op in graph.get_operations():
        size = 0
        shapes = []
        for output in op.outputs:
            shape = output.get_shape()
            dims = shape.as_list() if shape.is_fully_defined() else None
            size += 0 if dims is None else math.prod(dims)
            known = "<unknown>" if shape.ndims is None else "x".join(map(str, shape.as_list()))
            shapes.append(known or "")
        if print_info:
            print(op.name, "->", f"({op.type} {', '.join(shapes)}) [{size}]")
        total += size
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """``(elements, bytes)`` of all ``variables``; with ``print_info`` each is listed."""
    if print_info:
        print("---------")
        print("Variables: name (type shape) [size]")
        print("---------")
    total_size = total_bytes = 0
    for variable in variables:
        size = math.prod(variable.get_shape().as_list())
        total_size += size
        total_bytes += size * variable.dtype.base_dtype.size
        if print_info:
            print(variable.name, tensor_description(variable))
    if print_info:
        print("Total size of variables:", total_size)
        print("Total bytes of variables:", total_bytes)
    return total_size, total_bytes
