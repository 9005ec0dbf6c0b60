"""Convolutions of volumes made of planar tiles give what those made of BLAS's products give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import conv, direct_conv_common, volumes
from dataflow.kernels.loader import get_kernel

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")
pytestmark = pytest.mark.simd


@pytest.fixture(autouse=True)
def direct(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the problem."""
    monkeypatch.setattr(direct_conv_common, "_SMALL_PRODUCT", 0)


def _function(op_type: str) -> Any:
    found = get_kernel(op_type)
    assert found is not None
    return found.function


#: (batch, depth, height, width, channels), (filter depth, height, width, outputs)
SIZES = [
    ((2, 5, 6, 7, 4), (3, 3, 3, 16)),
    ((1, 4, 9, 8, 1), (2, 3, 5, 16)),
    ((3, 7, 5, 5, 8), (3, 1, 1, 8)),
    ((2, 6, 5, 9, 3), (1, 3, 3, 20)),
    ((2, 5, 4, 5, 16), (5, 2, 2, 5)),
]
CASES = [
    {"padding": "SAME"},
    {"padding": "VALID"},
    {"padding": "SAME", "strides": [1, 2, 2, 2, 1]},
    {"padding": "SAME", "strides": [1, 3, 1, 2, 1]},
    {"padding": "SAME", "strides": [1, 4, 1, 1, 1]},
    {"padding": "SAME", "dilations": [1, 2, 1, 1, 1]},
    {"padding": "SAME", "dilations": [1, 3, 2, 1, 1]},
]


def _calls(size: Any, case: dict[str, Any]) -> list[tuple[str, Any]]:
    """The name of each of the three convolutions with a function that computes it."""
    shape, (*taps, outputs) = size
    attrs = {"strides": [1] * 5, "dilations": [1] * 5, "data_format": "NDHWC"} | case
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape, np.float32)
    filters = rng.standard_normal((*taps, shape[-1], outputs), np.float32)

    def forward() -> Any:
        return _function("Conv3D")(np, x, filters, **attrs)

    grad = rng.standard_normal(forward().shape, np.float32)
    by_filter, by_input = (_function(f"Conv3DBackprop{by}V2") for by in ("Filter", "Input"))
    return [
        ("forward", forward),
        (
            "filter_gradient",
            lambda: by_filter(np, x, np.array(filters.shape), grad, **attrs),
        ),
        ("input_gradient", lambda: by_input(np, np.array(shape), filters, grad, **attrs)),
    ]


@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c.values())))
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_all_three_convolutions(
    monkeypatch: pytest.MonkeyPatch, size: Any, case: dict[str, Any], piece_bytes: int
) -> None:
    monkeypatch.setattr(volumes, "_PIECE_BYTES", piece_bytes)
    irregular = max(case.get("strides", [1])) > 2  # more padding than a phase has taps
    for name, function in _calls(size, case):
        used: list[bool] = []
        tiles = getattr(volumes, name)

        def watched(*arguments: Any, tiles: Any = tiles, used: list[bool] = used) -> bool:
            used.append(tiles(*arguments))
            return used[-1]

        with monkeypatch.context() as patch:
            patch.setattr(volumes, name, watched)
            got = function()
            assert used == [True] or (irregular and name == "input_gradient"), name
            patch.setattr(conv, f"_direct_{name}", lambda *arguments: False)
            wanted = function()
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4, err_msg=name)
