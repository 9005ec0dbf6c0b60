"""Convolutions of three axes made of tiles give what those made of BLAS's products give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import conv, direct_conv_3d, direct_conv_common
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.avx512


@pytest.fixture(autouse=True)
def direct(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the problem."""
    monkeypatch.setattr(direct_conv_common, "_SMALL_PRODUCT", 0)
    monkeypatch.setattr(direct_conv_common, "_LEAST_OUTPUTS", 1)


#: (batch, depth, height, width, channels), (taps in depth, height and width), outputs
SIZES = [
    ((2, 5, 6, 7, 4), (3, 3, 3), 5),
    ((1, 6, 5, 9, 3), (3, 2, 1), 17),
    ((9, 4, 3, 5, 8), (1, 3, 2), 50),
    ((1, 5, 3, 12, 33), (5, 2, 5), 16),
]
CASES: list[dict[str, Any]] = [
    {"padding": "SAME"},
    {"padding": "VALID"},
    {"padding": "SAME", "strides": [1, 2, 2, 2, 1]},
    {"padding": "SAME", "strides": [1, 1, 2, 3, 1]},
    {"padding": "SAME", "dilations": [1, 2, 1, 2, 1]},
]
_BY_BLAS = ("_direct_forward", "_direct_input_gradient", "_direct_filter_gradient")


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("size", SIZES, ids=lambda s: "x".join(map(str, s[0])))
def test_as_by_products(
    monkeypatch: pytest.MonkeyPatch, size: Any, case: dict[str, Any], is_shared: bool
) -> None:
    shape, taps, outputs = size
    if is_shared:
        monkeypatch.setattr(direct_conv_3d, "SHARED_PRODUCT", 0)
        monkeypatch.setattr(direct_conv_3d, "_FILTER_BYTES", 1)
        monkeypatch.setattr(direct_conv_3d, "_CHUNK_BYTES", 1)
    monkeypatch.setattr(direct_conv_common, "_lists", {})
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    filters = rng.standard_normal((*taps, shape[-1], outputs)).astype(np.float32)
    attrs = {"strides": [1] * 5, "dilations": [1] * 5, "data_format": "NDHWC"} | case

    def run_all() -> list[Any]:
        out = conv.conv3d_kernel(np, x, filters, **attrs)
        grad = np.random.default_rng(1).standard_normal(out.shape).astype(np.float32)
        sizes = np.array(x.shape), np.array(filters.shape)
        return [
            out,
            conv.conv3d_backprop_input_kernel(np, sizes[0], filters, grad, **attrs),
            conv.conv3d_backprop_filter_kernel(np, x, sizes[1], grad, **attrs),
        ]

    with monkeypatch.context() as patch:
        used = [results_of(patch, direct_conv_3d, name) for name in ("forward", "filter_gradient")]
        got = run_all()
    assert all(results and results[0] for results in used)
    for name in _BY_BLAS:
        monkeypatch.setattr(conv, name, lambda *arguments: False)
    for one, other in zip(got, run_all(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_values_that_are_no_numbers_stay_where_windows_meet_them() -> None:
    x = np.zeros((1, 4, 4, 4, 2), np.float32)
    x[0, 0, 0, 0, 0], x[0, 3, 3, 3, 1] = np.nan, np.inf
    attrs = {"strides": [1] * 5, "dilations": [1] * 5, "data_format": "NDHWC"}
    filters = np.ones((2, 2, 2, 2, 4), np.float32)
    out = conv.conv3d_kernel(np, x, filters, padding="VALID", **attrs)
    assert np.isnan(out[0, 0, 0, 0]).all() and np.isposinf(out[0, 2, 2, 2]).all()
    assert np.isnan(out).sum() == np.isinf(out).sum() == 4
