"""Decompositions and transforms of a batch by several threads are those of each part, bit for bit."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

from dataflow.dtypes import complex64, float32
from dataflow.kernels import batched_linalg, decompositions, solvers, spectral  # noqa: F401 (its kernels)
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import bind

LENGTH = np.array([16])
KERNELS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "Cholesky": ({}, []),
    "MatrixInverse": ({"adjoint": True}, []),
    "Qr": ({"full_matrices": False}, []),
    "Svd": ({"compute_uv": True, "full_matrices": False}, []),
    "SelfAdjointEigV2": ({"compute_v": True}, []),
    "FFT": ({}, []),
    "IFFT2D": ({}, []),
    "RFFT": ({"Tcomplex": complex64}, [LENGTH]),
    "IRFFT": ({"Treal": float32}, [LENGTH]),
}


def _operand(name: str, batch: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((*batch, 6, 16)).astype(np.float32)
    if name in ("FFT", "IFFT2D", "IRFFT"):
        return x + 1j * x[..., ::-1].astype(np.complex64)
    if name in ("Cholesky", "MatrixInverse", "SelfAdjointEigV2"):
        return x @ x.swapaxes(-1, -2) + np.eye(6, dtype=np.float32)
    return x


@pytest.mark.parametrize("batch", [(7,), (2, 3), (0,), ()], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_parts(monkeypatch: pytest.MonkeyPatch, name: str, batch: tuple[int, ...]) -> None:
    monkeypatch.setattr(batched_linalg, "num_threads", lambda: 2)
    attrs, others = KERNELS[name]
    found = get_kernel(name)
    assert found is not None
    function, x = bind(found, np, attrs), _operand(name, batch)
    wanted = function(x, *others)
    calls: list[int] = []
    original = batched_linalg.run_pieces
    monkeypatch.setattr(
        batched_linalg,
        "run_pieces",
        lambda pieces, make: (calls.append(len(pieces)), original(pieces, make)),
    )
    monkeypatch.setattr(batched_linalg, "SHARED_ELEMENTS", 0)
    got = function(x, *others)
    assert bool(calls) == (
        (name.endswith("FFT") and batch == ()) or (len(batch) > 0 and batch[0] > 1)
    )
    pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        if "FFT" in name and platform.machine() not in ("x86_64", "AMD64"):
            # NumPy's transforms of a batch round otherwise than that of one there.
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)
        else:
            np.testing.assert_array_equal(one, other)


def test_the_error_of_a_part_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched_linalg, "SHARED_ELEMENTS", 0)
    monkeypatch.setattr(batched_linalg, "num_threads", lambda: 2)
    x = np.stack([np.eye(4)] * 6)
    x[4, 2, 2] = 0
    with pytest.raises(ValueError, match="not invertible"):
        solvers.matrix_inverse_kernel(np, x, adjoint=False)
