"""Arithmetic of large arrays gives NumPy's bits, by machine code and by NumPy in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.jit import compiler, large_arithmetic
from dataflow.kernels.jit.large_arithmetic import ARITHMETIC, arithmetic
from dataflow.kernels.jit.op_table import TABLE

SHAPES = [
    ((70, 33), (33,)),
    ((70, 33), (70, 33)),
    ((70, 1), (70, 33)),
    ((), (5, 7)),
    ((3, 1), (1, 4)),
]


@pytest.fixture(params=["machine code", "NumPy", "NumPy in parts"])
def way(request: Any, at_once: None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(large_arithmetic, "_LEAST_ELEMENTS", 0)
    if request.param == "machine code":
        pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
    else:
        monkeypatch.setattr(compiler.JitEntry, "get", lambda entry: None)
    if request.param == "NumPy in parts":
        monkeypatch.setattr(large_arithmetic, "SHARED_ELEMENTS", 1)
        monkeypatch.setattr(large_arithmetic, "BLOCK_ELEMENTS", 99)
    return str(request.param)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op_type", sorted(ARITHMETIC))
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_values(way: str, op_type: str, dtype: str, left: Any, right: Any) -> None:
    rng = np.random.default_rng(0)
    x, y = (np.asarray(rng.standard_normal(s), dtype) for s in (left, right))
    want = getattr(np, TABLE[op_type].ufunc)(x, y)
    got = arithmetic(op_type)(x, y)
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


def test_written_over_an_operand_of_the_results_shape(way: str) -> None:
    x, y = np.arange(2310.0, dtype=np.float32).reshape(70, 33), np.ones(33, np.float32)
    want = x + y
    assert arithmetic("AddV2")(x, y, x) is x
    np.testing.assert_array_equal(x, want)
    column = np.ones((70, 1), np.float32)
    assert arithmetic("Mul")(column, x, column) is not column
    np.testing.assert_array_equal(column, 1)


def test_shapes_that_do_not_fit(way: str) -> None:
    with pytest.raises(ValueError, match="broadcast"):
        arithmetic("Sub")(np.ones((3, 4), np.float32), np.ones(5, np.float32))
