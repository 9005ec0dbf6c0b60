"""`make bench-gpu` runs through on a pretend GPU: each figure is printed beside its floor."""

from __future__ import annotations

import pytest

from tests.benchmarks import gpu

FIGURES = [
    *("8 ops on", "product, in full", "product, TF32", "MLP step", "LeNet step"),
    *("transformer block step", "gather, ", "scatter, ", "gather + scatter", "embedding step"),
    *("softmax  ", "layer norm  ", "layer norm's gradient", "sum of all", "sums of rows"),
    *("feed of a NumPy array", "feed of a CuPy array", "feed and step"),
]


def test_every_figure_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main(["--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name in FIGURES:
        assert any(name in line for line in lines), name
    assert not [line for line in lines if "is no CUDA graph" in line]
