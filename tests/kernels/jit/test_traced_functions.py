"""Formulas in machine code give what NumPy makes of them, whatever numbers they get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dataflow.kernels import special
from dataflow.kernels.jit import compiler, traced_functions
from dataflow.kernels.jit.native_ufunc import Mapping
from dataflow.kernels.jit.traced_functions import Formula
from dataflow.kernels.jit.tracer import Untraceable, region_of, repeated
from tests.results_of import results_of

pytest.importorskip("llvmlite", reason="pip install 'dataflow-learn[fast]'")

#: Between which numbers the inputs lie, and how many digits the formula's own steps leave.
FORMULAS: dict[str, tuple[tuple[tuple[float, float], ...], float]] = {
    "_ERF": (((-6, 6),), 2e-15),
    "_ERFC": (((-6, 28),), 2e-15),
    "_LGAMMA": (((-20, 50),), 1e-13),
    "_DIGAMMA": (((-20, 50),), 1e-13),
    "_ZETA": (((1.01, 30), (0.01, 50)), 1e-13),
    "_IGAMMA": (((0, 50), (0, 50)), 1e-12),
    "_IGAMMAC": (((0, 50), (0, 50)), 1e-12),
    "_IGAMMA_BY_A": (((0, 20), (0, 20)), 1e-12),
    "_BETAINC": (((0, 20), (0, 20), (0, 1)), 1e-10),
}
SPECIAL = np.array(
    [
        *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 2.0, -1.0, -2.0, -0.5, 0.5, -3.5, 170.0, -27.0),
        *(1e-300, 1e300, 5e-324, -1e-300, 1e-5, 100.0, 1e5, -1e5 - 0.25),
    ]
)


def _numbers(between: tuple[float, float], seed: int, size: int = 1003) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.uniform(*between, size)
    x[: len(SPECIAL)] = rng.permutation(SPECIAL)
    return x


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """As a session runs kernels."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture
def every_size(at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_functions, "SMALL_ELEMENTS", 0)


@pytest.mark.parametrize("name", FORMULAS)
def test_machine_code_gives_what_numpy_gives(
    every_size: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    ranges, tolerance = FORMULAS[name]
    formula: Formula = getattr(special, name)
    inputs = [_numbers(between, i) for i, between in enumerate(ranges)]
    if name == "_ZETA":  # negative numbers need more steps than it has
        inputs[1] = np.abs(inputs[1])
    used = results_of(monkeypatch, Mapping, "run")
    with np.errstate(all="ignore"):
        got = formula(np, *inputs)
        wanted = formula.function(np, *inputs)
    assert used == [True]
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
    assert got.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_any_shape_and_type(every_size: None, dtype: str) -> None:
    a = np.random.default_rng(0).uniform(0.1, 5, (3, 1, 7)).astype(dtype)
    x = np.random.default_rng(1).uniform(0.1, 5, (5, 1)).astype(dtype)
    got = special.igamma_kernel(np, a, x)
    assert got.dtype == dtype and got.shape == (3, 5, 7)
    wide = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    wanted = special._IGAMMA.function(np, *wide).astype(dtype)
    np.testing.assert_allclose(got, wanted, rtol=2e-3 if dtype == "float16" else 1e-6)
    one = special._LGAMMA(np, x.T[:, ::2])
    alone = special.log_gamma(np, x.T[:, ::2].astype(np.float64))
    np.testing.assert_allclose(one, alone, rtol=1e-2, atol=1e-3)
    assert special._LGAMMA(np, x[:0]).shape == (0, 1)


def test_numpy_works_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_functions, "SMALL_ELEMENTS", 0)
    monkeypatch.setattr(traced_functions, "_BLOCK", 5)
    monkeypatch.setattr(compiler.JitEntry, "get", lambda lazy: None)
    a, x = np.linspace(0.5, 9, 6).reshape(6, 1), np.linspace(0.1, 12, 4)
    np.testing.assert_allclose(
        special._IGAMMA(np, a, x), special._IGAMMA.function(np, *np.broadcast_arrays(a, x))
    )


def test_a_repetition_ends_when_all_are_done_or_after_the_most(every_size: None) -> None:
    def halvings(xp: Any, x: Any) -> Any:
        """How often x is halved until it is below one, 20 times at most."""

        def step(i: Any, rest: Any, count: Any) -> Any:
            large = rest >= 1.0
            return (xp.where(large, rest * 0.5, rest), xp.where(large, i, count)), ~large

        return repeated(xp, step, (x, xp.zeros_like(x)), 20)[1]

    x = np.array([0.5, 1.0, 3.0, 1000.0, 1e9, 4.0, 0.1, 0.2, 7.0, 2.0**19])
    got = Formula(halvings, 1)(np, x)
    np.testing.assert_array_equal(got, [0, 1, 2, 10, 20, 3, 0, 0, 3, 20])


def test_a_formula_says_what_it_cannot_write() -> None:
    with pytest.raises(Untraceable, match="no machine code for 'sinc'"):
        _ = Formula(lambda xp, x: xp.sinc(x), 1).mapping


def test_truth_values_that_are_computed_with_are_one_and_zero() -> None:
    region = region_of(lambda xp, dy, x: (dy * ((x > 0) & (x < 6)), ~(x > 0)), 2, "float32")
    constants = [operands[0] for op, operands in region.steps if op == "Const"]
    assert [op for op, _ in region.steps if op != "Const"] == [
        *("Greater", "Less", "LogicalAnd", "Select", "Mul", "Greater", "LogicalNot")
    ]
    assert constants == [0.0, 6.0, 1.0, 0.0, 0.0]
