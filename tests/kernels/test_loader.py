"""Kernels are found, whichever file was loaded first."""

from __future__ import annotations

import pytest

from dataflow.kernels.jit.regions import _OTHERS
from dataflow.kernels.loader import get_kernel


@pytest.mark.parametrize("op", _OTHERS)
def test_regions_know_the_files_of_their_kernels(op: str) -> None:
    found = get_kernel(op)
    assert found is not None
    assert found.function.__module__ == f"dataflow.kernels.{_OTHERS[op]}"
