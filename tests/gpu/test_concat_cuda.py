"""The CUDA C that puts arrays together, run on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.cuda.concat import concatenate, stack
from dataflow.kernels.xp import pretend_module

#: shapes, axis, dtype, launches
CASES = {
    "rows": ([(2, 3), (1, 3), (4, 3)], 0, "float32", 1),
    "columns": ([(2, 4), (2, 8), (2, 4)], 1, "float32", 1),
    "the last axis": ([(2, 3, 1), (2, 3, 2)], -1, "float64", 1),
    "in between": ([(2, 3, 4), (2, 1, 4)], 1, "int8", 1),
    "truth values": ([(3,), (2,)], 0, "bool", 1),
    "halves": ([(2, 3), (2, 2)], 1, "float16", 1),
    "complex numbers": ([(2, 3), (2, 2)], 1, "complex128", 1),
    "some are empty": ([(2, 0), (2, 3), (2, 0)], 1, "float32", 0),
    "all are empty": ([(0, 3), (0, 3)], 0, "float32", 0),
    "many": ([(2, 1 + k % 3) for k in range(130)], 1, "float32", 3),
}


def check_case(xp: Any, name: str) -> None:
    shapes, axis, dtype, _ = CASES[name]
    rng = np.random.RandomState(0)
    values = [(rng.randn(*shape) * 9).astype(dtype) for shape in shapes]
    got = concatenate(xp, [xp.asarray(v) for v in values], axis)
    assert got.dtype == values[0].dtype
    np.testing.assert_array_equal(got.get(), np.concatenate(values, axis))


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(cuda_on_host: Any, name: str) -> None:
    check_case(pretend_module(0), name)
    assert cuda_on_host.launches == ["concat"] * CASES[name][3]


def check_stack(xp: Any) -> None:
    values = [np.arange(6, dtype=np.float32).reshape(2, 3) + k for k in range(3)]
    for axis in (0, 1, 2, -1):
        got = stack(xp, [xp.asarray(v) for v in values], axis)
        np.testing.assert_array_equal(got.get(), np.stack(values, axis))
    scalars = stack(xp, [xp.asarray(np.float32(k)) for k in range(3)])
    assert scalars.get().tolist() == [0, 1, 2]


def test_stacked(cuda_on_host: Any) -> None:
    check_stack(pretend_module(0))


def test_views_and_parts_of_rows(cuda_on_host: Any) -> None:
    xp = pretend_module(0)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    on_device = xp.asarray(x)
    got = concatenate(xp, [on_device[:, 1:3], on_device[:, 5:], on_device[:, :0]], 1)
    np.testing.assert_array_equal(got.get(), x[:, [1, 2, 5]])


@pytest.mark.parametrize("shapes", [[(2, 3), (2, 4)], [(2, 3), (2,)]])
def test_shapes_that_do_not_fit(cuda_on_host: Any, shapes: Any) -> None:
    xp = pretend_module(0)
    with pytest.raises(ValueError):
        concatenate(xp, [xp.zeros(s, np.float32) for s in shapes], 0)
