"""Composed ops: what is derived from a formula that is written once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dataflow.kernels.jit import op_table


@pytest.fixture
def _own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TABLE", "_NUMBERS"):
        monkeypatch.setattr(op_table, name, dict(getattr(op_table, name)))


def hard_swish(xp: Any, x: Any) -> Any:
    return xp.multiply(x, xp.minimum(xp.maximum(xp.add(x, 3), -2), 6))


@pytest.mark.usefixtures("_own_table")
def test_a_formula_may_have_any_whole_number() -> None:
    op_table.composed("HardSwishForTests")(hard_swish)
    lines = op_table.TABLE["HardSwishForTests"].statements
    assert lines[:2] == (
        "xp.add({0}, number_3, out={o})",
        "xp.maximum({o}, number_minus_2, out={o})",
    )
    x = np.array([-9, -1, 2, 9], np.float32)
    found = np.empty(4, np.float32)
    scope = {"xp": np, "x": x, "found": found, **op_table.names_of(np.float32)}
    for line in lines:
        exec(line.format("x", o="found"), scope)
    assert found.tolist() == hard_swish(np, x).tolist()
    assert scope["number_3"].dtype == np.float32


@pytest.mark.usefixtures("_own_table")
def test_a_part_of_a_number_is_refused() -> None:
    """It would make floating point of an array of integers."""
    with pytest.raises(ValueError, match=r"0\.5 in a composed op"):
        op_table.composed("HalfForTests")(lambda xp, x: xp.multiply(x, 0.5))


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda xp, x: xp.tanh(x + 1), TypeError, "uses no operators"),
        (lambda xp, x: x * xp.tanh(x), TypeError, "uses no operators"),
        (lambda xp, x: xp.abs(x), AttributeError, "no step xp.abs, but absolute, add"),
        (lambda xp, x: xp.multiply(xp.add(x, 1), xp.exp(x)), ValueError, "by_function=True"),
    ],
)
def test_a_formula_that_cannot_be_recorded_is_refused(function, error, says):
    with pytest.raises(error, match=says):
        op_table.composed("NoneForTests")(function)
    assert "NoneForTests" not in op_table.TABLE
