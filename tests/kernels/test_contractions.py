"""Contractions made as matrix products are those that NumPy's `einsum` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import tensor_products
from tests.results_of import results_of

SIZES = dict(zip("bhtsndkij", (2, 3, 5, 4, 2, 6, 7, 3, 4), strict=True))
PRODUCTS = [
    *("ij,jk->ik", "ij,jk->ki", "ntd,dk->ntk", "bthd,bshd->bhts", "bhts,bshd->bthd"),
    *("i,j->ij", "i,i->", "bij,bkj->ibk", "ijk,kj->i", "b h t, t k -> k b h", "bi,bi->bi"),
    *("ntd,nd->nt", "tdn,nkd->ktn"),
]
OTHERS = ["ii,ij->j", "ij,jk->i", "...j,jk->...k", "ij,kl->kl"]


def _operands(equation: str, dtype: str) -> list[Any]:
    rng = np.random.default_rng(0)
    labels = equation.replace(" ", "").replace("...", "b").partition("->")[0].split(",")
    return [
        rng.standard_normal([SIZES.get(x, 5) for x in operand]).astype(dtype) for operand in labels
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("equation", [*PRODUCTS, *OTHERS])
def test_as_by_numpy(monkeypatch: pytest.MonkeyPatch, equation: str, dtype: str) -> None:
    operands = _operands(equation, dtype)
    used = results_of(monkeypatch, tensor_products, "_as_product")
    got = tensor_products.einsum_kernel(np, operands, equation=equation)
    assert (used[0] is not None) == (equation in PRODUCTS and dtype != "int32")
    wanted = np.einsum(equation, *operands)
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_sizes_that_do_not_agree_and_empty_arrays() -> None:
    with pytest.raises(ValueError, match="Size of label 'j'"):
        tensor_products.einsum_kernel(np, [np.ones((2, 3)), np.ones((4, 5))], equation="ij,jk->ik")
    with pytest.raises(ValueError, match="operand"):
        tensor_products.einsum_kernel(np, [np.ones((2, 3)), np.ones(3)], equation="ij,jk->ik")
    got = tensor_products.einsum_kernel(
        np, [np.ones((2, 0)), np.ones((0, 5))], equation="ij,jk->ik"
    )
    np.testing.assert_array_equal(got, np.zeros((2, 5)))
