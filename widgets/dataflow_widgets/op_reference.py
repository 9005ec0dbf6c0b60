"""What is known of an op type: its docstring, shape rule, gradient and kernel, from the source."""

from __future__ import annotations

import inspect
from typing import Any

_MAX_CHARS = 6000


def about_op(op_type: str) -> list[tuple[str, str, bool]]:
    """Sections ``(title, text, is_code)`` for an op type; raises what the registry raises."""
    from dataflow.graph.registry import get_op
    from dataflow.kernels.loader import get_kernel

    definition = get_op(op_type)
    sections: list[tuple[str, str, bool]] = []
    if definition.__doc__:
        sections.append(("What it does", inspect.cleandoc(definition.__doc__), False))
    kernel = get_kernel(op_type)
    for title, function in (
        ("Shape rule", definition.shape_rule),
        ("Gradient", definition.gradient_function),
        ("Kernel", kernel.function if kernel is not None else None),
    ):
        source = _source(function)
        if source:
            sections.append((title, source, True))
    return sections or [("Nothing is known", f"{op_type} has no docstring and no source.", False)]


def _source(function: Any) -> str:
    if function is None:
        return ""
    try:
        return inspect.getsource(function)[:_MAX_CHARS]
    except (OSError, TypeError):
        return ""  # made by a decorator or in C: there is no text to show
