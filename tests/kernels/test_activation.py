"""Activations and large element-wise ops in machine code give what NumPy's functions give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels import elementary
from dataflow.kernels.jit import native_ufunc
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.registry import bind
from tests.kernels.bits import assert_same_bits
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

ONE: dict[str, dict[str, Any]] = {
    **{key: {} for key in ("Elu", "Selu", "Softplus", "Softsign")},
    "LeakyRelu": {"alpha": 0.2},
    **{key: {} for key in ("Exp", "Expm1", "Log", "Log1p", "Sign", "Sqrt", "Reciprocal")},
}
TWO: dict[str, dict[str, Any]] = {
    **{key: {} for key in ("EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad")},
    "LeakyReluGrad": {"alpha": 0.2},
}


@pytest.fixture(autouse=True)
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_ufunc, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(elementary, "_LARGE_ELEMENTS", 0)


def _numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    x = np.random.default_rng(seed).standard_normal(shape) * 3
    x.reshape(-1)[:7] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-30, -60.0]
    return x.astype(dtype)


def _compare(monkeypatch: pytest.MonkeyPatch, op: str, attrs: dict[str, Any], *inputs: Any) -> None:
    found = get_kernel(op)
    assert found is not None
    function = bind(found, np, attrs)
    with np.errstate(all="ignore"):
        used = results_of(monkeypatch, native_ufunc.Mapping, "run")
        got = function(*inputs)
        assert used == [True]
        monkeypatch.setattr(native_ufunc.Mapping, "run", lambda *arguments: False)
        wanted = function(*inputs)
    assert got.dtype == inputs[0].dtype
    assert_same_bits(got, wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_log1p_is_exact_for_tiny_numbers_and_at_the_ends(dtype: str) -> None:
    found = get_kernel("Log1p")
    assert found is not None
    function = bind(found, np, {})
    ends = np.array([np.inf, -1, -2, np.nan, 0, 1e-7, -1e-7], dtype)
    spread = np.concatenate([np.logspace(-6, 4, 300), -np.logspace(-6, -0.01, 300)]).astype(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(ends)[:5], np.log1p(ends)[:5])
        for x in (ends[5:], spread):
            wanted = np.log1p(x.astype(np.float64))
            np.testing.assert_allclose(function(x), wanted, rtol=float(4 * np.finfo(dtype).eps))
        assert [function(x) for x in spread[:5]] == function(spread)[:5].tolist()


@pytest.mark.parametrize("op", ["Tanh", "Exp", "Sigmoid", "Log1p", "TanhGrad", "SigmoidGrad"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scalars_give_the_bits_of_arrays(op: str, dtype: str) -> None:
    found = get_kernel(op)
    assert found is not None
    function = bind(found, np, {})
    inputs = [_numbers((40,), dtype, seed) for seed in range(2 if op.endswith("Grad") else 1)]
    with np.errstate(all="ignore"):
        got = [function(*scalars) for scalars in zip(*inputs, strict=True)]
        assert {type(x) for x in got} == {np.dtype(dtype).type}
        assert_same_bits(np.array(got), function(*inputs))


def test_one_instruction_an_element_is_left_to_numpy() -> None:
    found = get_kernel("Square")
    assert found is not None
    assert bind(found, np, {}) is np.square


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ONE)
def test_one_operand(monkeypatch: pytest.MonkeyPatch, op: str, dtype: str) -> None:
    _compare(monkeypatch, op, ONE[op], _numbers((7, 33), dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", TWO)
def test_a_gradient_and_a_number(monkeypatch: pytest.MonkeyPatch, op: str, dtype: str) -> None:
    grad, x = _numbers((6, 35), dtype, 1), _numbers((6, 35), dtype)[:, ::-1]
    _compare(monkeypatch, op, TWO[op], grad, np.ascontiguousarray(x))


@pytest.mark.parametrize("op", ONE)
def test_no_elements(op: str) -> None:
    found = get_kernel(op)
    assert found is not None
    assert bind(found, np, ONE[op])(np.zeros((0, 3), np.float32)).shape == (0, 3)
