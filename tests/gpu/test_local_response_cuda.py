"""The CUDA C of local response normalization, run on the CPU, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import normalization
from dataflow.kernels.xp import pretend_module

#: Shape, radius, bias, alpha, beta.
CASES = [
    ((2, 3, 4, 11), 5, 1.0, 1.0, 0.5),
    ((2, 3, 4, 20), 2, 2.0, 1e-3, 0.75),
    ((1, 5, 1, 7), 0, 1.5, 0.5, 0.6),
    ((3, 1, 2, 3), 9, 1.0, 0.2, 1.0),
    ((0, 2, 2, 4), 1, 1.0, 1.0, 0.5),
]
TOLERANCE = {"float16": 3e-3, "float32": 3e-6, "float64": 1e-12}


def check_case(xp: Any, case: Any, dtype: str) -> None:
    """Result and gradient on ``xp`` against NumPy in double precision."""
    shape, radius, bias, alpha, beta = case
    rng = np.random.RandomState(0)
    x, grad = (rng.randn(*shape).astype(dtype) for _ in range(2))
    attrs = {"depth_radius": radius, "bias": bias, "alpha": alpha, "beta": beta}
    exact = normalization.lrn_kernel(np, x.astype(np.float64), **attrs)
    y = normalization.lrn_kernel(xp, xp.asarray(x), **attrs)
    assert y.dtype == dtype
    rtol = TOLERANCE[dtype]
    np.testing.assert_allclose(y.get(), exact, rtol=rtol, atol=rtol)
    operands = [grad, x, y.get()]
    want = normalization.lrn_grad_kernel(np, *[a.astype(np.float64) for a in operands], **attrs)
    got = normalization.lrn_grad_kernel(xp, *[xp.asarray(a) for a in operands], **attrs)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.get(), want, rtol=2 * rtol, atol=2 * rtol)


@pytest.mark.parametrize(
    ("case", "dtype"),
    [*[(case, "float32") for case in CASES], (CASES[1], "float16"), (CASES[2], "float64")],
    ids=str,
)
def test_as_on_the_cpu(cuda_on_host: Any, case: Any, dtype: str) -> None:
    check_case(pretend_module(0), case, dtype)
    if case[0][0]:
        assert cuda_on_host.launches == ["lrn", "lrn_norm", "lrn_gradient"]
