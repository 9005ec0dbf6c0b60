"""Checks of lesson 25: fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.course.exercise import exercise, expect, expect_type
from dataflow.course.variants import drawn


def _arrays() -> list[tuple[str, Any]]:
    rng = np.random.default_rng(7)
    return [
        ("numbers from 0 to 5", rng.uniform(0, 5, size=(20, 3))),
        ("numbers from -1 to 3", np.linspace(-1, 3, 50)),
        ("numbers from 100 to 101", rng.uniform(100, 101, size=40)),
        ("numbers from -8 to -2", rng.uniform(-8, -2, size=40)),
    ]


@exercise(
    "Which whole number should the smallest of x become, and which the largest?",
    "The smallest becomes 0 and the largest 2 ** num_bits - 1: subtract the smallest first. zero "
    "is the whole number that stands for 0.",
    "scale = (x.max() - x.min()) / (2 ** num_bits - 1); whole = np.round((x - x.min()) / "
    "scale).astype(int); zero = -x.min() / scale.",
)
def ex1(quantize_range: Callable[[Any, int], Any]) -> str:
    """Quantization of a range that need not be symmetric."""
    for what, x in _arrays():
        for num_bits in (8, 4, 2):
            made = quantize_range(x.copy(), num_bits)
            expect_type(
                isinstance(made, (tuple, list)) and len(made) == 3,
                "it returns three: whole, scale, zero",
            )
            whole, scale, zero = np.asarray(made[0]), float(made[1]), float(made[2])
            top = 2**num_bits - 1
            told = f"{what} in {num_bits} bits"
            expect(
                whole.shape == x.shape, f"{told}: whole has shape {whole.shape}, x has {x.shape}"
            )
            expect(np.array_equal(whole, np.round(whole)), f"{told}: not all of whole are whole")
            expect(
                whole.min() >= 0 and whole.max() <= top,
                f"{told}: the whole numbers go from {whole.min():g} to {whole.max():g}, allowed are "
                f"0 to {top}",
            )
            needed = float(np.ptp(x)) / top
            expect(
                abs(scale - needed) <= 1e-6 * needed,
                f"{told}: the scale is {scale:.4g}, needed {needed:.4g}",
            )
            off = float(np.abs(scale * (whole - zero) - x).max())
            expect(
                off <= 0.51 * scale,
                f"{told}: a number is off by {off / scale:.2f} of the scale, at most half is needed",
            )
    return "Right: every whole number is used, wherever the numbers lie."


@exercise(
    lambda v: f"There are three cases: a bad step, good one number {v.shown}, any other good one.",
    "good counts the steps before this one. With this one, how many are there?",
    lambda v: (
        f"if not finite: return scale / 2, 0, False; if good + 1 == {v.num}: return scale * 2, 0, True; "
        "return scale, good + 1, True."
    ),
)
def ex2(next_scale: Callable[[float, int, bool], Any]) -> str:
    """Dynamic loss scaling."""
    num = drawn("lesson25.ex2").num
    scale, good = 1024.0, 0
    wanted_scale, wanted_good = 1024.0, 0
    bad = {1, 700, 701, 2703}
    for step in range(1, 4800):
        finite = step not in bad
        if not finite:
            wanted_scale, wanted_good = wanted_scale / 2, 0
        elif wanted_good == num - 1:
            wanted_scale, wanted_good = wanted_scale * 2, 0
        else:
            wanted_good += 1
        before = f"next_scale({scale:g}, {good}, {finite})"
        made = next_scale(scale, good, finite)
        expect_type(
            isinstance(made, (tuple, list)) and len(made) == 3, "it returns three: scale, good, use"
        )
        scale, good, use = made
        expect(
            bool(use) == finite,
            f"{before} says {'use' if use else 'do not use'} the step; a step with an infinite "
            "gradient would spoil the weights, all others are good",
        )
        expect(
            scale == wanted_scale and good == wanted_good,
            f"{before} returns the scale {scale:g} and {good} good steps, needed {wanted_scale:g} and "
            f"{wanted_good}",
        )
    return f"Right: after 4,799 steps, four of them bad, the scale is {scale:g}."


@exercise(
    "np.abs(W).max() is one number. With axis=0 it is one for each column.",
    "The scales have the shape of a row of W, and broadcasting does the rest. What is 0 / 0 where a "
    "column is empty?",
    "scale = np.abs(W).max(axis=0) / (2 ** (num_bits - 1) - 1), 1 where it is 0; np.round(W / scale) "
    "* scale.",
)
def ex3(by_column: Callable[[Any, int], Any]) -> str:
    """Quantization with one scale for each column."""
    rng = np.random.default_rng(8)
    for shape in ((30, 4), (4, 30), (5, 5)):
        W = rng.normal(size=shape) * 10.0 ** rng.uniform(-2, 2, size=shape[1])
        W[:, 1] = 0.0
        for num_bits in (8, 3):
            with np.errstate(all="ignore"):
                got = by_column(W.copy(), num_bits)
            expect_type(
                isinstance(got, np.ndarray), f"it returned {type(got).__name__}, needed an array"
            )
            told = f"a matrix of shape {shape} in {num_bits} bits"
            expect(got.shape == shape, f"{told}: the result has the shape {got.shape}")
            expect(np.all(np.isfinite(got)), f"{told}: some results are not finite")
            largest = 2 ** (num_bits - 1) - 1
            scales = np.abs(W).max(axis=0) / largest
            off = np.abs(got - W).max(axis=0)
            worst = int(np.argmax(off / np.where(scales == 0, 1, scales)))
            expect(
                np.all(off <= 0.501 * scales + 1e-12),
                f"{told}: column {worst} is off by {off[worst]:.3g}, and half of its own scale is "
                f"{scales[worst] / 2:.3g}",
            )
            num = max(len(np.unique(got[:, c].round(12))) for c in range(shape[1]))
            expect(
                num <= 2 * largest + 1, f"{told}: a column has {num} different numbers, too many"
            )
    return (
        "Right: a large column no longer spoils the small ones; the price is one number a column."
    )


@exercise(
    "The sum grows, and what is added stays small. When is nothing lost: if both are of like size.",
    "Add neighbors, then the sums of neighbors, and so on: no number is ever added to one much larger. "
    "Or add up short blocks first.",
    "while len(numbers) > 1: numbers = [add(a, b) for a, b in zip(numbers[::2], numbers[1::2])].",
)
def ex4(total: Callable[[Any, Any], Any]) -> str:
    """A sum in float16 that is right."""
    rng = np.random.default_rng(9)
    worst = 0.0
    for what, numbers in (
        ("random numbers", rng.uniform(0, 1, size=4096)),
        ("numbers that grow", np.linspace(0, 1, 4096)),
        ("numbers that fall", np.linspace(1, 0, 4096)),
        ("4,096 times 0.3", np.full(4096, 0.3)),
    ):
        given = [np.float16(n) for n in numbers]
        calls = [0]

        def add(a: Any, b: Any, calls: list[int] = calls) -> Any:
            calls[0] += 1
            return np.float16(np.float32(np.float16(a)) + np.float32(np.float16(b)))

        got = total(list(given), add)
        expect_type(
            np.ndim(got) == 0 and isinstance(got, (float, np.floating)),
            f"it returned {type(got).__name__}, needed a number",
        )
        expect(
            calls[0] >= len(given) - 1,
            f"add was called {calls[0]} times for 4,096 numbers: something else did the adding",
        )
        expect(float(np.float16(got)) == float(got), "the result is no number of float16")
        right = float(np.sum([float(n) for n in given]))
        off = abs(float(got) - right) / right
        expect(off < 0.005, f"{what}: {float(got):g}, and it is {right:.1f}: off by {off:.1%}")
        worst = max(worst, off)
    return f"Right: off by {worst:.2%} at most, with numbers of three digits."
