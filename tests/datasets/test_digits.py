"""The digits come from scikit-learn, or from a file of the site's package: the same ones."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dataflow_datasets import digits
from tools import wheels


def test_the_sites_package_holds_the_same_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = digits.load_data()
    assert known[0][0].shape[1:] == (8, 8) and known[0][0].max() == 1
    wheel = wheels.own(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        packed = Path(archive.extract("dataflow_datasets/digits.csv.gz", tmp_path))
    monkeypatch.setattr(digits, "PACKED", packed)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    for one, other in zip(known, digits.load_data(), strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
