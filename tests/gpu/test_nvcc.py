"""NVIDIA's compiler accepts the CUDA C that is generated; needs the CUDA toolkit, not a GPU."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dataflow.kernels.cuda.fused import fused_source
from dataflow.kernels.cuda.philox import PHILOX_SOURCE
from dataflow.kernels.cuda.updates import update_source
from dataflow.kernels.fused.instructions import INSTRUCTIONS
from dataflow.kernels.fused.program import Program
from dataflow.kernels.fused.tracing import trace
from dataflow.kernels.training import _adam, _momentum

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
        ("adam", _adam, 3, (..., ..., ..., ..., False)),
    ):
        for by_rows in (False, True):
            traced = trace(rule, arrays, scalars, "float32", by_rows)
            assert traced is not None
            letters = "pn" + "p" * (sum(s is ... for s in scalars) - 2)
            text = update_source(traced.spec, traced.changed, letters)
            found[f"{name}{by_rows}"] = text
    found["philox"] = PHILOX_SOURCE
    return found


def test_nvcc_compiles_everything(tmp_path: Path) -> None:
    paths = []
    for name, text in sources().items():
        kernel = next(k for k in ("fused", "update", "philox") if f" {k}(" in text)
        path = tmp_path / f"{name}.cu"
        path.write_text(text.replace(f" {kernel}(", f" {kernel}_{name}("))
        paths.append(str(path))
    done = subprocess.run(
        ["nvcc", "-arch=sm_90", "-cubin", *paths],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.cubin"))) == len(paths)
