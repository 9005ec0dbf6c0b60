"""NVIDIA's compiler accepts the CUDA C that is generated; needs the CUDA toolkit, not a GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dataflow.kernels.conv_geometry import problem_of
from dataflow.kernels.cuda.channels import Channels, each_source, sums_source
from dataflow.kernels.cuda.conv import conv_source
from dataflow.kernels.cuda.depthwise import depthwise_source
from dataflow.kernels.cuda.fused import fused_source
from dataflow.kernels.cuda.indexing import (
    RADIX_SCAN,
    change_source,
    gather_source,
    sort_source,
)
from dataflow.kernels.cuda.philox import normal_source, philox_source
from dataflow.kernels.cuda.pooling import pooling_source
from dataflow.kernels.cuda.rows import rows_source
from dataflow.kernels.cuda.source import FLOATS
from dataflow.kernels.cuda.updates import update_source
from dataflow.kernels.fused.instructions import INSTRUCTIONS
from dataflow.kernels.fused.program import Program
from dataflow.kernels.fused.tracing import trace
from dataflow.kernels.training import _adam_by_powers, _momentum
from dataflow.windows import window

pytestmark = pytest.mark.skipif(
    shutil.which("nvcc") is None, reason="no CUDA toolkit: nvcc is not here"
)


def sources() -> dict[str, str]:
    steps: list[tuple[str, tuple[int, ...]]] = []
    last = 0
    for op_type, instruction in INSTRUCTIONS.items():
        if instruction.is_bool:
            continue
        steps.append((op_type, (last, 1) if "{1}" in instruction.text else (last,)))
        last = 1 + len(steps)
    found = {}
    for dtype in ("float32", "float64"):
        for reduction in ("", "Sum"):
            program = Program(2, tuple(steps), dtype, reduction)
            found[f"{dtype}{reduction}"] = fused_source(program, "fb", 3, "long long")
    truths = (("Greater", (0, 1)), ("LogicalNot", (3,)), ("LogicalAnd", (4, 2)))
    found["truths"] = fused_source(Program(3, truths, "float32"), "fsf", 1)
    for name, rule, arrays, scalars in (
        ("momentum", _momentum, 2, (..., ..., True)),
        ("adam", _adam_by_powers, 3, (..., ..., ..., ..., ..., ..., False)),
    ):
        for by_rows in (False, True):
            traced = trace(rule, arrays, scalars, "float32", by_rows)
            assert traced is not None
            letters = "pn" + "p" * (sum(s is ... for s in scalars) - 2)
            text = update_source(traced.spec, traced.changed, letters)
            found[f"{name}{by_rows}"] = text
    for dtype in ("uint64", *FLOATS):
        found[f"philox_{dtype}"] = philox_source(dtype)
    found |= {
        "normal_float32": normal_source("float32"),
        "normal_float64": normal_source("float64"),
    }
    return {**found, **windows(), **rows()}


def rows() -> dict[str, str]:
    found = {}
    for dtype in FLOATS:
        for kernel in ("softmax", "log_softmax", "cross_entropy", "sparse_cross_entropy"):
            found[kernel + dtype] = rows_source(kernel, dtype, np.int32)
        layout = Channels(40, 1 if dtype == "float32" else 21)
        for kernel in ("channel_sums", "moments", "gradient_sums"):
            found[kernel + dtype] = sums_source(kernel, dtype, layout, "int")
        for kernel in ("normalize", "normalize_gradient"):
            found[kernel + dtype] = each_source(kernel, dtype, layout, "int")
        for op in ("Add", "Sub", "Update"):
            found[op + dtype] = change_source(op, dtype, 128, "int")
    for unit in (16, 8, 4, 2, 1):
        found[f"gather{unit}"] = gather_source(unit, 32, "int64", "long long")
    found["scan"] = RADIX_SCAN
    return {**found, "first": sort_source("int64", True), "next": sort_source("int32", False)}


def windows() -> dict[str, str]:
    rows, columns = window(28, 5, 2, 1, "SAME"), window(20, 3, 1, 2, "VALID")
    found = {}
    for dtype, vector in (("float16", 8), ("float32", 4), ("float64", 1)):
        problem = problem_of((2, 28, 20, 8), (5, 3, 8, 4), [rows, columns])
        for kernel in ("im2col", "col2im"):
            found[kernel + dtype] = conv_source(kernel, dtype, problem, vector, "int")
        for kernel in ("depthwise", "depthwise_input", "depthwise_filter"):
            found[kernel + dtype] = depthwise_source(kernel, dtype, (rows, columns), 8, 2)
        axes = (1, rows, columns, 8)
        for kernel in ("max_pool", "max_pool_gradient", "first_maximum"):
            found[kernel + dtype] = pooling_source(kernel, dtype, axes, "int")
        for kernel in ("avg_pool", "avg_pool_gradient"):
            found[kernel + dtype] = pooling_source(kernel, dtype, axes, "int")
    found["max_pool_int"] = pooling_source("max_pool", "int64", (rows, columns), "long long")
    return found


def together(found: dict[str, str]) -> str:
    """One text: a namespace for each source, as the compiler takes a second to start."""
    include = "#include <cuda_fp16.h>"
    parts = [include]
    for name, text in found.items():
        text = re.sub(r"(__global__ void \w+)\(", rf"\1_{name}(", text.replace(include, ""))
        undefined = "".join(f"#undef {m}\n" for m in re.findall(r"#define (\w+)", text))
        parts.append(f"namespace of_{name} {{\n{text}\n}}\n{undefined}")
    return "\n".join(parts)


def test_nvcc_compiles_everything(tmp_path: Path) -> None:
    found = sources()
    (tmp_path / "all.cu").write_text(together(found))
    done = subprocess.run(
        ["nvcc", "-std=c++14", "-arch=sm_90", "-cubin", "all.cu"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    cubin = (tmp_path / "all.cubin").read_bytes()
    for name, text in found.items():
        for kernel in re.findall(r"__global__ void (\w+)\(", text):
            assert f"{kernel}_{name}".encode() in cubin
