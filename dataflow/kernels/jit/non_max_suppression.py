"""Suppression of boxes that overlap better ones, in machine code: one box after the other is
compared with those that are kept, until one of them hides it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.kernels.jit.compiler import JitEntry, address_of, compile_source, table_fields

#: Numbers of a box: the lower corner's y and x, the upper corner's y and x, the area.
_NUMBERS = 5


def _box(name: str, index: str) -> list[str]:
    lines = [
        f"  %{name}.first = mul i64 {index}, {_NUMBERS}",
        f"  %{name}.at = getelementptr float, ptr %boxes, i64 %{name}.first",
    ]
    for i in range(_NUMBERS):
        lines.append(f"  %{name}.at{i} = getelementptr float, ptr %{name}.at, i64 {i}")
        lines.append(f"  %{name}{i} = load float, ptr %{name}.at{i}")
    return lines


def _shared_side(axis: int) -> list[str]:
    """How long both boxes are together along an axis."""
    low, high = axis, axis + 2
    return [
        f"  %later{axis} = fcmp ogt float %a{low}, %b{low}",
        f"  %begin{axis} = select i1 %later{axis}, float %a{low}, float %b{low}",
        f"  %sooner{axis} = fcmp olt float %a{high}, %b{high}",
        f"  %end{axis} = select i1 %sooner{axis}, float %a{high}, float %b{high}",
        f"  %length{axis} = fsub float %end{axis}, %begin{axis}",
        f"  %some{axis} = fcmp ogt float %length{axis}, 0.0",
        f"  %side{axis} = select i1 %some{axis}, float %length{axis}, float 0.0",
    ]


def source() -> str:
    """``suppress(table)``: how many boxes are kept; their numbers are in ``kept``."""
    kinds = {"boxes": "ptr", "kept": "ptr", "count": "i64", "most": "i64", "threshold": "double"}
    lines = [
        "define i64 @suppress(ptr %table) {",
        "entry:",
        *table_fields(kinds),
        "  %limit = fptrunc double %threshold to float",
        "  br label %head",
        "head:",
        "  %i = phi i64 [0, %entry], [%i.next, %onward]",
        "  %found = phi i64 [0, %entry], [%found.next, %onward]",
        "  %left = icmp slt i64 %i, %count",
        "  %room = icmp slt i64 %found, %most",
        "  %goes = and i1 %left, %room",
        "  br i1 %goes, label %look, label %done",
        "look:",
        *_box("a", "%i"),
        "  br label %test",
        "test:",
        "  %j = phi i64 [0, %look], [%j.next, %apart]",
        "  %more = icmp slt i64 %j, %found",
        "  br i1 %more, label %compare, label %keep",
        "compare:",
        "  %better.at = getelementptr i64, ptr %kept, i64 %j",
        "  %better = load i64, ptr %better.at",
        *_box("b", "%better"),
        *_shared_side(0),
        *_shared_side(1),
        "  %shared = fmul float %side0, %side1",
        "  %areas = fadd float %b4, %a4",
        "  %union = fsub float %areas, %shared",
        "  %ratio = fdiv float %shared, %union",
        "  %over = fcmp ogt float %ratio, %limit",
        "  %has.area = fcmp ogt float %union, 0.0",
        "  %hidden = and i1 %over, %has.area",
        "  br i1 %hidden, label %onward, label %apart",
        "apart:",
        "  %j.next = add i64 %j, 1",
        "  br label %test",
        "keep:",
        "  %place = getelementptr i64, ptr %kept, i64 %found",
        "  store i64 %i, ptr %place",
        "  %one.more = add i64 %found, 1",
        "  br label %onward",
        "onward:",
        "  %found.next = phi i64 [%found, %compare], [%one.more, %keep]",
        "  %i.next = add i64 %i, 1",
        "  br label %head",
        "done:",
        "  ret i64 %found",
        "}",
    ]
    return "\n".join([*lines, ""])


def _compile() -> Callable[[bytes], int]:
    (address,) = compile_source(source(), "suppress")
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(address)


_SUPPRESS = JitEntry(_compile)
_pack = struct.Struct("4qd").pack


def suppressed(boxes: Any, most: int, threshold: float) -> Any:
    """The numbers of at most ``most`` boxes that none before them hides; ``None`` where there is no
    machine code (yet).

    ``boxes`` [n, 5], float32, the best first: the lower corner's y and x, the upper corner's, area.
    One hides another when their intersection over union is above ``threshold``.
    """
    function = _SUPPRESS.get() if boxes.dtype.char == "f" else None
    if function is None:
        return None
    boxes = np.ascontiguousarray(boxes)
    kept = np.empty(min(most, len(boxes)), np.int64)
    fields = address_of(boxes), address_of(kept), len(boxes), len(kept), float(threshold)
    return kept[: function(_pack(*fields))]
