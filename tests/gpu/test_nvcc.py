"""NVIDIA's compilers accept the CUDA C that is generated; needs the CUDA toolkit, not a GPU.

Also without it, by NVRTC alone, as CuPy compiles (`tests.gpu.nvrtc`): for Turing, the oldest GPUs that
CUDA 13 knows, and for Hopper.
"""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dataflow.kernels.conv_geometry import problem_of
from dataflow.kernels.cuda.batch_norm import Channels, each_source, sums_source
from dataflow.kernels.cuda.concat import concat_source
from dataflow.kernels.cuda.conv import conv_source
from dataflow.kernels.cuda.depthwise import depthwise_source
from dataflow.kernels.cuda.dilation import dilation_source
from dataflow.kernels.cuda.elementwise import fused_source
from dataflow.kernels.cuda.gather_scatter import change_source, gather_source
from dataflow.kernels.cuda.local_response import lrn_source
from dataflow.kernels.cuda.optimizer_updates import update_source
from dataflow.kernels.cuda.philox import normal_source, philox_source
from dataflow.kernels.cuda.pooling import pooling_source
from dataflow.kernels.cuda.radix_sort import sort_source
from dataflow.kernels.cuda.row_regions import rows_source as fused_rows_source
from dataflow.kernels.cuda.row_threads import row_form
from dataflow.kernels.cuda.softmax import rows_source
from dataflow.kernels.cuda.source import FLOATS
from dataflow.kernels.jit.expression import Program
from dataflow.kernels.jit.op_table import INSTRUCTIONS
from dataflow.kernels.jit.rule_tracer import trace
from dataflow.kernels.optimizer_rules import adam_by_powers, ftrl, momentum
from dataflow.kernels.random import _truncated
from dataflow.windows import window
from tests.gpu import nvrtc
from tests.gpu.test_regions_cuda import FORMULAS, REGION
from tests.gpu.test_row_regions_cuda import NORM


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
            region = Program(2, tuple(steps), dtype).chain
            text = fused_source(region, "fb", 3, "long long", bool(reduction))
            found[f"{dtype}{reduction}"] = text
    truths = (("Greater", (0, 1)), ("LogicalNot", (3,)), ("LogicalAnd", (4, 2)))
    found["truths"] = fused_source(Program(3, truths, "float32").chain, "fsf", 1)
    for name, rule, arrays, scalars in (
        ("momentum", momentum, 2, (..., ..., True)),
        ("adam", adam_by_powers, 3, (..., ..., ..., ..., ..., ..., False)),
        ("ftrl", ftrl, 3, (..., ..., ..., ..., ..., True, False)),
    ):
        for by_rows, dtype in itertools.product((False, True), FLOATS):
            traced = trace(rule, arrays, scalars, np.dtype(dtype).char, by_rows)
            assert traced is not None
            letters = "pn" + "p" * (sum(s is ... for s in scalars) - 2)
            text = update_source(traced.spec, traced.changed, letters)
            found[f"{name}{by_rows}{dtype}"] = text
    found["region"] = fused_source(REGION, "fbfs", 2, "int", False, "pddp")
    for name, formula in FORMULAS.items():
        found[name] = fused_source(formula.region, "f" * formula.num_inputs, 1)
    for dtype in ("float32", "float64"):
        found[f"truncated_{dtype}"] = fused_source(_truncated(dtype), "f", 1)
    for dtype in ("uint64", *FLOATS):
        for captured in (False, True):
            found[f"philox_{dtype}{captured}"] = philox_source(dtype, captured)
    found |= {
        "normal_float32": normal_source("float32"),
        "normal_float64": normal_source("float64"),
    }
    return {**found, **windows(), **rows()}


def rows() -> dict[str, str]:
    found = {}
    for dtype in FLOATS:
        for kernel in ("softmax", "log_softmax", "cross_entropy", "sparse_cross_entropy"):
            for classes in (10, 8192, 20_000):
                found[f"{kernel}_{dtype}_{classes}"] = rows_source(kernel, dtype, classes, np.int32)
        for length in (10, 8192, 20_000) if dtype != "float16" else ():
            form = row_form(length, dtype, 2)
            norm = NORM._replace(dtype=dtype)
            found[f"rows_{dtype}_{length}"] = fused_rows_source(norm, "frcs", form)
        layout = Channels(40, 1 if dtype == "float32" else 21)
        for kernel in ("channel_sums", "moments", "gradient_sums"):
            found[kernel + dtype] = sums_source(kernel, dtype, layout, "int")
        for kernel in ("normalize", "normalize_gradient"):
            for vector in (1, 4 if dtype == "float32" else 1):
                text = each_source(kernel, dtype, layout, vector, "int")
                found[f"{kernel}{vector}{dtype}"] = text
        for op, vector in itertools.product(("Add", "Sub", "Update", "Sum"), (1, 2)):
            text = change_source(op, dtype, 128, vector, "int32", "int")
            found[f"{op}{vector}{dtype}"] = text
        for kernel in ("lrn", "lrn_norm", "lrn_gradient"):
            found[kernel + dtype] = lrn_source(kernel, dtype, 64, 5, 0.75, "int")
    for unit in (16, 8, 4, 2, 1):
        found[f"gather{unit}"] = gather_source(unit, 32, "int64", "long long")
    for unit, parts in ((16, 2), (4, 64)):
        found[f"concat{unit}"] = concat_source(unit, parts, "int")
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
        for kernel in ("max_pool", "first_tap", "max_pool_gradient", "first_maximum"):
            found[kernel + dtype] = pooling_source(kernel, dtype, axes, vector, "int")
        for kernel in ("avg_pool", "avg_pool_gradient"):
            found[kernel + dtype] = pooling_source(kernel, dtype, axes, vector, "int")
        for kernel in ("dilation", "dilation_taken", "dilation_image", "dilation_filter"):
            text = dilation_source(kernel, dtype, (rows, columns), 40, "long long")
            found[kernel + dtype] = text
    found["dilation_int8"] = dilation_source("dilation", "int8", (rows, columns), 3, "int")
    found["max_pool_int"] = pooling_source("max_pool", "int64", (rows, columns), 1, "long long")
    return found


def together(found: dict[str, str]) -> str:
    """One text: a namespace for each source, as the compiler takes a second to start."""
    include = "#include <cuda_fp16.h>"
    parts = [include]
    for name, text in found.items():
        text = re.sub(
            r"(__global__ void (?:__launch_bounds__\([\d, ]+\) )?\w+)\(",
            rf"\1_{name}(",
            text.replace(include, ""),
        )
        undefined = "".join(f"#undef {m}\n" for m in re.findall(r"#define (\w+)", text))
        parts.append(f"namespace of_{name} {{\n{text}\n}}\n{undefined}")
    return "\n".join(parts)


@pytest.mark.skipif(
    nvrtc.library() is None, reason="no NVRTC: pip install nvidia-cuda-nvrtc nvidia-cuda-runtime"
)
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_nvrtc_compiles_each(architecture: str) -> None:
    for name, text in sources().items():
        code = nvrtc.compiled(text, architecture)
        for kernel in re.findall(
            r"__global__ void (?:__launch_bounds__\([\d, ]+\) )?(\w+)\(", text
        ):
            assert kernel.encode() in code, name


def test_a_wrong_source_is_refused() -> None:
    if nvrtc.library() is None:
        pytest.skip("no NVRTC")
    with pytest.raises(nvrtc.NvrtcError, match="nothing"):
        nvrtc.compiled("__global__ void k() { nothing(); }", "sm_90")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA toolkit: nvcc is not here")
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
        for kernel in re.findall(
            r"__global__ void (?:__launch_bounds__\([\d, ]+\) )?(\w+)\(", text
        ):
            assert f"{kernel}_{name}".encode() in cubin
